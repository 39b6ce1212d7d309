"""Analysis of variance of a study with several factors, on the logarithm of elapsed time.

On logs an effect is a ratio and an interaction is a departure from ratios that multiply.
Ordinary least squares and type II sums of squares by statsmodels: each factor is judged after
the other factors and not after interactions that contain it; in a complete design all types
agree. Rounds are blocks where each of them holds at least two treatments: what all trials of
a round share is taken out first and counts neither as effect nor as error. The error is that
of repetition (the spread of trials of one treatment); without any repetition it is taken from
what the terms of the model leave between the treatments (higher interactions; in a fraction
all interactions), if the design leaves anything, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy import special

from windtunnel.analysis.cells import Key, Sample
from windtunnel.analysis.correction import holm
from windtunnel.analysis.observations import ELAPSED
from windtunnel.analysis.shares import eta_squared, omega_squared, share_intervals
from windtunnel.analysis.stats import ALPHA
from windtunnel.results.record import StudyRecord, Treatment

HIGHER = "interactions of 3+"
ANY = "all interactions"
"""The row of what is left between treatments, if the design has rows for interactions of two or
not."""


@dataclass(frozen=True, slots=True)
class Term:
    """One row of the table: a factor, an interaction of two, or all others together.

    ``share`` is omega squared with its 95 % interval ``share_low`` .. ``share_high``,
    ``eta_squared`` the plain share of the sum of squares; ratios, the rounds' part left out.
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
        """Whether the effect is more than chance, after correction for all terms."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class Anova:
    """The table of one workload and phase, in the order of the terms' shares.

    ``error`` is the mean square of the residual (log seconds squared) with ``error_df``
    degrees of freedom; its root is about the coefficient of variation. ``interactions`` is
    False where the design cannot tell interactions of two factors from the factors.
    """

    workload: str
    phase: str
    trials: int
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
    """Whether factors vary together, so that treatments share a table of variance."""
    return len(varied(study)) > 1 and not one_at_a_time(study)


def anova(
    study: StudyRecord, table: Mapping[Key, Sample], workload: str, phase: str
) -> Anova | None:
    """The analysis of variance of elapsed time; None where the design or the data allow none.

    It needs two factors that vary together, a trial of every treatment, times above 0, and
    some repetition or higher interactions to take the error from.
    """
    if not crossed(study):
        return None
    factors = varied(study)
    cells = [(t, table.get((t.id, workload, phase, ELAPSED))) for t in study.treatments]
    known = [(t, sample) for t, sample in cells if sample is not None]
    if len(known) < len(cells) or any(v <= 0 for _, s in known for v in s.values):
        return None
    pairs = list(combinations(factors, 2))
    if not _estimable(study.treatments, factors, pairs):
        pairs = []
    fit = _fit(known, factors, pairs)
    return None if fit is None else _table(fit, workload, phase, factors, pairs, known)


def _estimable(
    treatments: Sequence[Treatment], factors: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Whether the treatments tell all factors and all their interactions of two apart."""
    columns = {factor: _indicators(treatments, factor) for factor in factors}
    blocks = [np.ones((len(treatments), 1)), *columns.values()]
    for a, b in pairs:
        products = columns[a][:, :, None] * columns[b][:, None, :]
        blocks.append(products.reshape(len(treatments), -1))
    design = np.hstack(blocks)
    return bool(np.linalg.matrix_rank(design) == design.shape[1])


def _indicators(treatments: Sequence[Treatment], factor: str) -> np.ndarray:
    """Treatments x (levels - 1): 1 where the treatment has that level."""
    levels = list(dict.fromkeys(t.levels.get(factor) for t in treatments))
    return np.array([[float(t.levels.get(factor) == v) for v in levels[1:]] for t in treatments])


def _fit(
    known: Sequence[tuple[Treatment, Sample]],
    factors: Sequence[str],
    pairs: Sequence[tuple[str, str]],
) -> _Fit | None:
    """Sums of squares with degrees of freedom, by term; None where nothing is left as error."""
    # Slow to import: only for such studies, and not by statsmodels' collected interfaces.
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.anova import anova_lm

    ols = OLS.from_formula
    frame = _frame(known, factors)
    names = {factor: f"C(f{i})" for i, factor in enumerate(factors)}
    words = {names[f]: f for f in factors}
    words |= {f"{names[a]}:{names[b]}": f"{a} x {b}" for a, b in pairs}
    blocks = "C(block) + " if _blocked(frame) else ""
    model = ols(f"y ~ {blocks}{' + '.join(words)}", frame).fit(method="qr")
    pure = ols(f"y ~ {blocks}C(treatment)", frame).fit(method="qr")
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
    """One row per trial: log time, block, treatment, factors under safe names."""
    import pandas as pd

    rows = [
        {
            "y": float(np.log(value)),
            "block": f"r{number}",
            "treatment": treatment.id,
            **{f"f{i}": str(treatment.levels.get(f)) for i, f in enumerate(factors)},
        }
        for treatment, sample in known
        for value, number in zip(sample.values, sample.rounds, strict=True)
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
    if error <= 1e-20:  # equal numbers: what rounding left is no error
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
        terms=terms,
        interactions=bool(pairs),
        blocks_df=fit.blocks[1],
        blocks_sum_sq=fit.blocks[0],
        error=mean,
        error_df=error_df,
        error_from="repetition" if fit.repeated else "interactions",
    )


def _f(mean_square: float, error: float) -> float:
    """The F ratio; infinite if there is an effect and no error at all."""
    if error > 0:
        return mean_square / error
    return float("inf") if mean_square > 1e-20 else 0.0
