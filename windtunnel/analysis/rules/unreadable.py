"""Rule on the files of the trials: files that cannot be read are reported."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed, plural


def unreadable(evidence: Evidence) -> Iterator[ReportWarning]:
    """A file with tasks or samples is missing or damaged: tails and bottlenecks lack the trial."""
    for holds in dict.fromkeys(lost.holds for lost in evidence.unreadable):
        those = [lost for lost in evidence.unreadable if lost.holds == holds]
        names = [f"{lost.trial}: {'missing' if lost.missing else 'damaged'}" for lost in those]
        yield ReportWarning(
            id="records-unreadable",
            severity="caution",
            text=f"the {holds} of {plural(len(those), 'trial')} cannot be read: {listed(names)}",
            advice="restore the files from a backup; until then, tasks, bottlenecks and "
            "utilisation in the report are those of the other trials.",
        )
