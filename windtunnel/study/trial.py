"""One trial: it samples the machine, runs the phases, verifies the output and is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.cluster.stored_input import input_key
from windtunnel.engines.deployment import Deployment
from windtunnel.errors import DeploymentError, NotRealisableError, TrialInvalidError
from windtunnel.probes.machine import before_trial
from windtunnel.probes.sampler import Sampler
from windtunnel.results.record import Before, CacheState, Fate, Metric, Phase, Trial, Verdict
from windtunnel.results.sample import Recording, Sample
from windtunnel.study.faults import faults_of
from windtunnel.study.faults.injection import Injector
from windtunnel.study.journal import Journal, storage_errors
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.trial_draft import Outcome, TrialDraft
from windtunnel.testbeds.base import Judgement
from windtunnel.workloads.base import WARM, Execution, Workload

_CACHE_STATES: dict[str, CacheState] = {
    "warm": "warm",
    "drop": "dropped",
    "larger-than-memory": "larger than memory",
}

PhaseHook = Callable[[str, Deployment, Execution], None]


@dataclass(frozen=True)
class Conditions:
    """The inputs of a trial in addition to the plan, the deployment and the journal.

    Parameters
    ----------
    number:
        Number of the deployment within the study, counted from 1.
    provenance:
        Hash of the stored provenance.
    on_phase:
        Called with the name of each phase as it starts.
    after_phase:
        Called after each phase; tests use it to access the running cluster.
    judge:
        The testbed's judgement of the samples of the phases.
    judge_surroundings:
        The testbed's judgement of the activity of other tenants during the trial.
    interrupted:
        Called if a second Ctrl-C or SIGTERM arrives after the phases of a trial, while its last
        samples are awaited: the trial is recorded, and the study should stop.
    study:
        Values that the workloads of earlier trials of the study have stored for later trials.
    """

    number: int | None = None
    provenance: str | None = None
    on_phase: Callable[[str], None] = lambda _: None
    after_phase: PhaseHook | None = None
    judge: Callable[[Sequence[Sample], Sequence[Phase]], Judgement] = lambda *_: Judgement()
    study: dict[Hashable, Any] = field(default_factory=dict)
    judge_surroundings: Callable[[Mapping[str, Metric]], Judgement] = lambda _: Judgement()
    interrupted: Callable[[], None] = lambda: None


def run_trial(
    plan: Plan,
    slot: Slot,
    attempt: int,
    deployment: Deployment,
    journal: Journal,
    conditions: Conditions | None = None,
) -> tuple[Trial, bool]:
    """Run one trial and record it; returns the trial and whether the deployment is broken."""
    around = conditions or Conditions()
    draft = TrialDraft(
        plan,
        slot,
        attempt,
        journal.study.id,
        time.time(),
        deployment=around.number,
        provenance=around.provenance,
    )
    workload = plan.workload_of(slot.workload, slot.treatment)
    cluster = plan.cluster_of(slot.treatment)
    execution = Execution(
        folder=f"{deployment.trials}/{draft.id}",
        shared=f"{deployment.shared_inputs}/{input_key(cluster)}",
        deadline_s=time.monotonic() + plan.protocol.trial_time_limit,
        study=around.study,
    )
    draft.before = _settle(plan, deployment)
    injector = Injector(faults_of(slot.treatment), cluster, workload.phases(), deployment)
    with Sampler(
        deployment.processes,
        sources=deployment.sources(),
        network_bytes=deployment.network_bytes,
        here=deployment.here,
    ) as sampler:
        outcome = _run(workload, deployment, execution, plan, around, injector)
    for run in outcome.runs.values():
        sampler.rows += run.samples
    draft.ended(outcome)
    draft.flags += execution.notes
    others, remarks = deployment.surroundings()
    try:
        sampler.add(deployment.recorded(draft.started_at, draft.finished_at))
    except KeyboardInterrupt:
        sampler.add(Recording(problems=["samples of the hosts: the wait for them was interrupted"]))
        around.interrupted()
    with storage_errors(journal.path):
        sampler.write(journal.sample_file(draft.id), draft.id)
    draft.measured(sampler, workload.data_bytes())
    draft.metrics |= {**injector.metrics(), **outcome.metrics, **others}
    draft.flags += remarks
    draft.faults = injector.records
    draft.apply_rules()
    draft.judge(around.judge(sampler.rows, draft.judged_phases))
    draft.judge(around.judge_surroundings(others))
    trial = draft.record()
    tasks = [row for run in outcome.runs.values() for row in run.tasks]
    journal.append(trial, tasks)
    return trial, outcome.broken


def _settle(plan: Plan, deployment: Deployment) -> Before:
    if plan.protocol.cache == "drop":
        _drop_caches(deployment)
    return before_trial(_CACHE_STATES[plan.protocol.cache])


def _drop_caches(deployment: Deployment) -> None:
    if not all(host.drop_caches() for host in deployment.hosts):
        raise NotRealisableError(
            "the page cache cannot be dropped without root",
            remedy="run as root, or write 'cache: warm' in the study's protocol.",
        )


def _run(
    workload: Workload[Any],
    deployment: Deployment,
    execution: Execution,
    plan: Plan,
    around: Conditions,
    injector: Injector,
) -> Outcome:
    running: tuple[str, float] | None = None
    try:
        with deployment.unshaped():
            workload.prepare(deployment, execution)
        for phase in workload.phases():
            _prepare_phase(phase, deployment, execution, injector)
            if plan.protocol.cache == "drop" and not phase.endswith(WARM):
                _drop_caches(deployment)
            around.on_phase(phase)
            injector.phase_begins(phase)
            running = phase, time.time()
            run = workload.run_phase(phase, deployment, execution)
            execution.runs[phase] = run.with_metrics(deployment.phase_metrics(run.phase))
            running = None
            injector.phase_ended(phase, run.phase.finished_at)
            if around.after_phase is not None:
                around.after_phase(phase, deployment, execution)
        began = time.monotonic()
        left = injector.put_back()
        execution.deadline_s += time.monotonic() - began  # the limit is that of the work
        with deployment.unshaped():
            verdict = workload.verify(deployment, execution)
            deployment.check_alive()
            stored, unclean = _clean(workload, deployment, execution)
    except TrialInvalidError as error:
        injector.abandon()  # only then it is known whether the fault was injected
        # An abandoned job may still have containers, so the next trial starts new daemons.
        # A failed verification is no outcome: it does not state what the fault did to the job.
        fate: Fate | None = "job failed" if injector.injected and running else None
        verdict = Verdict(valid=False, reason=error.message)
        failed = _unfinished(workload, *running) if fate and running else None
        return Outcome(verdict, execution.runs, broken=True, fate=fate, unfinished=failed)
    except DeploymentError as error:
        reason = error.message if error.log is None else f"{error.message}; log: {error.log}"
        return Outcome(Verdict(valid=False, reason=reason), execution.runs, broken=True)
    finally:
        injector.abandon()
    fate = "finished" if verdict.valid else "output wrong"
    known = fate if injector.injected else None
    return Outcome(verdict, execution.runs, bool(left) or unclean, known, left, stored)


def _clean(
    workload: Workload[Any], deployment: Deployment, execution: Execution
) -> tuple[Mapping[str, Metric], bool]:
    """Measure and remove the files of a verified trial, and whether that failed.

    A failure is noted; it does not change the verdict.
    """
    stored: Mapping[str, Metric] = {}
    try:
        stored = deployment.storage_metrics(execution.folder)
        workload.clean(deployment, execution)
    except DeploymentError as error:
        execution.notes.append(f"the files of the trial were not removed: {error.message}")
        return stored, True
    return stored, False


def _unfinished(workload: Workload[Any], name: str, started_at: float) -> Phase | None:
    """The phase whose job has just failed, with epoch seconds.

    None if it has no progress: such a phase can be a reference phase, which uses the whole machine.
    """
    if name in workload.phases_without_progress():
        return None
    now = time.time()
    taken_s = now - started_at
    return Phase(
        name=name, started_at=started_at, finished_at=now, elapsed_s=taken_s, wall_s=taken_s
    )


def _prepare_phase(
    phase: str, deployment: Deployment, execution: Execution, injector: Injector
) -> None:
    """Prepare a phase; the time that this takes does not count towards the limit of the trial."""
    began, faulty = time.monotonic(), injector.in_force
    try:
        deployment.before_phase()
    except DeploymentError as error:
        # A fault that lasts can prevent the preparation, such as the start of waiting JVMs without
        # a NameNode. Its effect on the phase is what the trial measures.
        if not faulty:
            raise
        execution.notes.append(f"{phase} was not prepared, with a fault in force: {error.message}")
    execution.deadline_s += time.monotonic() - began


def failed_trial(
    plan: Plan,
    slot: Slot,
    attempt: int,
    journal: Journal,
    reason: str,
    started_at: float,
    number: int | None = None,
) -> Trial:
    """Record a trial that did not start because its cluster did not start."""
    draft = TrialDraft(plan, slot, attempt, journal.study.id, started_at, deployment=number)
    draft.ended(Outcome(Verdict(valid=False, reason=reason)))
    trial = draft.record()
    journal.append(trial, [])
    return trial
