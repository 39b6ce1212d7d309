"""What a scale model of a plan runs, and how similar it is to the full size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.results.record import ScaleRecord, SimilarityGroup, Treatment
from windtunnel.study.plan import Plan, make_workload
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.similarity import Load, PhaseLoad, similarity


def loads_of(plan: Plan, treatment: Treatment, scale: Scale) -> list[Load]:
    """What the workloads move at a treatment, at full size, and their data in the model."""
    workers = max(1, plan.cluster_of(treatment).role_counts()["nodemanager"])
    found = []
    for name in plan.workloads:
        written = plan.parameters_of(name, treatment)
        full, model = make_workload(name, written), make_workload(name, written, scale)
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
                # a workload of tasks has a say in their number
                tasks=bool({"maps", "reduces"} & fields),
                writers=None if "reduces" in fields else getattr(parameters, "maps", None),
            )
        )
    return found


def baseline_of(plan: Plan) -> Treatment:
    """The treatment that effects are counted from; the first where there is none."""
    found = (t for t in plan.treatments if t.levels == dict(plan.baseline))
    return next(found, plan.treatments[0])


def scale_record(plan: Plan) -> ScaleRecord | None:
    """The scale of a plan with the similarity of the baseline; None at full size.

    Of other treatments the groups follow whose state is another than at the baseline.

    Raises
    ------
    NotRealisableError
        If the description lacks what a model must shape.
    """
    scale = plan.scale
    if scale is None:
        return None
    base = baseline_of(plan)
    groups = similarity(plan.cluster_of(base), scale, loads_of(plan, base, scale))
    states = {_key(group): group.state for group in groups}
    for treatment in plan.looked_at:
        if treatment.id != base.id:
            own = similarity(plan.cluster_of(treatment), scale, loads_of(plan, treatment, scale))
            groups += _others(treatment.id, own, states)
    return ScaleRecord(rate=scale.rate, data=scale.data, groups=groups)


def _others(
    treatment: str, groups: Sequence[SimilarityGroup], states: Mapping[tuple[str, str | None], str]
) -> list[SimilarityGroup]:
    return [
        group.model_copy(update={"treatment": treatment})
        for group in groups
        if states.get(_key(group)) != group.state
    ]


def _key(group: SimilarityGroup) -> tuple[str, str | None]:
    return group.name, group.workload
