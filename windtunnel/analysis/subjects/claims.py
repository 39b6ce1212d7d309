"""Claims of a published study against what was measured and predicted here: the verdicts.

All numbers are ratios: the amount of the treatment divided by that of its baseline. The rule is
fixed before anything is measured (docs/reproduce.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import plural
from windtunnel.analysis.statistics.summary import CONFIDENCE, Contrast, contrast

Grade = Literal[
    "same size",
    "same direction",
    "contradicted",
    "cannot be tested here",
    "not decided",
    "not measured yet",
]
GRADES: tuple[Grade, ...] = (
    "same size",
    "same direction",
    "contradicted",
    "cannot be tested here",
    "not decided",
    "not measured yet",
)
CANNOT: Grade = "cannot be tested here"
NO_EFFECT = 1.03
"""Published ratios nearer to 1 are "no effect": single published points scatter by 1.3 to 5 %."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A ratio with its 95 % interval; ``n`` and ``n_baseline`` are trials, 0 for predictions.

    ``bottleneck`` names the resource that binds the treatment and the baseline, if it is known;
    ``note`` restricts the number (outside the fitted range, load of the machine).
    """

    ratio: float
    low: float | None
    high: float | None
    n: int = 0
    n_baseline: int = 0
    source: str = ""
    bottleneck: str = ""
    note: str = ""

    @property
    def fewest(self) -> int:
        """The trials of the side with fewer of them, which decides whether there is an interval."""
        return min(self.n, self.n_baseline or self.n)

    @property
    def words(self) -> str:
        """``x0.83 [0.79, 0.88]``, with the number of trials if there is only one."""
        text = f"x{self.ratio:.3g}"
        if self.low is not None and self.high is not None:
            return f"{text} [{self.low:.3g}, {self.high:.3g}]"
        return f"{text} (n = {self.fewest})" if self.n else f"{text} (no interval)"


@dataclass(frozen=True, slots=True)
class Row:
    """One claim with its evidence and its verdict.

    ``based_on`` is the evidence that decided the grade: ``measured``, ``predicted`` or empty.
    ``deviations`` are the differences between the study and the measurement here. ``withheld``
    states that the published number is not in this catalogue. If it is False and there is no
    published ratio, a ratio cannot express the claim.
    """

    id: str
    topic: str
    says: str
    source: str
    published: float | None
    tolerance: float
    measured: Evidence | None
    predicted: Evidence | None
    cannot: str
    command: str
    grade: Grade
    based_on: str
    reason: str = ""
    deviations: Sequence[str] = field(default=())
    withheld: bool = False


def grade(published: float, tolerance: float, found: Evidence) -> Grade:
    """The verdict of one piece of evidence on a published ratio.

    Parameters
    ----------
    published:
        The published ratio, above 0.
    tolerance:
        The band of "same size" reaches from ``published / (1 + tolerance)`` to
        ``published * (1 + tolerance)``.
    found:
        The ratio; without an interval the result is "not decided".
    """
    if found.low is None or found.high is None:
        return "not decided"
    bottom, top = published / (1 + tolerance), published * (1 + tolerance)
    side = 0 if 1 / NO_EFFECT <= published <= NO_EFFECT else math.copysign(1, published - 1)
    here = 1 if found.low > 1 else -1 if found.high < 1 else 0
    if side and here == -side:
        return "contradicted"
    inside = bottom <= found.low and found.high <= top
    if side and (found.ratio - 1) * side <= 0:
        inside = False  # an effect in the other direction is not of the same size
    if inside or (bottom <= found.ratio <= top and here and here == side):
        return "same size"
    if side and here == side:
        return "same direction"
    if found.high < bottom or found.low > top:
        return "contradicted"
    return "not decided"


def verdict(
    published: float | None,
    tolerance: float,
    measured: Evidence | None,
    predicted: Evidence | None,
    cannot: str,
) -> tuple[Grade, str, str]:
    """Grade, the evidence that decided, and the reason if no evidence did.

    A measurement decides before a prediction.
    """
    if published is None:
        return CANNOT, "", cannot or "the published value is not in this catalogue"
    for name, found in (("measured", measured), ("predicted", predicted)):
        if found is not None and (made := grade(published, tolerance, found)) != "not decided":
            return made, name, ""
    if measured is not None:
        return "not decided", "", _undecided(measured)
    if not cannot:
        return (
            "not measured yet",
            "",
            "'windtunnel reproduce STUDY --claim CLAIM --run' measures it",
        )
    if predicted is not None:
        return CANNOT, "", f"{cannot}; {_undecided(predicted)}"
    return CANNOT, "", cannot


def _undecided(found: Evidence) -> str:
    if found.low is None:
        if min(found.n, found.n_baseline) > 1:
            return "equal printed values have no interval"
        return "one trial has no interval" if found.n else "the prediction has no interval"
    kind = "interval" if found.n else "predicted interval"
    return f"the {kind} is too wide: it allows several verdicts"


def measured_ratio(
    analysis: Analysis,
    where: tuple[str, str, str],
    treatment: Mapping[str, str],
    baseline: Mapping[str, str],
    source: str = "",
) -> Evidence | None:
    """The ratio of two treatments of a results folder; None unless both have valid trials.

    ``where`` is (workload, phase, metric). ``treatment`` and ``baseline`` are levels; those that
    are not given are the levels of the study's baseline. The interval is Welch's on logarithms.
    """
    names = [
        treatment_id(analysis, {**analysis.study.baseline, **levels})
        for levels in (treatment, baseline)
    ]
    if None in names:
        return None
    samples = [analysis.table.get((str(name), *where)) for name in names]
    if any(sample is None or min(sample.values) <= 0 for sample in samples):
        return None
    logs = [[math.log(value) for value in sample.values] for sample in samples if sample]
    printed = any(sample.printed for sample in samples if sample)
    found = contrast([(1.0, logs[0]), (-1.0, logs[1])], printed=printed)
    return evidence_of(found, n=len(logs[0]), n_baseline=len(logs[1]), source=source)


def evidence_of(
    found: Contrast,
    *,
    n: int = 0,
    n_baseline: int = 0,
    source: str = "",
    bottleneck: str = "",
    note: str = "",
) -> Evidence:
    """A difference of logarithms as a ratio with its interval."""
    span = found.interval(CONFIDENCE)
    return Evidence(
        math.exp(found.estimate),
        None if span is None else math.exp(span[0]),
        None if span is None else math.exp(span[1]),
        n,
        n_baseline,
        source,
        bottleneck,
        note,
    )


def treatment_id(analysis: Analysis, levels: Mapping[str, str]) -> str | None:
    """The id of the treatment with exactly these levels; None if the study has none."""
    for one in analysis.study.treatments:
        if dict(one.levels) == dict(levels):
            return one.id
    return None


def counts(rows: Sequence[Row]) -> str:
    """``114 claims: 30 same size, ...`` in the order of the grades."""
    grades = [row.grade for row in rows]
    said = ", ".join(f"{grades.count(one)} {one}" for one in GRADES if one in grades)
    return f"{plural(len(rows), 'claim')}: {said}" if rows else "no claims"
