"""Effects: each level of a factor against the baseline level, absolute and relative.

Absolute: difference of arithmetic means with Welch's interval. Relative: ratio of
geometric means, i.e. Welch on the logarithms, back-transformed. The log scale was
chosen over Fieller's theorem and the delta method because

- averaging over matched cells of other factors stays consistent: a mean of logs is
  a geometric mean of ratios, the only mean of normalised scores that does not depend
  on the baseline [1]_;
- the interval of A against B is the exact mirror image of that of B against A, never
  reaches below -100 %, and always exists (Fieller's can be the whole line) [2]_;
- run times are positive and skewed to the right, which logs make more nearly normal.

With the spread below the 20 % limit the three agree to a fraction of a percentage
point. The price: ``relative`` is not exactly ``absolute`` / mean of the baseline.

References
----------
.. [1] Fleming, P. J., Wallace, J. J. (1986). How not to lie with statistics: the
   correct way to summarize benchmark results. CACM 29(3), 218-221.
.. [2] Franz, V. H. (2007). Ratios: a short guide to confidence limits and proper
   use. arXiv:0710.2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.analysis.cells import Key, Sample
from windtunnel.analysis.stats import contrast
from windtunnel.results.record import StudyRecord, Treatment

Pair = tuple[Sequence[float], Sequence[float]]
"""Values at the level, values at the baseline, of one matched cell."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One level against the baseline.

    ``absolute`` and its interval are in ``unit``; ``relative``, ``ci_low`` and ``ci_high``
    are ratios minus 1 (-0.31 = 31 % less) with 95 % confidence. ``matched`` counts the
    combinations of the other factors over which the effect was averaged. ``detectable`` is
    the smallest relative effect this many trials see with 80 % power at this noise.
    None where the numbers do not tell (one trial; a zero on the log scale).
    """

    factor: str
    level: str
    baseline: str
    workload: str
    phase: str
    metric: str
    unit: str
    n: int
    n_baseline: int
    matched: int
    mean: float
    mean_baseline: float
    absolute: float
    absolute_ci_low: float | None
    absolute_ci_high: float | None
    relative: float | None
    ci_low: float | None
    ci_high: float | None
    detectable: float | None

    @property
    def distinguishable(self) -> bool | None:
        """Whether the interval leaves out "no difference"; None where there is no interval."""
        low, high = self.ci_low, self.ci_high
        if low is None or high is None:
            low, high = self.absolute_ci_low, self.absolute_ci_high
        if low is None or high is None:
            return None
        return low > 0 or high < 0


def baseline_of(study: StudyRecord, factor: str) -> str:
    """The level to compare with: the named one, else the first listed (and a warning says so)."""
    named = study.baseline.get(factor)
    return named if named is not None else study.factors[factor][0]


def effects(study: StudyRecord, table: Mapping[Key, Sample]) -> list[Effect]:
    """All effects, by factor, level and then the order of the cells."""
    where = list(dict.fromkeys((w, p, m) for _, w, p, m in table))
    rows = []
    for factor, levels in study.factors.items():
        if not levels:
            continue
        baseline = baseline_of(study, factor)
        for level in levels:
            if level == baseline:
                continue
            matched = matched_treatments(study.treatments, factor, level, baseline)
            for workload, phase, metric in where:
                pairs = _pairs(table, matched, workload, phase, metric)
                if not pairs:
                    continue
                unit = table[(pairs[0][0], workload, phase, metric)].unit
                values = [values for _, values in pairs]
                about = (factor, level, baseline, workload, phase, metric, unit)
                rows.append(effect(about, values))
    return rows


def matched_treatments(
    treatments: Sequence[Treatment], factor: str, level: str, baseline: str
) -> list[tuple[str, str]]:
    """Pairs of treatment ids (level, baseline) that differ in this factor only."""

    def others(treatment: Treatment) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((f, v) for f, v in treatment.levels.items() if f != factor))

    base = {others(t): t.id for t in treatments if t.levels.get(factor) == baseline}
    return [
        (t.id, base[others(t)])
        for t in treatments
        if t.levels.get(factor) == level and others(t) in base
    ]


def effect(about: tuple[str, str, str, str, str, str, str], pairs: Sequence[Pair]) -> Effect:
    """The effect from one or more matched pairs of samples, each of at least one number.

    ``about`` is (factor, level, baseline, workload, phase, metric, unit).
    """
    factor, level, baseline, workload, phase, metric, unit = about
    share = 1 / len(pairs)
    absolute = contrast([term for a, b in pairs for term in ((share, a), (-share, b))])
    span = absolute.interval()
    relative, bounds, detectable = _relative(pairs)
    return Effect(
        factor=factor,
        level=level,
        baseline=baseline,
        workload=workload,
        phase=phase,
        metric=metric,
        unit=unit,
        n=min(len(a) for a, _ in pairs),
        n_baseline=min(len(b) for _, b in pairs),
        matched=len(pairs),
        mean=share * sum(sum(a) / len(a) for a, _ in pairs),
        mean_baseline=share * sum(sum(b) / len(b) for _, b in pairs),
        absolute=absolute.estimate,
        absolute_ci_low=None if span is None else span[0],
        absolute_ci_high=None if span is None else span[1],
        relative=relative,
        ci_low=None if bounds is None else bounds[0],
        ci_high=None if bounds is None else bounds[1],
        detectable=detectable,
    )


def _relative(
    pairs: Sequence[Pair],
) -> tuple[float | None, tuple[float, float] | None, float | None]:
    """Relative effect, its interval and the smallest detectable one, on the log scale."""
    if any(value <= 0 for pair in pairs for values in pair for value in values):
        gone = all(not any(a) and all(v > 0 for v in b) for a, b in pairs)
        return (-1.0 if gone else None), None, None
    share = 1 / len(pairs)
    logs = [
        term
        for a, b in pairs
        for term in ((share, [math.log(v) for v in a]), (-share, [math.log(v) for v in b]))
    ]
    on_logs = contrast(logs)
    span = on_logs.interval()
    seen = on_logs.detectable()
    bounds = None if span is None else (_ratio(span[0]), _ratio(span[1]))
    return math.expm1(on_logs.estimate), bounds, None if seen is None else _ratio(seen)


def _ratio(log: float) -> float:
    """exp(log) - 1, finite: with two trials an interval can exceed what a float holds."""
    return math.expm1(min(log, 700.0))


def _pairs(
    table: Mapping[Key, Sample],
    matched: Sequence[tuple[str, str]],
    workload: str,
    phase: str,
    metric: str,
) -> list[tuple[str, Pair]]:
    pairs: list[tuple[str, Pair]] = []
    for ours, base in matched:
        a = table.get((ours, workload, phase, metric))
        b = table.get((base, workload, phase, metric))
        if a is not None and b is not None:
            pairs.append((ours, (a.values, b.values)))
    return pairs
