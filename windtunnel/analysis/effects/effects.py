"""Effects: each level of a factor against the baseline level, absolute and relative.

The absolute effect is the difference of arithmetic means with Welch's interval. The relative
effect is the ratio of geometric means: Welch's method on logarithms, back-transformed. The log
scale was chosen over Fieller's theorem and the delta method because

- averages over matched cells of other factors are consistent: a mean of logs is
  a geometric mean of ratios, the only mean of normalised scores that does not depend
  on the baseline [1]_;
- the interval of A against B is the exact mirror image of that of B against A, never
  extends below -100 %, and always exists (Fieller's can be unbounded) [2]_;
- run times are positive and skewed to the right; their logarithms are closer to normal.

If the spread is below the 20 % limit, the three methods agree within a fraction of a
percentage point. A disadvantage: ``relative`` is not exactly ``absolute`` / mean of the
baseline.

If every round contains both sides once and there are at least 5 rounds, the differences are
computed within the rounds (paired), which removes the part that all trials of a round share.
The rule depends on the rounds and never on the difference; ``docs/decisions/0012`` has the
simulation on which it is based. If the rounds of both sides differ and the times have a trend,
only the rounds that both sides have are compared (``docs/decisions/0088``).

With fewer rounds, if several factors vary together, the error of the relative effect is that of
all treatments together, as in the analysis of variance (``docs/decisions/0016``). If the times are
predictions, the error is that of the model, without the part that both sides have in common
(``docs/decisions/0043``). The effects of one metric on one workload are a family: their p values
are corrected by Holm's method [3]_ over all levels of all factors.

References
----------
.. [1] Fleming, P. J., Wallace, J. J. (1986). How not to lie with statistics: the
   correct way to summarize benchmark results. CACM 29(3), 218-221.
.. [2] Franz, V. H. (2007). Ratios: a short guide to confidence limits and proper
   use. arXiv:0710.2024.
.. [3] Holm, S. (1979). A simple sequentially rejective multiple test procedure.
   Scandinavian Journal of Statistics 6(2), 65-70.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from windtunnel.analysis.effects.anova import crossed
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.common_rounds import PAIRED_FROM, Pair, compared
from windtunnel.analysis.effects.pairing import Kind, Matching, match
from windtunnel.analysis.effects.pooled import Pool, pool
from windtunnel.analysis.predicted_error import PredictedError, log_contrast
from windtunnel.analysis.statistics.correction import holm
from windtunnel.analysis.statistics.summary import ALPHA, Contrast, contrast
from windtunnel.results.record import StudyRecord

Method = Literal[
    "welch on logs",
    "paired by round, on logs",
    "pooled over treatments, on logs",
    "error of the model, on logs",
]

MODEL: Method = "error of the model, on logs"


@dataclass(frozen=True, slots=True)
class Effect:
    """One level against the baseline.

    ``absolute`` and its interval are in ``unit``; ``relative``, ``ci_low`` and ``ci_high``
    are ratios minus 1 (-0.31 = 31 % less) with 95 % confidence. ``matched`` counts the
    combinations of the other factors over which the effect was averaged. ``detectable`` is
    the minimum detectable effect: the smallest relative effect that this number of trials
    detects with 80 % power at this noise, at the level of the first step of the correction
    (0.05 / ``comparisons``). Numbers that cannot be computed are None (one trial; a zero on the
    log scale).

    ``p`` is the p value of this comparison alone, ``p_adjusted`` the p value after Holm's
    correction for the ``comparisons`` of its family. The intervals are uncorrected 95 %
    intervals of this comparison alone. ``se_log`` and ``df`` are the standard error and the
    degrees of freedom on the log scale.
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
    method: Method = "welch on logs"
    comparison: Kind = "matched"
    p: float | None = None
    p_adjusted: float | None = None
    comparisons: int = 1
    se_log: float | None = None
    df: float | None = None

    @property
    def predicted(self) -> bool:
        """Whether the times are predictions, whose error is that of the model."""
        return self.method == MODEL

    @property
    def equal(self) -> bool:
        """Whether the error is unknown although both sides have several values: all printed values
        of each side are equal."""
        error = (self.se_log, self.absolute_ci_low, self.ci_low)
        return min(self.n, self.n_baseline) > 1 and error == (None, None, None)

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference is detected, after correction; None if it is unknown."""
        if self.p_adjusted is not None:
            return self.p_adjusted < ALPHA
        return self.clear_alone

    @property
    def clear_alone(self) -> bool | None:
        """Whether the uncorrected interval excludes "no difference"; None without an interval."""
        low, high = self.ci_low, self.ci_high
        if low is None or high is None:
            low, high = self.absolute_ci_low, self.absolute_ci_high
        if low is None or high is None:
            return None
        return low > 0 or high < 0


def baseline_of(study: StudyRecord, factor: str) -> str:
    """The baseline level: the one that the study names, else the first listed (with a warning)."""
    named = study.baseline.get(factor)
    return named if named is not None else study.factors[factor][0]


def effects(study: StudyRecord, table: Mapping[Key, Sample]) -> list[Effect]:
    """All effects, corrected, by factor, level and then the order of the cells."""
    where = list(dict.fromkeys((w, p, m) for _, w, p, m in table))
    pools = {place: pool_of(study, table, place) for place in where}
    rows = []
    for factor, levels in study.factors.items():
        if not levels:
            continue
        baseline = baseline_of(study, factor)
        for level in levels:
            if level == baseline:
                continue
            matching = match(study.treatments, factor, level, baseline)
            for workload, phase, metric in where:
                sides = both_sides(table, matching, workload, phase, metric)
                if not sides:
                    continue
                about = (factor, level, baseline, workload, phase, metric, sides[0][0].unit)
                values, paired = compared(sides)
                error = pools.get((workload, phase, metric))
                made = effect(
                    about,
                    values,
                    paired=paired,
                    error=error,
                    model=model_errors(sides),
                    printed=are_printed(sides),
                )
                rows.append(replace(made, comparison=matching.kind))
    return corrected(rows)


def pool_of(
    study: StudyRecord, table: Mapping[Key, Sample], place: tuple[str, str, str]
) -> Pool | None:
    """The error of all treatments together, for crossed factors.

    None if there are enough rounds for pairing.
    """
    if not crossed(study):
        return None
    cells = [table.get((t.id, *place)) for t in study.treatments]
    known = [sample for sample in cells if sample is not None]
    few = all(len(sample.values) < PAIRED_FROM for sample in known)
    return pool(known) if few and len(known) == len(cells) else None


def corrected(rows: Sequence[Effect]) -> list[Effect]:
    """The effects with their p values corrected within (workload, phase, metric), by Holm.

    For the total elapsed time, the family is all comparisons of the study's factors on one
    workload. ``detectable`` is computed at the smallest of Holm's levels.
    """
    families: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for place, e in enumerate(rows):
        if e.p is not None:
            families[(e.workload, e.phase, e.metric)].append(place)
    done = list(rows)
    for places in families.values():
        adjusted = holm([rows[place].p or 0.0 for place in places])
        for place, p in zip(places, adjusted, strict=True):
            done[place] = _in_family(rows[place], p, len(places))
    return done


def _in_family(e: Effect, p_adjusted: float, comparisons: int) -> Effect:
    if comparisons == 1 or e.predicted:
        return replace(e, p_adjusted=p_adjusted, comparisons=comparisons)
    seen = Contrast(0.0, e.se_log, e.df).detectable(confidence=1 - ALPHA / comparisons)
    return replace(
        e,
        p_adjusted=p_adjusted,
        comparisons=comparisons,
        detectable=None if seen is None else _ratio(seen),
    )


def effect(
    about: tuple[str, str, str, str, str, str, str],
    pairs: Sequence[Pair],
    *,
    paired: bool = False,
    error: Pool | None = None,
    model: Sequence[tuple[PredictedError, PredictedError]] = (),
    printed: bool = False,
) -> Effect:
    """The effect from one or more matched pairs of samples, each of at least one number.

    ``about`` is (factor, level, baseline, workload, phase, metric, unit). ``paired``: the nth
    numbers of all samples belong to one round, and differences are computed within rounds.
    ``error``: the error of the relative effect, if it is pooled over treatments. ``model``: the
    errors of both sides of each pair, if the times are predictions. ``printed``: the values have
    few digits, so that an error of 0 is unknown.
    """
    factor, level, baseline, workload, phase, metric, unit = about
    share = 1 / len(pairs)
    absolute = _difference(pairs, paired=paired, printed=printed)
    relative, on_logs = _relative(pairs, paired=paired, printed=printed)
    if model and on_logs is not None:
        absolute, on_logs = _predicted(pairs, model, absolute.estimate, on_logs.estimate)
    span = absolute.interval()
    if error is not None and printed and error.variance == 0:
        error = None
    if on_logs is not None and error is not None:
        span = None  # treatments share no error in seconds (docs/decisions/0016)
        weight = share**2 * sum(1 / len(a) + 1 / len(b) for a, b in pairs)
        on_logs = Contrast(on_logs.estimate, math.sqrt(error.variance * weight), error.df)
    bounds = None if on_logs is None else on_logs.interval()
    seen = None if on_logs is None or model else on_logs.detectable()
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
        ci_low=None if bounds is None else _ratio(bounds[0]),
        ci_high=None if bounds is None else _ratio(bounds[1]),
        detectable=None if seen is None else _ratio(seen),
        method=MODEL
        if model
        else _method(paired=paired, pooled=on_logs is not None and error is not None),
        p=(absolute if on_logs is None else on_logs).p(),
        se_log=None if on_logs is None else on_logs.se,
        df=None if on_logs is None else on_logs.df,
    )


def _method(*, paired: bool, pooled: bool) -> Method:
    if pooled:
        return "pooled over treatments, on logs"
    return "paired by round, on logs" if paired else "welch on logs"


def are_printed(sides: Sequence[tuple[Sample, Sample]]) -> bool:
    """Whether values of a publication are compared."""
    return any(sample.printed for side in sides for sample in side)


def model_errors(
    sides: Sequence[tuple[Sample, Sample]],
) -> list[tuple[PredictedError, PredictedError]]:
    """The errors of predicted times, if all of them are."""
    found = [(a.error, b.error) for a, b in sides if a.error is not None and b.error is not None]
    return found if len(found) == len(sides) else []


def _predicted(
    pairs: Sequence[Pair],
    model: Sequence[tuple[PredictedError, PredictedError]],
    absolute: float,
    relative: float,
) -> tuple[Contrast, Contrast]:
    """The absolute effect and that on logarithms, with the errors of the predictions."""
    share = 1 / len(pairs)
    terms = [term for a, b in model for term in ((share, a), (-share, b))]
    scaled = [
        (weight * value, error)
        for (weight, error), value in zip(
            terms, (values[0] for pair in pairs for values in pair), strict=True
        )
    ]
    return log_contrast(absolute, scaled), log_contrast(relative, terms)


def _difference(pairs: Sequence[Pair], *, paired: bool, printed: bool) -> Contrast:
    """Mean over the pairs of level minus baseline."""
    share = 1 / len(pairs)
    if paired:
        rows = [(share, [x - y for x, y in zip(a, b, strict=True)]) for a, b in pairs]
        return contrast(rows, printed=printed)
    terms = [term for a, b in pairs for term in ((share, a), (-share, b))]
    return contrast(terms, printed=printed)


def _relative(
    pairs: Sequence[Pair], *, paired: bool, printed: bool
) -> tuple[float | None, Contrast | None]:
    """The relative effect, and the contrast on the log scale from which it is computed."""
    if any(value <= 0 for pair in pairs for values in pair for value in values):
        gone = all(not any(a) and all(v > 0 for v in b) for a, b in pairs)
        return (-1.0 if gone else None), None
    logs = [([math.log(v) for v in a], [math.log(v) for v in b]) for a, b in pairs]
    on_logs = _difference(logs, paired=paired, printed=printed)
    return _ratio(on_logs.estimate), on_logs


def _ratio(log: float) -> float:
    """exp(log) - 1, limited: with two trials an interval can exceed the range of a float."""
    return math.expm1(min(log, 700.0))


def both_sides(
    table: Mapping[Key, Sample], matching: Matching, workload: str, phase: str, metric: str
) -> list[tuple[Sample, Sample]]:
    """The samples of the pairs that have both sides; a main effect requires all pairs."""
    sides = []
    for ours, base in matching.pairs:
        a = table.get((ours, workload, phase, metric))
        b = table.get((base, workload, phase, metric))
        if a is not None and b is not None:
            sides.append((a, b))
    whole = len(sides) == len(matching.pairs)
    return sides if whole or matching.kind == "matched" else []
