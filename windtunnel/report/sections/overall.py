"""Section "Overall": every treatment against the baseline over several workloads."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis import Analysis
from windtunnel.analysis.normalised import Score, scores
from windtunnel.analysis.words import percent, percent_interval, plural
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """Scores over the workloads; None for a single workload or without a baseline treatment."""
    found = analysis.once(_scores)
    if not found:
        return None
    names = ", ".join(found[0].workloads)
    return Section(
        id="overall",
        title="Overall",
        lead=f"Time against the treatment {found[0].baseline}, geometric mean over {names}",
        said=[_sentence(score) for score in found],
        tables=[_table(found)],
        hint="A score is the geometric mean of the ratios of elapsed times, every workload with "
        "the same weight; an arithmetic mean of ratios would depend on the choice of the "
        "baseline and is never taken. p is corrected over the treatments by Holm.",
        data=[{**asdict(score), "distinguishable": score.distinguishable} for score in found],
    )


def _scores(analysis: Analysis) -> list[Score]:
    return scores(analysis.study, analysis.table, list(analysis.phases))


def _sentence(score: Score) -> str:
    over = plural(len(score.workloads), "workload")
    size = f"{percent(score.ratio - 1)} {_span(score)}"
    if score.distinguishable:
        return f"{score.treatment} takes {size} of time over {over}"
    if score.distinguishable is None:
        return f"{score.treatment}: {size} over {over}, the spread is unknown"
    return f"{score.treatment}: no difference found over {over}, {size}"


def _span(score: Score) -> str:
    if score.low is None or score.high is None:
        return "interval unknown"
    return percent_interval(score.low - 1, score.high - 1, score.ratio - 1)


def _table(found: list[Score]) -> Table:
    rows = [
        [
            score.treatment,
            f"{score.ratio:.3f}",
            "unknown" if score.low is None else f"{score.low:.3f} to {score.high:.3f}",
            str(score.n),
            "unknown" if score.p_adjusted is None else f"{score.p_adjusted:.2g}",
        ]
        for score in found
    ]
    strong = frozenset(place for place, score in enumerate(found) if score.distinguishable)
    names = ("treatment", "score", "95 % interval", "n", "p corrected")
    return Table("Scores over all workloads (below 1: faster)", column(*names), rows, strong)
