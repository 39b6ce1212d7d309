"""Analysis of variance of a study with several factors, on the logarithm of elapsed time.

On logarithms, an effect is a ratio, and an interaction is a deviation from the product of the
ratios. The sums of squares are of type II, from ordinary least squares by statsmodels: each
factor is adjusted for the other factors, but not for interactions that contain it. In a
complete design all types agree. If each round contains at least two treatments, the rounds are
blocks: the part that all trials of a round share counts neither as effect nor as error. The
error is the spread of repeated trials of one treatment. Without repetition, the error is the
variance between treatments that the terms of the model do not explain (higher interactions;
in a fractional design all interactions), if the design has any, and the table states it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy import special

from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.observations import ELAPSED
from windtunnel.analysis.statistics.correction import holm
from windtunnel.analysis.statistics.summary import ALPHA
from windtunnel.analysis.statistics.variance_explained import (
    eta_squared,
    omega_squared,
    share_intervals,
)
from windtunnel.results.record import StudyRecord, Treatment

_ZERO = 1e-20
"""Sums of squares below this are rounding errors of equal numbers."""
HIGHER = "interactions of 3+"
ANY = "all interactions"
"""The row of the unexplained variance between treatments, with and without rows for
interactions of two factors."""


@dataclass(frozen=True, slots=True)
class Term:
    """One row of the table: a factor, an interaction of two, or all others together.

    ``share`` is omega squared with its 95 % interval ``share_low`` .. ``share_high``.
    ``eta_squared`` is the fraction of the sum of squares. Both exclude the part of the rounds.
    """

    name: str
    factors: tuple[str, ...]
    df: int
    sum_sq: float
    eta_squared: float
    share: float
    share_low: float | None
    share_high: float | None
    f: float
    p: float
    p_adjusted: float

    @property
    def clear(self) -> bool:
        """Whether the effect is detected, after correction for all terms."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class Anova:
    """The table of one workload and phase, sorted by explained variance.

    ``error`` is the mean square of the residual (log seconds squared) with ``error_df``
    degrees of freedom; its square root is approximately the coefficient of variation.
    ``interactions`` is False if the design confounds interactions of two factors with factors.
    ``rounds`` is the number of different rounds, 0 if the rounds are unknown.
    """

    workload: str
    phase: str
    trials: int
    rounds: int
    terms: list[Term]
    interactions: bool
    blocks_df: int
    blocks_sum_sq: float
    error: float
    error_df: int
    error_from: Literal["repetition", "interactions"]


@dataclass(frozen=True)
class _Fit:
    squares: dict[str, tuple[float, int]]
    blocks: tuple[float, int]
    error: tuple[float, int]
    repeated: bool


def one_at_a_time(study: StudyRecord) -> bool:
    """Whether no treatment differs from the baseline in more than one factor."""
    base = {f: study.baseline.get(f) or levels[0] for f, levels in study.factors.items() if levels}
    return all(
        sum(t.levels.get(factor) != level for factor, level in base.items()) <= 1
        for t in study.treatments
    )


def varied(study: StudyRecord) -> list[str]:
    """The factors with at least two levels among the treatments."""
    return [
        factor
        for factor in study.factors
        if len({t.levels.get(factor) for t in study.treatments}) > 1
    ]


def crossed(study: StudyRecord) -> bool:
    """Whether factors vary together, so that an analysis of variance is possible."""
    return len(varied(study)) > 1 and not one_at_a_time(study)


def anova(
    study: StudyRecord, table: Mapping[Key, Sample], workload: str, phase: str
) -> Anova | None:
    """The analysis of variance of elapsed time; None if the design or the data do not allow it.

    It requires two factors that vary together, a trial of every treatment, times above 0,
    repetition or higher interactions from which the error is estimated, and rounds that do not
    change together with a factor or a treatment.
    """
    if not crossed(study):
        return None
    factors = varied(study)
    cells = [(t, table.get((t.id, workload, phase, ELAPSED))) for t in study.treatments]
    known = [(t, sample) for t, sample in cells if sample is not None]
    if any(sample.error is not None for _, sample in known):
        return None  # predictions have no repetition; interactions are no error of theirs
    if len(known) < len(cells) or any(v <= 0 for _, s in known for v in s.values):
        return None
    if not separated(study):
        return None
    pairs = list(combinations(factors, 2))
    if not _estimable(study.treatments, factors, pairs):
        pairs = []
    fit = _fit(known, factors, pairs)
    if fit is not None and fit.error[0] <= _ZERO and any(s.printed for _, s in known):
        return None  # equal printed times: the error is unknown and not 0
    return None if fit is None else _table(fit, workload, phase, factors, pairs, known)


def separated(study: StudyRecord) -> bool:
    """Whether the treatments separate the factors: no two of them always change together."""
    return _estimable(study.treatments, varied(study), [])


def _estimable(
    treatments: Sequence[Treatment], factors: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Whether the design separates all factors and all their interactions of two."""
    columns = {factor: _indicators(treatments, factor) for factor in factors}
    blocks = [np.ones((len(treatments), 1)), *columns.values()]
    for a, b in pairs:
        products = columns[a][:, :, None] * columns[b][:, None, :]
        blocks.append(products.reshape(len(treatments), -1))
    design = np.hstack(blocks)
    return bool(np.linalg.matrix_rank(design) == design.shape[1])


def _indicators(treatments: Sequence[Treatment], factor: str) -> np.ndarray:
    """Treatments x (levels - 1): 1 if the treatment has that level."""
    levels = list(dict.fromkeys(t.levels.get(factor) for t in treatments))
    return np.array([[float(t.levels.get(factor) == v) for v in levels[1:]] for t in treatments])


def _fit(
    known: Sequence[tuple[Treatment, Sample]],
    factors: Sequence[str],
    pairs: Sequence[tuple[str, str]],
) -> _Fit | None:
    """Sums of squares with degrees of freedom, by term.

    None if there is no error term, or if the rounds are confounded with treatments.
    """
    # These modules are slow to import: only for such studies, and without statsmodels.api.
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.anova import anova_lm

    ols = OLS.from_formula
    frame = _frame(known, factors)
    names = {factor: f"C(f{i})" for i, factor in enumerate(factors)}
    words = {names[f]: f for f in factors}
    words |= {f"{names[a]}:{names[b]}": f"{a} x {b}" for a, b in pairs}
    blocks = "C(block) + " if _blocked(frame) else ""
    designs = [ols(f"y ~ {blocks}{terms}", frame) for terms in (" + ".join(words), "C(treatment)")]
    if any(np.linalg.matrix_rank(one.exog) < one.exog.shape[1] for one in designs):
        return None
    model, pure = (one.fit(method="qr") for one in designs)
    repeated, left = pure.df_resid >= 1, int(model.df_resid)
    if left < 1:
        return None
    rows = anova_lm(model, typ=2)
    squares = {
        word: (float(rows.loc[name, "sum_sq"]), int(rows.loc[name, "df"]))
        for name, word in words.items()
    }
    error = (float(model.ssr), left)
    if repeated:
        error = (float(pure.ssr), int(pure.df_resid))
        if left > error[1]:
            rest = HIGHER if pairs else ANY
            squares[rest] = (max(0.0, float(model.ssr) - error[0]), left - error[1])
    spent = (0.0, 0)
    if blocks:
        spent = (float(rows.loc["C(block)", "sum_sq"]), int(rows.loc["C(block)", "df"]))
    return _Fit(squares, spent, error, repeated)


def _frame(known: Sequence[tuple[Treatment, Sample]], factors: Sequence[str]) -> Any:
    """One row per trial: log time, block, treatment, factors with names valid in a formula."""
    import pandas as pd

    rows = [
        {
            "y": float(np.log(value)),
            "block": f"r{number}",
            "treatment": treatment.id,
            **{f"f{i}": str(treatment.levels.get(f)) for i, f in enumerate(factors)},
        }
        for treatment, sample in known
        for value, number in zip(
            sample.values, sample.rounds or [0] * len(sample.values), strict=True
        )
    ]
    return pd.DataFrame(rows)


def _blocked(frame: Any) -> bool:
    """Whether rounds can be blocks: two or more, each with at least two treatments."""
    held = frame.groupby("block")["treatment"].nunique()
    whole: bool = len(held) > 1 and bool((held > 1).all())
    return whole


def _table(
    fit: _Fit,
    workload: str,
    phase: str,
    factors: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    known: Sequence[tuple[Treatment, Sample]],
) -> Anova:
    members = {f: (f,) for f in factors} | {f"{a} x {b}": (a, b) for a, b in pairs}
    squares = [ss for ss, _ in fit.squares.values()]
    dfs = [df for _, df in fit.squares.values()]
    error, error_df = fit.error
    if error <= _ZERO:  # All numbers are equal; the remainder is rounding.
        error = 0.0
    mean = error / error_df
    trials = sum(len(sample.values) for _, sample in known)
    spans = share_intervals(squares, dfs, error, error_df, trials)
    ratios = [_f(ss / df, mean) for ss, df in zip(squares, dfs, strict=True)]
    p = [float(special.fdtrc(df, error_df, f)) for df, f in zip(dfs, ratios, strict=True)]
    shares = omega_squared(squares, dfs, mean, trials)
    plain = eta_squared(squares, error)
    terms = [
        Term(
            name=name,
            factors=members.get(name, ()),
            df=dfs[i],
            sum_sq=squares[i],
            eta_squared=plain[i],
            share=shares[i],
            share_low=None if spans is None else spans[i][0],
            share_high=None if spans is None else spans[i][1],
            f=ratios[i],
            p=p[i],
            p_adjusted=p[i],
        )
        for i, name in enumerate(fit.squares)
    ]
    adjusted = holm(p)
    terms = [replace(t, p_adjusted=q) for t, q in zip(terms, adjusted, strict=True)]
    terms.sort(key=lambda t: (-t.share, -t.eta_squared))
    return Anova(
        workload=workload,
        phase=phase,
        trials=trials,
        rounds=len({number for _, sample in known for number in sample.rounds}),
        terms=terms,
        interactions=bool(pairs),
        blocks_df=fit.blocks[1],
        blocks_sum_sq=fit.blocks[0],
        error=mean,
        error_df=error_df,
        error_from="repetition" if fit.repeated else "interactions",
    )


def _f(mean_square: float, error: float) -> float:
    """The F ratio; infinite if there is an effect and the error is 0."""
    if error > 0:
        return mean_square / error
    return float("inf") if mean_square > _ZERO else 0.0
