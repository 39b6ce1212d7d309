"""Section "Warnings": the rules of trust that are not met, and advice."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import plural
from windtunnel.report.sections.base import Note, Section


def section(analysis: Analysis) -> Section:
    """The warnings, the serious warnings first."""
    found = analysis.warnings
    if not found:
        kept = "no warnings: the study passed all checks of the report"
        if not analysis.trials:
            kept = "nothing was checked: there is no trial"
        return Section(id="warnings", title="Warnings", said=[kept], data=[], group="trust")
    counts = Counter(warning.severity for warning in found)
    count = plural(len(found), "warning")
    serious = f", {counts['serious']} of them serious" if counts["serious"] else ""
    return Section(
        id="warnings",
        title="Warnings",
        notes=[Note(w.id, w.severity, w.text, w.advice, w.rule) for w in found],
        data=[asdict(warning) for warning in found],
        group="trust",
        brief=f"{count}{serious}. First: {found[0].text}",
    )
