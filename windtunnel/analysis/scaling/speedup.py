"""Scaling: speed-up and efficiency by level of a factor that counts something, with fits.

A factor counts something if each of its levels is a number: because of its path (``.count``,
numbers of maps and reduces), or because all its labels are plain numbers of machines, disks,
slots and similar units (``4``, ``6 nodes``) and the study gives the factor a name of its own. The
path of a setting can contain ``reduce`` or ``node`` and set a ratio. Amounts (``16 GiB``,
``10 Gb/s``) are converted to multiples of the smallest. The size of the data is excluded, because
more data is more work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.described_hosts import number
from windtunnel.analysis.observations import (
    TOTAL,
    counts,
    elapsed_by_level,
    other_levels,
    rest_of,
)
from windtunnel.analysis.scaling.laws import Fit, fit
from windtunnel.analysis.statistics.summary import contrast
from windtunnel.results.record import Treatment

DOUBLING_PAYS = 0.10
"""Minimum gain in speed from doubling the units: a study with a noise of a few percent hardly
detects a smaller gain."""
_COUNT_PATHS = re.compile(
    r"(.*\.)?(count|vcpus|cores_per_socket|threads_per_core|sockets)"
    r"|workloads\..*\.(maps|reduces|(load_)?threads|clients|executor_cores)"
    r"|settings\.mapreduce\.job\.(maps|reduces)|settings\..*cpu-vcores"
)
_NAMES = re.compile(
    r"worker|node|host|server|disk|drive|slot|container|reduce|mapper|maps|vm|core|thread|cpu"
    r"|client|socket|count|machine",
    re.IGNORECASE,
)
_SIZES = re.compile(r"size|rows|data|block|replication|samples|buffer|\.mb$", re.IGNORECASE)
_PLAIN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]{3,}[ A-Za-z]*)?\s*")


@dataclass(frozen=True, slots=True)
class Point:
    """One level: ``count`` units, mean elapsed seconds, speed-up against the smallest level.

    ``efficiency`` is the speed-up divided by count / smallest count. The interval of the
    speed-up is Welch's on logarithms; None if the spread is unknown.
    """

    level: str
    count: float
    n: int
    mean_s: float
    speed_up: float
    low: float | None
    high: float | None
    efficiency: float


@dataclass(frozen=True)
class Scaling:
    """One factor, workload and phase at fixed levels of the other factors (``others``).

    ``amount``: whether counts are multiples of the smallest level's amount. Fits are None if
    there are too few levels.
    """

    factor: str
    workload: str
    phase: str
    others: Mapping[str, str]
    amount: bool
    points: tuple[Point, ...]
    amdahl: Fit | None
    usl: Fit | None

    @property
    def base(self) -> Point:
        """The smallest level."""
        return self.points[0]


def scalings(analysis: Analysis) -> list[Scaling]:
    """Every factor that counts something, with at least two levels that have trials."""
    trials = [trial for trial in analysis.results.trials if counts(trial)]
    treatments = {trial.treatment.id: trial.treatment for trial in trials}
    found = []
    for factor in analysis.study.factors:
        levels = level_counts(factor, list(treatments.values()))
        if levels is None:
            continue
        counted, amount = levels
        for others in other_levels(factor, list(treatments.values())):
            chosen = [t for t in trials if rest_of(factor, t.treatment) == others]
            for workload, phases in analysis.phases.items():
                own = [trial for trial in chosen if trial.workload == workload]
                for phase in [TOTAL, *(p for p in phases if p != TOTAL)]:
                    seconds = elapsed_by_level(own, factor, phase)
                    if len(seconds) >= 2 and (phase == TOTAL or len(phases) > 2):
                        found.append(
                            _scaling(
                                (factor, workload, phase),
                                others,
                                amount,
                                seconds,
                                counted,
                                printed=analysis.study.kind == "published",
                            )
                        )
    return found


def level_counts(
    factor: str, treatments: Sequence[Treatment]
) -> tuple[dict[str, float], bool] | None:
    """Number of each level, and whether it is an amount; None if the factor counts nothing."""
    values: dict[str, object] = {}
    path = ""
    for treatment in treatments:
        level = treatment.levels.get(factor)
        if level is None:
            return None
        path = path or _path(factor, treatments)
        values[level] = treatment.overrides.get(path, level) if path else level
    if len(values) < 2 or _SIZES.search(path or factor):
        return None
    counted = {level: parse_count(value) for level, value in values.items()}
    known = {level: count for level, count in counted.items() if count is not None}
    if len(known) == len(values):
        return (known, False) if _counts(factor, path) and _spread(known) else None
    amounts = {level: number(str(value)) for level, value in values.items()}
    sizes = {level: value for level, value in amounts.items() if value}
    if len(sizes) < len(values) or not _spread(sizes):
        return None
    smallest = min(sizes.values())
    return {level: value / smallest for level, value in sizes.items()}, True


def _counts(factor: str, path: str) -> bool:
    """Whether the factor counts something, by its path or by the name that the study gives it."""
    if _COUNT_PATHS.fullmatch(path or factor):
        return True
    own_name = factor != path and not factor.startswith("settings.")
    return own_name and _NAMES.search(factor) is not None


def parse_count(value: object) -> float | None:
    """``4``, ``"4"``, ``"6 nodes"`` -> a number above 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if number(value if isinstance(value, str) else None) is not None:
        return None  # It is an amount with a unit.
    match = _PLAIN.fullmatch(str(value))
    found = float(match.group(1)) if match else 0.0
    return found if found > 0 and math.isfinite(found) else None


def _spread(counts_: Mapping[str, float]) -> bool:
    return len(set(counts_.values())) == len(counts_)


def _path(factor: str, treatments: Sequence[Treatment]) -> str:
    """The only path whose value changes with the factor's level; empty if none or several do."""
    names = {name for treatment in treatments for name in treatment.overrides}
    hits = []
    for name in sorted(names):
        by_level: dict[str, set[str]] = {}
        for treatment in treatments:
            value = str(treatment.overrides.get(name))
            by_level.setdefault(treatment.levels.get(factor, ""), set()).add(value)
        distinct = {value for group in by_level.values() for value in group}
        if all(len(group) == 1 for group in by_level.values()) and len(distinct) == len(by_level):
            hits.append(name)
    counting = [name for name in hits if _COUNT_PATHS.fullmatch(name)]
    chosen = counting or hits
    return chosen[0] if len(chosen) == 1 else ""


def _scaling(
    key: tuple[str, str, str],
    others: Mapping[str, str],
    amount: bool,
    seconds: Mapping[str, Sequence[float]],
    counted: Mapping[str, float],
    *,
    printed: bool,
) -> Scaling:
    order = sorted(seconds, key=counted.__getitem__)
    base = order[0]
    points = []
    for level in order:
        logs = [[math.log(v) for v in seconds[name]] for name in (base, level)]
        ratio = contrast([(1, logs[0]), (-1, logs[1])], printed=printed)
        span = ratio.interval() if level != base else None
        gained = math.exp(ratio.estimate) if level != base else 1.0
        points.append(
            Point(
                level=level,
                count=counted[level],
                n=len(seconds[level]),
                mean_s=fmean(seconds[level]),
                speed_up=gained,
                low=math.exp(span[0]) if span else None,
                high=math.exp(span[1]) if span else None,
                efficiency=gained * counted[base] / counted[level],
            )
        )
    n = [counted[level] for level in order for _ in seconds[level]]
    t = [value for level in order for value in seconds[level]]
    laws = (fit("Amdahl", n, t), fit("USL", n, t))
    return Scaling(*key, others, amount, tuple(points), *laws)
