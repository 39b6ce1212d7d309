"""Key-value stores: throughput, latency percentiles, throughput over time, recovery.

A percentile is that of one trial; it is averaged over trials like any metric, because the trial
is the unit (rule of trust 2). A percentile of the operations of all trials together would weight
each trial by its speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.observations import counts
from windtunnel.analysis.parquet_files import Reading, read_files
from windtunnel.results.record import Phase, Trial

RUN = "run"
OPERATIONS = ("read", "update", "insert", "scan", "read_modify_write")
PERCENTILES = ("p50", "p95", "p99", "p99.9", "max")
RECOVERED = 0.8
"""Fraction of the mean throughput before a fault at which the store counts as recovered."""
HELD = 5
"""Number of samples, one each second, for which a rate must be held to count as a change: a single
sample can be a pause of a JVM or a burst of delayed operations."""
CAUSED_WITHIN_S = 10.0
"""A short fall of the throughput is attributed to a fault if it begins within this time."""
STARTING_S = 3.0
"""The first seconds of a run are excluded from the throughput before a fault: the client's JVM
still compiles."""
CURVE_FROM = 3
"""Number of values from which a chart has a line; a line through two points would suggest
values that were not measured."""
AXES = {"threads": "threads", "target_rate": "target rate, ops/s"}
"""Parameters on the horizontal axis of throughput charts, with their titles."""

_QUERY = """
    SELECT trial, t, value FROM read_parquet(?) WHERE metric = 'kv_throughput' ORDER BY trial, t
"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of one operation from the intended start, ms, means over the trials.

    ``service_p99`` is the 99th percentile from the actual start.
    """

    operation: str
    by_percentile: Mapping[str, float]
    service_p99: float | None


@dataclass(frozen=True, slots=True)
class Served:
    """One treatment of one workload. Rates are operations per second.

    ``target`` is None if the load was unlimited; ``saturated`` counts the trials, of ``n``, that
    did not reach the target.
    """

    workload: str
    treatment: str
    n: int
    throughput: Cell
    target: float | None
    saturated: int
    latencies: tuple[Latency, ...]
    data_to_cache: float | None
    cache_hits: float | None


@dataclass(frozen=True, slots=True)
class Course:
    """Throughput of one trial each second: seconds since the run began, operations per second.

    ``faults`` are the times of the injected faults, ``recovery_s`` the seconds from the first
    of them until the throughput recovered; None without a fault or without a recovery.
    """

    workload: str
    treatment: str
    trial: str
    target: float | None
    points: tuple[tuple[float, float], ...]
    faults: tuple[float, ...]
    recovery_s: float | None

    @property
    def known_before(self) -> bool:
        """Whether the throughput before the first fault is known."""
        return bool(self.faults) and bool(_before(self.points, min(self.faults)))


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput against a parameter; ``points`` hold its value, the mean and its interval.

    ``others`` names the levels of the other factors, which all points share.
    """

    workload: str
    axis: str
    others: str
    points: tuple[tuple[float, float, float | None, float | None], ...]


def served(analysis: Analysis) -> list[Served]:
    """Every treatment of every key-value workload, in the study's order."""
    found = []
    for treatment in analysis.treatments():
        for workload in analysis.phases:
            cell = analysis.cell(treatment, workload, RUN, "throughput")
            if cell is not None and cell.unit == "ops/s":
                found.append(_served(analysis, cell))
    return found


def _served(analysis: Analysis, cell: Cell) -> Served:
    where = (cell.treatment, cell.workload)

    def mean(metric: str, phase: str = RUN) -> float | None:
        found = analysis.cell(*where, phase, metric)
        return None if found is None else found.mean

    latencies = []
    for operation in OPERATIONS:
        reported = {name: mean(f"{operation}_{name}") for name in PERCENTILES}
        known = {name: value for name, value in reported.items() if value is not None}
        if known:
            latencies.append(Latency(operation, known, mean(f"{operation}_service_p99")))
    return Served(
        workload=cell.workload,
        treatment=cell.treatment,
        n=cell.n,
        throughput=cell,
        target=_parameter(analysis, *where, "target_rate"),
        saturated=round((mean("saturated") or 0.0) * cell.n),
        latencies=tuple(latencies),
        data_to_cache=mean("data_to_cache", "load"),
        cache_hits=mean("cache_hits"),
    )


def _trials(analysis: Analysis, treatment: str, workload: str) -> list[Trial]:
    return [
        trial
        for trial in analysis.results.trials
        if counts(trial) and (trial.treatment.id, trial.workload) == (treatment, workload)
    ]


def _parameter(analysis: Analysis, treatment: str, workload: str, name: str) -> float | None:
    given = (t.parameters.get(name) for t in _trials(analysis, treatment, workload))
    value = next(given, None)
    return float(value) if isinstance(value, int | float) else None


def courses_read(analysis: Analysis) -> Reading:
    """Throughput samples of the counted trials."""
    store = {row.workload for row in analysis.once(served)}
    trials = [t for t in analysis.results.trials if counts(t) and t.workload in store]
    return read_files([analysis.results.samples_path(trial) for trial in trials], _QUERY)


def courses(analysis: Analysis) -> list[Course]:
    """For each treatment the trial with the median throughput (of two, the slower)."""
    samples: dict[str, list[tuple[float, float]]] = {}
    if not analysis.once(served):
        return []
    for trial, t, value in analysis.once(courses_read).rows:
        samples.setdefault(trial, []).append((t, value))
    found = []
    for row in analysis.once(served):
        trials = [t for t in _trials(analysis, row.treatment, row.workload) if t.id in samples]
        trials.sort(key=_rate)
        if trials:
            chosen = trials[(len(trials) - 1) // 2]
            found.append(_course(row, chosen, samples[chosen.id]))
    return found


def _run(trial: Trial) -> Phase | None:
    return next((phase for phase in trial.phases if phase.name == RUN), None)


def _rate(trial: Trial) -> float:
    phase = _run(trial)
    metric = phase.metrics.get("throughput") if phase else None
    return metric.value if metric else 0.0


def _course(row: Served, trial: Trial, samples: Sequence[tuple[float, float]]) -> Course:
    phase = _run(trial)
    assert phase is not None  # The trial has a throughput of this phase.
    points = tuple(
        (t - phase.started_at, value)
        for t, value in samples
        if phase.started_at < t <= phase.finished_at + 1
    )
    struck = (fault.at for fault in trial.faults if fault.phase == RUN and fault.at is not None)
    faults = tuple(at - phase.started_at for at in struck)
    return Course(
        workload=row.workload,
        treatment=row.treatment,
        trial=trial.id,
        target=row.target,
        points=points,
        faults=faults,
        recovery_s=recovery(points, min(faults)) if faults else None,
    )


def _before(points: Sequence[tuple[float, float]], fault: float) -> list[float]:
    return [rate for at, rate in points if STARTING_S < at <= fault]


def recovery(points: Sequence[tuple[float, float]], fault: float) -> float | None:
    """Seconds from a fault until the throughput returned to :data:`RECOVERED` of that before it.

    The throughput must then be at or above this level for :data:`HELD` samples in sequence, and
    must not be below it for as many samples until the end of the run. 0 if no fall below this
    level began within :data:`CAUSED_WITHIN_S` of the fault or lasted for :data:`HELD` samples: a
    shorter fall at another time has no relation to the fault. None if the throughput before the
    fault is unknown, or if it did not recover.

    Parameters
    ----------
    points:
        Seconds since the run began and operations per second, one sample each second.
    fault:
        Seconds since the run began.
    """
    before = _before(points, fault)
    after = [(at, rate) for at, rate in points if at > fault]
    if not before or not after:
        return None
    wanted = RECOVERED * fmean(before)
    fallen, back = False, 0.0
    for below, group in groupby(after, key=lambda point: point[1] < wanted):
        times = [at for at, _ in group]
        if below:
            if len(times) >= HELD or (not fallen and times[0] - fault <= CAUSED_WITHIN_S):
                fallen, back = True, math.inf
        elif len(times) >= HELD:
            back = min(back, times[0] - fault)
    if not fallen:
        return 0.0
    return back if math.isfinite(back) else None


def curves(analysis: Analysis) -> list[Curve]:
    """Throughput against threads or the target rate, if one of them was varied."""
    rows = analysis.once(served)
    found = []
    for name in AXES:
        groups: dict[tuple[str, str], list[tuple[float, Served]]] = {}
        for row in rows:
            value = _parameter(analysis, row.treatment, row.workload, name)
            if value is not None:
                others = _others(analysis, row, name)
                groups.setdefault((row.workload, others), []).append((value, row))
        for (workload, others), members in groups.items():
            if len({value for value, _ in members}) >= CURVE_FROM:
                found.append(_curve(workload, name, others, members))
    return found


def _others(analysis: Analysis, row: Served, name: str) -> str:
    """The levels of a treatment, except that of the factor that sets a parameter."""
    one = next((t for t in analysis.study.treatments if t.id == row.treatment), None)
    levels = {} if one is None else one.levels
    return ", ".join(
        level for factor, level in levels.items() if not _sets(analysis, row.workload, factor, name)
    )


def _sets(analysis: Analysis, workload: str, factor: str, name: str) -> bool:
    """Whether each level of a factor has one value of a parameter and vice versa."""
    values: dict[str, set[float | None]] = {}
    for one in analysis.study.treatments:
        if not _trials(analysis, one.id, workload):
            continue
        value = _parameter(analysis, one.id, workload, name)
        values.setdefault(one.levels.get(factor, ""), set()).add(value)
    single = all(len(found) == 1 for found in values.values())
    return single and len(set().union(*values.values())) == len(values) > 1


def _curve(workload: str, name: str, others: str, members: Sequence[tuple[float, Served]]) -> Curve:
    points = [
        (value, row.throughput.mean, row.throughput.ci_low, row.throughput.ci_high)
        for value, row in sorted(members, key=lambda pair: pair[0])
    ]
    return Curve(workload, name, others, tuple(points))
