"""Rule on what was recorded beside the trials: what cannot be read is said, not passed over."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.words import listed, plural


def unreadable(evidence: Evidence) -> Iterator[ReportWarning]:
    """A file with tasks or samples is gone or damaged: tails and bottlenecks lack its trial."""
    for holds in dict.fromkeys(lost.holds for lost in evidence.unreadable):
        those = [lost for lost in evidence.unreadable if lost.holds == holds]
        names = [f"{lost.trial}: {'missing' if lost.missing else 'damaged'}" for lost in those]
        yield ReportWarning(
            id="records-unreadable",
            severity="caution",
            text=f"the {holds} of {plural(len(those), 'trial')} cannot be read: {listed(names)}",
            advice="restore the files from a copy of the folder; until then what the report says "
            "of tasks, bottlenecks and utilisation rests on the other trials.",
        )
