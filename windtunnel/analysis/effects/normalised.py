"""Scores over several workloads: geometric means of ratios to the baseline, never arithmetic.

An arithmetic mean of normalised times depends on the reference, so that either of two systems
can appear to be the faster one (Fleming & Wallace 1986, see ``effects.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import are_printed, baseline_of, effect, model_errors
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.correction import holm
from windtunnel.analysis.statistics.summary import ALPHA
from windtunnel.results.record import StudyRecord


@dataclass(frozen=True, slots=True)
class Score:
    """A treatment against the baseline treatment over all workloads.

    ``ratio`` is the geometric mean over the workloads of the ratio of (geometric) mean elapsed
    times, below 1 for faster; ``low`` .. ``high`` its 95 % interval on the log scale, None
    where the spread is unknown. Every workload weighs the same.
    """

    treatment: str
    baseline: str
    workloads: tuple[str, ...]
    ratio: float
    low: float | None
    high: float | None
    n: int
    method: str
    p: float | None
    p_adjusted: float | None

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference from the baseline is detected, corrected over the treatments."""
        return None if self.p_adjusted is None else self.p_adjusted < ALPHA


def baseline_treatment(study: StudyRecord) -> str | None:
    """The treatment with every factor at its baseline level; None if the design has none."""
    levels = {f: baseline_of(study, f) for f, given in study.factors.items() if given}
    return next((t.id for t in study.treatments if t.levels == levels), None)


def scores(
    study: StudyRecord, table: Mapping[Key, Sample], workloads: Sequence[str]
) -> list[Score]:
    """One score per treatment that ran all workloads; none for a single workload."""
    baseline = baseline_treatment(study)
    if len(workloads) < 2 or baseline is None:
        return []
    made = [
        score
        for t in study.treatments
        if t.id != baseline and (score := _score(table, t.id, baseline, workloads)) is not None
    ]
    places = [i for i, score in enumerate(made) if score.p is not None]
    for place, p in zip(places, holm([made[i].p or 0.0 for i in places]), strict=True):
        made[place] = replace(made[place], p_adjusted=p)
    return made


def _score(
    table: Mapping[Key, Sample], treatment: str, baseline: str, workloads: Sequence[str]
) -> Score | None:
    sides = []
    for workload in workloads:
        ours = table.get((treatment, workload, TOTAL, ELAPSED))
        base = table.get((baseline, workload, TOTAL, ELAPSED))
        if ours is None or base is None:
            return None
        sides.append((ours, base))
    about = ("treatment", treatment, baseline, "all workloads", TOTAL, ELAPSED, "s")
    pairs, paired = compared(sides)
    model, printed = model_errors(sides), are_printed(sides)
    e = effect(about, pairs, paired=paired, model=model, printed=printed)
    if e.relative is None:
        return None
    return Score(
        treatment=treatment,
        baseline=baseline,
        workloads=tuple(workloads),
        ratio=1 + e.relative,
        low=None if e.ci_low is None else 1 + e.ci_low,
        high=None if e.ci_high is None else 1 + e.ci_high,
        n=min(e.n, e.n_baseline),
        method=e.method,
        p=e.p,
        p_adjusted=None,
    )
