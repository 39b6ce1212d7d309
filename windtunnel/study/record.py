"""The study record of a plan, which the results folder stores before the first trial."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from windtunnel.results.record import ScaleRecord, StudyRecord, Treatment
from windtunnel.study.plan import Plan, make_workload
from windtunnel.testbeds import find_testbed
from windtunnel.testbeds.base import Load, PhaseLoad, PlannedTreatment


def study_record(plan: Plan, notes: Sequence[str] = ()) -> StudyRecord:
    """The record of a study that starts now; ``notes`` are the caveats of its check.

    Raises
    ------
    NotRealisableError
        If a description lacks what the testbed needs.
    """
    now = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return StudyRecord(
        id=f"{plan.name}-{stamp}-{plan.fingerprint[:6]}",
        name=plan.name,
        question=plan.question,
        kind="predicted" if plan.predicts else "measured",
        testbed=plan.testbed,
        testbed_options=plan.testbed_options.to_record(),
        created_at=now,
        fingerprint=plan.fingerprint,
        source_text=plan.source_text,
        cluster=plan.base.model_dump(mode="json"),
        workloads={name: dict(given) for name, given in plan.workloads.items()},
        factors={name: list(labels) for name, labels in plan.factors.items()},
        baseline=dict(plan.baseline),
        treatments=plan.treatments,
        design=plan.design,
        protocol=plan.protocol.to_record(),
        notes=list(notes),
        scale=scale_record(plan),
    )


def scale_record(plan: Plan) -> ScaleRecord | None:
    """The record of the testbed on a scale model of the plan; None at full size.

    Raises
    ------
    NotRealisableError
        If a description lacks what the testbed needs.
    """
    return find_testbed(plan.testbed).study_record(plan.testbed_options, planned(plan))


def planned(plan: Plan) -> Iterator[PlannedTreatment]:
    """The checked treatments of a plan in the form that testbeds take, the baseline first.

    Each is built when it is taken: a testbed of full size takes none.
    """
    base = baseline_of(plan)
    others = (treatment for treatment in plan.looked_at if treatment.id != base.id)
    for one in (base, *others):
        yield PlannedTreatment(one.id, plan.cluster_of(one), loads_of(plan, one))


def baseline_of(plan: Plan) -> Treatment:
    """The treatment at the baseline of all factors; the first treatment if there is none."""
    found = (t for t in plan.treatments if t.levels == dict(plan.baseline))
    return next(found, plan.treatments[0])


def loads_of(plan: Plan, treatment: Treatment) -> list[Load]:
    """The data that the workloads move at a treatment, as described and as it runs."""
    workers = max(1, plan.cluster_of(treatment).role_counts()["nodemanager"])
    found = []
    for name in plan.workloads:
        written = plan.parameters_of(name, treatment)
        full, model = make_workload(name, written), plan.make_workload(name, written)
        demands = [(phase, full.demands(phase, workers)) for phase in full.phases()]
        phases = tuple(
            PhaseLoad(phase, need.disk_read_bytes, need.disk_write_bytes, need.network_bytes)
            for phase, need in demands
        )
        parameters = full.parameters
        fields = {*type(parameters).model_fields}
        found.append(
            Load(
                name,
                full.data_bytes(),
                model.data_bytes(),
                phases,
                getattr(parameters, "reduces", None),
                # a workload with such a parameter determines its number of tasks
                tasks=bool({"maps", "reduces"} & fields),
                writers=None if "reduces" in fields else getattr(parameters, "maps", None),
                task_fraction=plan.testbed_options.task_fraction,
                own_program=parameters.own_program(),
                trial_bytes=full.trial_bytes(workers),
                shared_bytes=full.shared_bytes(),
                job_settings=tuple(full.job_settings()),
                replication=full.replication(),
                clients=full.clients(),
            )
        )
    return found
