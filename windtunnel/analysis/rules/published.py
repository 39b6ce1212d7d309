"""Rules on results that others published: what is known of them, and that nothing was verified."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.words import listed


def as_published(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 5: published numbers are taken as they are; a study without any is told plainly."""
    study = evidence.results.study
    if study.kind != "published":
        return
    where = f" by {listed(study.sources, 2)}" if study.sources else ""
    if not evidence.results.trials:
        yield ReportWarning(
            id="published-nothing",
            rule=5,
            severity="serious",
            text=f"no result was published{where} that can be analysed",
            advice="read what the study notes below; measure it yourself to know more.",
        )
    else:
        yield ReportWarning(
            id="published-as-is",
            rule=5,
            severity="note",
            text=f"the numbers are as published{where}: their output was not verified here",
            advice="'windtunnel review' with the same source checks them against each other.",
        )
    for note in study.notes:
        yield ReportWarning(
            id="published-note",
            severity="note",
            text=note.rstrip("."),
            advice="keep it in mind when you use these numbers.",
        )
