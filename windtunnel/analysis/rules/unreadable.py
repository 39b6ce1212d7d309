"""Rule on the files of the trials: files that cannot be read are reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed, plural

_TRACES = "tasks, bottlenecks and utilisation in the report are those of the other trials"
_LACKS: Mapping[str, str] = {
    "task attempts": _TRACES,
    "host samples": _TRACES,
    "provenance": "the software, the settings and the machine of these trials are unknown",
}


def unreadable(evidence: Evidence) -> Iterator[ReportWarning]:
    """A file with tasks, samples or provenance is missing or damaged: the report lacks it."""
    for holds in dict.fromkeys(lost.holds for lost in evidence.unreadable):
        those = [lost for lost in evidence.unreadable if lost.holds == holds]
        names = [f"{lost.trial}: {'missing' if lost.missing else 'damaged'}" for lost in those]
        yield ReportWarning(
            id="records-unreadable",
            severity="caution",
            text=f"the {holds} of {plural(len(those), 'trial')} cannot be read: {listed(names)}",
            advice=f"restore the files from a backup; until then, {_LACKS[holds]}.",
        )
