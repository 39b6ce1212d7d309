"""Rule on containers that started a new JVM in trials with warm starts."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed
from windtunnel.results.record import Trial


def stock_starts(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: with warm starts, all containers start warm. Trials with a fault are exempt."""
    names = [
        f"{trial.id} ({evidence.place(trial.treatment.id, trial.workload)}: "
        f"{stock:.0f} of {stock + warm:.0f} containers)"
        for trial in evidence.counted
        if not trial.faults
        for warm, stock in [(_total(trial, "warm_starts"), _total(trial, "stock_starts"))]
        if warm and stock
    ]
    if evidence.measured and names:
        yield ReportWarning(
            id="stock-starts",
            rule=8,
            severity="caution",
            text=f"some containers started a new JVM although others started warm: {listed(names)}",
            advice="such tasks take longer, and the job may wait for them. Increase "
            "software.warm_jvms, as far as the memory of the machine permits.",
        )


def _total(trial: Trial, name: str) -> float:
    return sum(phase.metrics[name].value for phase in trial.phases if name in phase.metrics)
