"""Rules on published results and observed jobs: notes, and that nothing was verified."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed


def as_published(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 5: published numbers are used as they are; a study without any is reported."""
    study = evidence.results.study
    if study.kind != "published":
        return
    where = f" by {listed(study.sources, 2)}" if study.sources else ""
    if not evidence.results.trials:
        yield ReportWarning(
            id="published-nothing",
            rule=5,
            severity="serious",
            text=f"no published result{where} can be analysed",
            advice="read the notes of the study below, or run the study.",
        )
    else:
        yield ReportWarning(
            id="published-as-is",
            rule=5,
            severity="note",
            text=f"the numbers are as published{where}: the output was not verified by Windtunnel",
            advice="run 'windtunnel review' with the same source to check the numbers for "
            "contradictions.",
        )
    for note in study.notes:
        yield ReportWarning(
            id="published-note",
            severity="note",
            text=note.rstrip("."),
            advice="consider this when you use these numbers.",
        )


def as_observed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rules 1 and 5: observed jobs were neither planned in random order nor verified."""
    if evidence.results.study.kind == "observed":
        yield ReportWarning(
            id="observed",
            rule=5,
            severity="caution",
            text="the jobs were observed: nobody planned their order or settings, and their "
            "output was not verified",
            advice="measure an associated setting in a study with random order, such as "
            "proposed-study.yaml in the results folder, if there is one.",
        )
