"""CPU work of tasks for each byte of data: models that do the same work as the reference agree.

If the CPU quotas of a model follow the core probe, CPU times are converted to the speed of the
cores for which its quotas are planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from windtunnel.analysis.core_speed import core_factor
from windtunnel.analysis.observations import counts
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

_GB = 1e9
_TOLERANCE = 0.1  # of a similarity group that matches


@dataclass(frozen=True, slots=True)
class Work:
    """CPU seconds of the tasks of a phase for each GB of data: medians over the valid trials.

    ``models`` has the value of each model that has such trials. Only treatments with valid trials
    on both sides count; ``n`` is the number of trials of the reference.
    """

    workload: str
    phase: str
    reference: float
    models: Mapping[str, float]
    n: int


def work(reference: Results, models: Mapping[str, Results]) -> list[Work]:
    """The CPU work by workload and phase, in the order of the reference's first trial."""
    truth = dict(_values(reference))
    others = {name: dict(_values(results)) for name, results in models.items()}
    found = []
    for workload, phase in dict.fromkeys(key[:2] for key in truth):
        shared = {
            name: {key for key in truth if key[:2] == (workload, phase) and key in values}
            for name, values in others.items()
        }
        medians = {
            name: median(value for key in keys for value in others[name][key])
            for name, keys in shared.items()
            if keys
        }
        both = {key for keys in shared.values() for key in keys}
        own = [value for key in truth if key in both for value in truth[key]]
        if own and medians:
            found.append(Work(workload, phase, median(own), medians, len(own)))
    return found


def wanted_core_speeds(
    rows: Sequence[Work], reference: Results, models: Mapping[str, Results]
) -> dict[str, float]:
    """The core speed at which a model does the CPU work of the reference, relative to it.

    It is the CPU time per GB of the reference divided by that of the model, in the phase that takes
    the most; ``rows`` is :func:`work` of both. Models whose core speed is within 10 % of it are
    omitted.
    """
    if not rows:
        return {}
    most = max(rows, key=lambda row: row.reference)
    own = _core_speed(reference)
    wanted = {name: most.reference / value for name, value in most.models.items() if value}
    return {
        name: speed
        for name, speed in wanted.items()
        if abs(_core_speed(models[name]) / own / speed - 1) > _TOLERANCE
    }


def _core_speed(results: Results) -> float:
    scale = results.study.scale
    return (scale.core_speed if scale else None) or 1.0


def baseline_work(results: Results, phase: str) -> list[float]:
    """CPU seconds of the tasks of a phase for each GB, of each valid trial at the baseline."""
    study = results.study
    ids = {one.id for one in study.treatments if one.levels == study.baseline}
    found = _values(results)
    return [value for key, values in found if key[1] == phase and key[2] in ids for value in values]


def baseline_probe_ms(results: Results, phase: str) -> list[float]:
    """Mean CPU time of the core probe in a phase, in ms, of each valid trial at the baseline."""
    study = results.study
    ids = {one.id for one in study.treatments if one.levels == study.baseline}
    return [
        probe.value
        for trial in results.trials
        if _usual(trial) and trial.treatment.id in ids
        for own in trial.phases
        if own.name == phase and (probe := own.metrics.get("core_probe")) is not None
    ]


def _usual(trial: Trial) -> bool:
    """Whether a trial counts and has no fault, which changes the work of the tasks."""
    return counts(trial) and not trial.faults


def _values(results: Results) -> Iterator[tuple[tuple[str, str, str], list[float]]]:
    """CPU seconds per GB by workload, phase and treatment."""
    made: dict[tuple[str, str, str], list[float]] = {}
    for trial in results.trials:
        data = trial.metrics.get("data_bytes")
        if not _usual(trial) or data is None or not data.value:
            continue
        for phase in trial.phases:
            cpu = phase.metrics.get("cpu_time")
            if cpu is not None:
                key = (trial.workload, phase.name, trial.treatment.id)
                work_s = cpu.value / core_factor(results.study, phase)
                made.setdefault(key, []).append(work_s / data.value * _GB)
    yield from made.items()
