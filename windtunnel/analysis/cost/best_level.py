"""The best level of a factor by time, CPU time, energy and price/performance.

All levels are compared with each other by Tukey's HSD on logarithms, so that the confidence of
"the best of five" is 95 % for all ten pairs together [1]_. SciPy has the distribution.

References
----------
.. [1] Tukey, J. W. (1949). Comparing individual means in the analysis of variance.
   Biometrics 5(2), 99-114; unequal n after Kramer (1956), Biometrics 12(3), 307-310.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from windtunnel.analysis.cost.price import PRICE_PERFORMANCE, prices
from windtunnel.analysis.effects.anova import varied
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.effects import baseline_of
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.summary import CONFIDENCE
from windtunnel.results.record import StudyRecord

if TYPE_CHECKING:
    from windtunnel.analysis.analyse import Analysis

LEVELS_AT_LEAST = 3
"""With two levels, the effect against the baseline already shows the better one."""
JUDGED = {
    ELAPSED: "time",
    "cpu_time": "CPU time",
    "energy_metered": "energy, metered",
    "energy_rapl": "energy, RAPL",
    "energy_modelled": "energy, modelled",
    PRICE_PERFORMANCE: "price/performance",
}
"""Metrics for which a lower value is better, in words."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another level against the best one: their ``ratio`` with its simultaneous interval."""

    level: str
    mean: float
    n: int
    ratio: float
    low: float | None
    high: float | None

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference from the best is detected; None if the spread is unknown."""
        return None if self.low is None else self.low > 1


@dataclass(frozen=True, slots=True)
class Winner:
    """The best level of a factor by one metric (lower is better), and the others in order.

    ``mean`` is in ``unit``. ``others`` has the level of each other factor that varies in the
    study; all compared treatments have it. ``missing`` names the levels without a value there.
    """

    factor: str
    workload: str
    metric: str
    words: str
    unit: str
    level: str
    mean: float
    n: int
    rivals: tuple[Rival, ...]
    others: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def tied(self) -> list[str]:
        """Levels that may be equal to the best: no difference detected, or spread unknown."""
        return [rival.level for rival in self.rivals if not rival.distinguishable]


def winners(analysis: Analysis) -> list[Winner]:
    """One per factor, workload and metric that at least three of its levels have.

    A metric with a value of 0 or less is skipped: it has no ratios.
    """
    found = analysis.once(prices)
    table: dict[Key, Sample] = {**analysis.table, **(found.table if found else {})}
    return list(_winners(analysis.study, table, list(analysis.phases)))


def _winners(
    study: StudyRecord, table: Mapping[Key, Sample], workloads: Sequence[str]
) -> Iterator[Winner]:
    changed = varied(study)
    for factor, levels in study.factors.items():
        rest, treatments = alone(study, factor)
        if len(treatments) < LEVELS_AT_LEAST:
            continue
        others = tuple((name, level) for name, level in rest if name in changed)
        for workload in workloads:
            for metric, words in JUDGED.items():
                samples = {
                    level: table.get((id_, workload, TOTAL, metric))
                    for level, id_ in treatments.items()
                }
                known = {level: s for level, s in samples.items() if s is not None}
                if len(known) >= LEVELS_AT_LEAST and _positive(known):
                    made = _winner((factor, workload, metric, words), known)
                    missing = tuple(level for level in levels if level not in known)
                    yield replace(made, others=others, missing=missing)


Levels = tuple[tuple[str, str], ...]
"""(factor, level) of each factor but one, sorted by factor."""


def alone(study: StudyRecord, factor: str) -> tuple[Levels, dict[str, str]]:
    """Treatments that differ in this factor only, as level -> id, and their other levels.

    If there are several such groups: the one at the baseline of the other factors, if it has
    three levels or more; else the one with the most levels, the first of equals.
    """
    groups: dict[Levels, dict[str, str]] = {}
    for treatment in study.treatments:
        others = tuple(sorted((f, v) for f, v in treatment.levels.items() if f != factor))
        if factor in treatment.levels:
            groups.setdefault(others, {}).setdefault(treatment.levels[factor], treatment.id)
    for others, group in groups.items():
        if len(group) >= LEVELS_AT_LEAST and _at_baseline(study, others):
            return others, group
    return max(groups.items(), key=lambda item: len(item[1]), default=((), {}))


def _at_baseline(study: StudyRecord, others: Levels) -> bool:
    return all(level == baseline_of(study, f) for f, level in others if study.factors.get(f))


def _positive(known: Mapping[str, Sample]) -> bool:
    return all(value > 0 for sample in known.values() for value in sample.values)


def _winner(about: tuple[str, str, str, str], known: Mapping[str, Sample]) -> Winner:
    factor, workload, metric, words = about
    order = sorted(known, key=lambda level: _centre(known[level].values))
    best = order[0]
    spans = _spans([known[level].values for level in order])
    rivals = []
    for place, level in enumerate(order[1:], start=1):
        values = known[level].values
        low, high = spans.get(place, (None, None))
        ratio = _centre(values) / _centre(known[best].values)
        rivals.append(Rival(level, fmean(values), len(values), ratio, low, high))
    sample = known[best]
    mean, n = fmean(sample.values), len(sample.values)
    return Winner(factor, workload, metric, words, sample.unit, best, mean, n, tuple(rivals))


def _centre(values: Sequence[float]) -> float:
    """Geometric mean, as for all ratios, of values above 0."""
    return math.exp(fmean(math.log(value) for value in values))


def _spans(groups: Sequence[Sequence[float]]) -> dict[int, tuple[float, float]]:
    """Simultaneous intervals of the ratio of each group (from index 1) to group 0.

    Groups of one trial have no spread and are excluded; a single other group has no interval.
    The function does not use SciPy's ``tukey_hsd``, with which the tests compare it: that also
    integrates a p value for every pair, which takes almost a second per metric.
    """
    places = [i for i, values in enumerate(groups) if len(values) > 1]
    varied = any(len(set(groups[i])) > 1 for i in places)
    if len(places) < 2 or places[0] != 0 or not varied:
        return {}
    logs = {place: np.log(groups[place]) for place in places}
    spare = sum(len(values) - 1 for values in logs.values())
    error = sum(float(((v - v.mean()) ** 2).sum()) for v in logs.values()) / spare
    width = _studentized_range(len(logs), spare) * math.sqrt(error / 2)
    spans = {}
    for place in places[1:]:
        difference = float(logs[place].mean() - logs[0].mean())
        half = width * math.sqrt(1 / len(logs[0]) + 1 / len(logs[place]))
        spans[place] = (math.exp(difference - half), math.exp(difference + half))
    return spans


@lru_cache(maxsize=256)
def _studentized_range(groups: int, spare: int) -> float:
    """Quantile of the range of ``groups`` means over their standard error."""
    from scipy.stats import studentized_range  # The import is slow: only for such studies.

    return float(studentized_range.ppf(CONFIDENCE, groups, spare))
