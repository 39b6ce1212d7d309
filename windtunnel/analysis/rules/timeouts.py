"""Rule on runs that were stopped at a time limit."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed, plural
from windtunnel.analysis.observations import stopped


def timeouts(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 5: a time limit is no measured time."""
    names = [
        f"{trial.id} ({evidence.place(trial.treatment.id, trial.workload)})"
        for trial in evidence.counted
        if any(map(stopped, (trial.metrics, *(phase.metrics for phase in trial.phases))))
    ]
    if names:
        yield ReportWarning(
            id="timeouts",
            rule=5,
            severity="caution",
            text=f"{plural(len(names), 'run')} did not finish: {listed(names, 5)}",
            advice="their times are lower bounds and are not averaged: treatments whose other runs "
            "finished look faster than they are.",
        )
