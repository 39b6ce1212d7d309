"""Tails: waves, stragglers, the tail, tasks that ran alone, spills and speculation.

All numbers are computed for each trial and phase from its task attempts, then averaged over
the trials, because tasks are not independent repetitions (rule of trust 2).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.attempts import Attempt, attempts
from windtunnel.analysis.observations import counts
from windtunnel.results.record import Phase

MAP, REDUCE = "MAP", "REDUCE"
STRAGGLER = 1.5
"""An attempt is a straggler if it takes this many times the median of its kind: the measure of
Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010."""
LAST_SHARE = 0.05
"""The tail is the time in which the last 5 % of the tasks finish, at least the last one."""
FULL = 0.9
"""Slots count as full while at least this fraction of the highest concurrency is running."""


Span = tuple[Attempt, tuple[float, float]]
"""An attempt, and the start and the end of its work."""


@dataclass(frozen=True, slots=True)
class Tail:
    """One trial's tasks of one kind in one phase. Times are seconds, shares are 0 to 1.

    ``concurrency`` is the maximum number that ran at once; ``waves`` is tasks / concurrency;
    ``full_share`` is the fraction of the phase in which at least 90 % of that number ran.
    ``skew`` is the longest / median working time of a task, ``bytes_skew`` the same of its input
    within its job; the work of a reducer starts at the end of the last map of its job.
    ``stragglers`` are compared with the median of their job. ``tail_s`` starts when 95 % of the
    tasks (with few tasks: all but one) are complete; ``tail_share`` is its fraction of the phase.
    ``alone_share`` is the fraction of the phase in which one task of this kind worked and no other
    task did, ``lone_share`` that of the single task with the longest such time. ``spills`` is the
    number of times that a record was written to disk. None: unknown, or not defined for so few
    tasks.
    """

    trial: str
    workload: str
    treatment: str
    phase: str
    kind: str
    tasks: int
    concurrency: int
    waves: float
    full_share: float
    median_s: float
    longest_s: float
    skew: float | None
    bytes_skew: float | None
    stragglers: int
    tail_s: float | None
    tail_share: float | None
    alone_share: float
    lone_share: float
    stage_share: float
    merge_share: float | None
    gc_share: float | None
    spills: float | None
    localities: dict[str, int]
    speculated: int | None
    speculation_won: int | None
    wasted_s: float


@dataclass(frozen=True, slots=True)
class Idle:
    """One phase of one trial: fractions of its elapsed time without any task.

    ``before`` is the time until the first attempt started, ``after`` the time from the end of
    the last one, ``total`` all of it.
    """

    before: float
    after: float
    total: float


def tails(analysis: Analysis) -> list[Tail]:
    """One entry per counted trial, phase and kind of task."""
    groups = analysis.once(attempts)
    found = []
    for trial in analysis.results.trials:
        if not counts(trial):
            continue
        for phase in trial.phases:
            rows = groups.get((trial.id, phase.name))
            if not rows or phase.elapsed_s <= 0:
                continue
            where = (trial.id, trial.workload, trial.treatment.id)
            found += tails_of(where, phase, rows)
    return found


def idles(analysis: Analysis) -> dict[tuple[str, str], Idle]:
    """The fractions of each phase without a task, by (trial, phase)."""
    groups = analysis.once(attempts)
    found = {}
    for trial in analysis.results.trials:
        for phase in trial.phases:
            rows = groups.get((trial.id, phase.name))
            if rows and phase.elapsed_s > 0:
                found[(trial.id, phase.name)] = idle_of(phase, rows)
    return found


def tails_of(where: tuple[str, str, str], phase: Phase, rows: Sequence[Attempt]) -> list[Tail]:
    """The tails of each kind of task of a (trial, workload, treatment), from all its attempts."""
    spans = _working(rows)
    alone = _alone(spans, phase)
    done = {row.type for row in rows if row.succeeded}
    return [_tail(where, phase, rows, k, spans, alone) for k in (MAP, REDUCE) if k in done]


def _tail(
    where: tuple[str, str, str],
    phase: Phase,
    rows: Sequence[Attempt],
    kind: str,
    spans: Sequence[Span],
    alone: Mapping[tuple[str, str], float],
) -> Tail:
    own = [row for row in rows if row.type == kind]
    done = [row for row in own if row.succeeded]
    times = [end - start for row, (start, end) in spans if row.type == kind and row.succeeded]
    running, share_at = _profile([(row.started_at, row.finished_at) for row in own])
    seconds = [row.finished_at - row.started_at for row in done]
    tasks = len({row.task for row in done})
    jobs = _by_job(done)
    uneven = [_skew([row.input_bytes for row in each]) for each in jobs]
    tail_s = _tail_s(done)
    mine = {task: seconds for (task, type_), seconds in alone.items() if type_ == kind}
    first, last = min(r.started_at for r in own), max(r.finished_at for r in own)
    reported, extra = all(r.speculative is not None for r in own), [r for r in own if r.speculative]
    return Tail(
        *where,
        phase=phase.name,
        kind=kind,
        tasks=tasks,
        concurrency=running,
        waves=tasks / running,
        full_share=sum(s for n, s in share_at.items() if n >= FULL * running) / phase.elapsed_s,
        median_s=median(seconds),
        longest_s=max(seconds),
        skew=_skew(times),
        bytes_skew=max(filter(None, uneven), default=None),
        stragglers=sum(map(_stragglers, jobs)),
        tail_s=tail_s,
        tail_share=None if tail_s is None else tail_s / phase.elapsed_s,
        alone_share=sum(mine.values()) / phase.elapsed_s,
        lone_share=max(mine.values(), default=0.0) / phase.elapsed_s,
        stage_share=min(1.0, (last - first) / phase.elapsed_s),
        merge_share=_ratio([row.merging for row in done], seconds) if kind == MAP else None,
        gc_share=_ratio([row.gc_time for row in done], seconds),
        spills=_ratio([r.spilled_records for r in done], [r.output_records for r in done])
        if kind == MAP
        else None,
        localities=dict(Counter(row.locality for row in done if row.locality)),
        speculated=len(extra) if reported else None,
        speculation_won=sum(row.succeeded for row in extra) if reported else None,
        wasted_s=_wasted(own),
    )


def idle_of(phase: Phase, rows: Sequence[Attempt]) -> Idle:
    """The fractions of a phase without any of its attempts."""
    spans = [(row.started_at, row.finished_at) for row in rows]
    _, share_at = _profile(spans)
    busy = sum(seconds for running, seconds in share_at.items() if running > 0)
    before = min(start for start, _ in spans) - phase.started_at
    after = phase.finished_at - max(end for _, end in spans)
    shares = (before, after, phase.elapsed_s - busy)
    return Idle(*(min(1.0, max(0.0, part / phase.elapsed_s)) for part in shares))


def _working(rows: Sequence[Attempt]) -> list[Span]:
    """The working time of each attempt; a reducer does not work while it waits for the maps.

    The maps are those of its own job: a phase can have several jobs.
    """
    maps_done: dict[str, float] = {}
    for row in rows:
        job = _job(row)
        if row.type == MAP and row.succeeded and job is not None:
            maps_done[job] = max(row.finished_at, maps_done.get(job, -math.inf))
    spans = []
    for row in rows:
        waits = maps_done.get(_job(row) or "", -math.inf) if row.type == REDUCE else -math.inf
        if row.finished_at > waits:
            spans.append((row, (max(row.started_at, waits), row.finished_at)))
    return spans


def _job(row: Attempt) -> str | None:
    """The MapReduce job in the id of a task; None for Spark, whose tasks wait for no other task."""
    job, *rest = row.task.rsplit("_", 2)  # task_1700000000000_0001_m_000002
    return job if len(rest) == 2 and rest[0] in ("m", "r") else None


def _by_job(rows: Sequence[Attempt]) -> list[list[Attempt]]:
    """The attempts of each job; those of Spark are together."""
    found: dict[str | None, list[Attempt]] = {}
    for row in rows:
        found.setdefault(_job(row), []).append(row)
    return list(found.values())


def _stragglers(done: Sequence[Attempt]) -> int:
    """The number of successful attempts of a job that take much longer than their median."""
    if len({row.task for row in done}) < 2:
        return 0
    middle = median(row.seconds for row in done)
    return sum(row.seconds > STRAGGLER * middle for row in done)


def _profile(spans: Sequence[tuple[float, float]]) -> tuple[int, dict[int, float]]:
    """The maximum number of overlapping spans, and the seconds of each number of spans."""
    events = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    running, most, last = 0, 0, events[0][0]
    seconds: dict[int, float] = {}
    for at, change in events:  # At the same instant, ends come before starts.
        seconds[running] = seconds.get(running, 0.0) + at - last
        running, last = running + change, at
        most = max(most, running)
    return max(most, 1), seconds


def _alone(spans: Sequence[Span], phase: Phase) -> dict[tuple[str, str], float]:
    """Seconds in which each task (id, kind) was the only one that worked.

    Two attempts of one task count as one task, so speculation does not change the result.
    """
    events = sorted(
        (at, change, (row.task, row.type))
        for row, (start, end) in spans
        for at, change in ((start, 1), (end, -1))
    )
    at_work: dict[tuple[str, str], int] = {}
    last, found = phase.started_at, dict[tuple[str, str], float]()
    for at, change, task in events:
        if len(at_work) == 1:
            (lone,) = at_work
            found[lone] = found.get(lone, 0.0) + at - last
        running = at_work.get(task, 0) + change
        if running:
            at_work[task] = running
        else:
            del at_work[task]
        last = at
    return found


def _tail_s(done: Sequence[Attempt]) -> float | None:
    """Seconds from the end of all but the last 5 % of the tasks (at least one) to the end."""
    if len(done) < 2:
        return None
    ends = sorted(row.finished_at for row in done)
    behind = max(1, math.floor(LAST_SHARE * len(ends)))
    return ends[-1] - ends[-1 - behind]


def _skew(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 2 or len(known) < len(values) or median(known) <= 0:
        return None
    return max(known) / median(known)


def _ratio(upper: Sequence[float | None], lower: Sequence[float | None]) -> float | None:
    """Ratio of the sums; None unless every attempt has both values and the lower sum is not 0."""
    above = [value for value in upper if value is not None]
    below = [value for value in lower if value is not None]
    if len(above) < len(upper) or len(below) < len(lower) or sum(below) <= 0:
        return None
    return sum(above) / sum(below)


def _wasted(own: Sequence[Attempt]) -> float:
    """Seconds of killed attempts whose task another attempt finished: wasted speculation."""
    finished = {row.task for row in own if row.succeeded}
    return sum(row.seconds for row in own if row.status == "KILLED" and row.task in finished)


def mean_of(rows: Sequence[Tail], name: str) -> float | None:
    """Mean of a number over trials; None unless every trial has it."""
    values = [getattr(row, name) for row in rows]
    if not values or any(value is None for value in values):
        return None
    return fmean(values)
