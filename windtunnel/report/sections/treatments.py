"""Section "Treatments": all levels of each treatment."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.results.record import StudyRecord


def section(analysis: Analysis) -> Section | None:
    """The levels of each treatment; None for a single factor."""
    study = analysis.study
    if len(study.factors) < 2:
        return None
    factors = list(study.factors)
    rows = [
        [
            analysis.name(treatment.id),
            *(treatment.levels.get(factor, "unknown") for factor in factors),
        ]
        for treatment in study.treatments
    ]
    return Section(
        id="treatments",
        title="Treatments",
        lead=_lead(study),
        tables=[
            Table(
                "Levels of each treatment",
                [Column(n) for n in ("treatment", *factors)],
                rows,
                folded=True,
            )
        ],
        group="trials",
        data=[{"id": t.id, "levels": t.levels} for t in study.treatments],
    )


def _lead(study: StudyRecord) -> str:
    named = ", ".join(f"{factor} = {level}" for factor, level in study.baseline.items())
    return f"Baseline: {named}" if named else ""
