"""One trial: sample the machine, run the phases, verify, and make the record of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from windtunnel.engines.deployment import Deployment, JobRun, Limited
from windtunnel.errors import DeploymentError, NotRealisableError, TrialInvalidError
from windtunnel.probes.machine import before_trial
from windtunnel.probes.sampler import OwnNetwork, Sampled, Sampler
from windtunnel.results.record import Before, CacheState, Fate, Metric, Phase, Trial, Verdict
from windtunnel.study.faults import faults_of
from windtunnel.study.faults.strike import Injector
from windtunnel.study.invalidate import judged
from windtunnel.study.journal import Journal, storage_errors
from windtunnel.study.plan import Plan, Slot
from windtunnel.testbeds.base import Judgement, Row
from windtunnel.workloads.base import WARM, Execution, Workload

_CACHE_STATES: dict[str, CacheState] = {
    "warm": "warm",
    "drop": "dropped",
    "larger-than-memory": "larger than memory",
}

PhaseHook = Callable[[str, Deployment, Execution], None]


@dataclass
class Outcome:
    """What running a trial's phases gave, whole or up to where it failed.

    ``broken`` says that the deployment must not be used again, ``fate`` what became of the job
    under faults, ``left`` what of them could not be put back.
    """

    verdict: Verdict
    runs: dict[str, JobRun] = field(default_factory=dict)
    broken: bool = False
    fate: Fate | None = None
    left: str = ""


def run_trial(
    plan: Plan,
    slot: Slot,
    attempt: int,
    deployment: Deployment,
    journal: Journal,
    *,
    number: int | None = None,
    provenance: str | None = None,
    on_phase: Callable[[str], None] = lambda _: None,
    after_phase: PhaseHook | None = None,
    judge: Callable[[Sequence[Row], Sequence[Phase]], Judgement] = lambda *_: Judgement(),
) -> tuple[Trial, bool]:
    """Run one trial and record it; returns the trial and whether the deployment is broken.

    Parameters
    ----------
    number:
        Number of the deployment within the study, counted from 1.
    provenance:
        Hash of the stored provenance.
    on_phase:
        Told the name of each phase as it starts.
    after_phase:
        Called between phases: where tests reach into the running cluster.
    judge:
        The testbed's own look at the samples of the phases.
    """
    trial_id = f"{slot.id}-a{attempt}"
    workload = plan.workload_of(slot.workload, slot.treatment)
    execution = Execution(
        folder=f"/windtunnel/trials/{trial_id}",
        # shared by equal clusters alone: a block size is a property of the input, too
        shared=f"/windtunnel/shared/{plan.cluster_of(slot.treatment).fingerprint()[:12]}",
        deadline_s=time.monotonic() + plan.protocol.trial_time_limit,
    )
    started_at = time.time()
    before = _settle(plan, deployment)
    cluster = plan.cluster_of(slot.treatment)
    injector = Injector(faults_of(slot.treatment), cluster, workload.phases(), deployment)
    sources = deployment.sources() if isinstance(deployment, Sampled) else ()
    own = deployment.network_bytes if isinstance(deployment, OwnNetwork) else None
    with Sampler(deployment.processes, sources=sources, network_bytes=own) as sampler:
        outcome = _run(workload, deployment, execution, plan, on_phase, after_phase, injector)
    for run in outcome.runs.values():
        sampler.rows += run.samples
    with storage_errors(journal.path):
        sampler.write(journal.sample_file(trial_id), trial_id)
    trial = _record(plan, slot, attempt, journal, started_at, before, outcome)
    flags = [*trial.flags]
    if outcome.left:
        flags.append(f"after the fault the cluster was given up: {outcome.left}")
    if sampler.failures:
        flags.append(f"{len(sampler.failures)} samples failed: {sampler.failures[0]}")
    metrics = _trial_metrics(trial, sampler, workload) | injector.metrics()
    update: dict[str, object] = {"metrics": metrics, "provenance": provenance, "flags": flags}
    update |= {"faults": injector.records, "outcome": outcome.fate}
    update["power_source"] = sampler.power_source
    trial = trial.model_copy(update={**update, "deployment": number})
    trial = judged(trial, plan.protocol.invalidate.rules())
    trial = _judged(trial, judge(sampler.rows, trial.phases))
    tasks = [row for run in outcome.runs.values() for row in run.tasks]
    journal.append(trial, tasks)
    return trial, outcome.broken


def _judged(trial: Trial, judgement: Judgement) -> Trial:
    """The trial after the testbed's own look at it; an invalid one keeps its reason."""
    verdict, failed = trial.verdict, [c.got for c in judgement.checks if not c.passed]
    update: dict[str, object] = {"checks": [*verdict.checks, *judgement.checks]}
    if verdict.valid and failed:
        update |= {"valid": False, "reason": "; ".join(failed)}
    flags = [*trial.flags, *judgement.flags]
    return trial.model_copy(update={"verdict": verdict.model_copy(update=update), "flags": flags})


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
    workload: Workload,
    deployment: Deployment,
    execution: Execution,
    plan: Plan,
    on_phase: Callable[[str], None],
    after_phase: PhaseHook | None,
    injector: Injector,
) -> Outcome:
    try:
        with _unhindered(deployment):
            workload.prepare(deployment, execution)
        for phase in workload.phases():
            if plan.protocol.cache == "drop" and not phase.endswith(WARM):
                _drop_caches(deployment)
            on_phase(phase)
            injector.phase_begins(phase)
            execution.runs[phase] = workload.run_phase(phase, deployment, execution)
            injector.phase_ended(phase)
            if after_phase is not None:
                after_phase(phase, deployment, execution)
        left = injector.put_back()
        with _unhindered(deployment):
            verdict = workload.verify(deployment, execution)
            deployment.check_alive()
            workload.clean(deployment, execution)
    except TrialInvalidError as error:
        # A job that was given up may still hold containers: the next trial gets new daemons.
        fate: Fate | None = "job failed" if injector.struck else None
        verdict = Verdict(valid=False, reason=error.message)
        return Outcome(verdict, execution.runs, broken=True, fate=fate)
    except DeploymentError as error:
        reason = error.message if error.log is None else f"{error.message}; log: {error.log}"
        return Outcome(Verdict(valid=False, reason=reason), execution.runs, broken=True)
    finally:
        injector.abandon()
    fate = "finished" if verdict.valid else "output wrong"
    return Outcome(
        verdict, execution.runs, bool(left), fate if injector.struck else None, left=left
    )


def _unhindered(deployment: Deployment) -> AbstractContextManager[None]:
    """Without the limits of a model, for what no phase measures."""
    return deployment.unshaped() if isinstance(deployment, Limited) else nullcontext()


def failed_trial(
    plan: Plan,
    slot: Slot,
    attempt: int,
    journal: Journal,
    reason: str,
    started_at: float,
    number: int | None = None,
) -> Trial:
    """Record a trial that could not even start, because its cluster did not come up."""
    outcome = Outcome(Verdict(valid=False, reason=reason))
    trial = _record(plan, slot, attempt, journal, started_at, None, outcome)
    trial = trial.model_copy(update={"deployment": number})
    journal.append(trial, [])
    return trial


def _record(
    plan: Plan,
    slot: Slot,
    attempt: int,
    journal: Journal,
    started_at: float,
    before: Before | None,
    outcome: Outcome,
) -> Trial:
    return Trial(
        id=f"{slot.id}-a{attempt}",
        study_id=journal.study.id,
        testbed=plan.testbed,
        workload=slot.workload,
        treatment=slot.treatment,
        parameters=plan.run_parameters_of(slot.workload, slot.treatment),
        round=slot.round,
        position=slot.position,
        attempt=attempt,
        extra=slot.extra,
        started_at=started_at,
        finished_at=time.time(),
        verdict=outcome.verdict,
        phases=[run.phase for run in outcome.runs.values()],
        before=before,
        flags=[note for run in outcome.runs.values() for note in run.notes],
    )


def _trial_metrics(trial: Trial, sampler: Sampler, workload: Workload) -> dict[str, Metric]:
    """Numbers of the trial as a whole: the harness's own cost, and the size of the data."""
    wall_s = trial.finished_at - trial.started_at
    phases_s = sum(phase.elapsed_s for phase in trial.phases)
    shares = {f"{name}_share": sampler.mean(name) for name in ("cpu_idle", "cpu_steal")}
    return {
        **{name: Metric(value=v, unit="ratio") for name, v in shares.items() if v is not None},
        "trial_wall": Metric(value=wall_s, unit="s"),
        "harness_overhead": Metric(value=wall_s - phases_s, unit="s"),
        "sampler_cpu_share": Metric(value=sampler.cost, unit="ratio"),
        "data_bytes": Metric(value=workload.data_bytes(), unit="bytes"),
    }
