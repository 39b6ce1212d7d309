"""Section "Overall score": each treatment against the baseline over several workloads."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.normalised import Score, scores
from windtunnel.analysis.formatting import plural, with_interval
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import without_unknown


def section(analysis: Analysis) -> Section | None:
    """Scores over the workloads; None for a single workload or without a baseline treatment."""
    found = analysis.once(_scores)
    if not found:
        return None
    names = ", ".join(found[0].workloads)
    return Section(
        id="overall",
        title="Overall score",
        lead=f"Elapsed time relative to the treatment {analysis.name(found[0].baseline)}, "
        f"geometric mean over {names}"
        + ("" if any(s.low is not None for s in found) else "; the spread is unknown"),
        said=[_sentence(analysis, score) for score in found],
        tables=[_table(analysis, found)],
        hint="A score is the geometric mean of the ratios of elapsed times; all workloads have "
        "the same weight. An arithmetic mean of ratios would depend on the choice of the "
        "baseline. p values are corrected over the treatments (Holm).",
        data=[{**asdict(score), "distinguishable": score.distinguishable} for score in found],
    )


def _scores(analysis: Analysis) -> list[Score]:
    return scores(analysis.study, analysis.table, list(analysis.phases))


def _sentence(analysis: Analysis, score: Score) -> str:
    name = analysis.name(score.treatment)
    over = plural(len(score.workloads), "workload")
    size = _size(score)
    if score.distinguishable:
        return f"{name} changes elapsed time by {size} over {over}"
    if score.distinguishable is None:
        return f"{name}: {size} over {over}"
    return f"{name}: no difference detected over {over}, {size}"


def _size(score: Score) -> str:
    low, high = (None if bound is None else bound - 1 for bound in (score.low, score.high))
    return with_interval(score.ratio - 1, low, high, known=False)


def _table(analysis: Analysis, found: list[Score]) -> Table:
    rows = [
        [
            analysis.name(score.treatment),
            f"{score.ratio:.3f}",
            "unknown" if score.low is None else f"{score.low:.3f} to {score.high:.3f}",
            str(score.n),
            "unknown" if score.p_adjusted is None else f"{score.p_adjusted:.2g}",
        ]
        for score in found
    ]
    strong = frozenset(place for place, score in enumerate(found) if score.distinguishable)
    names = ("treatment", "score", "95 % interval", "n", "p corrected")
    made = Table("Scores over all workloads (below 1: faster)", column(*names), rows, strong)
    return without_unknown(made, "95 % interval", "p corrected")
