"""Rule on containers that started a new JVM in trials with warm starts."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed
from windtunnel.results.record import Trial


def stock_starts(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: with warm starts, all containers start warm. Trials with a fault are exempt.

    Only trials with warm starts have the metric.
    """
    names = [
        f"{trial.id} ({evidence.place(trial.treatment.id, trial.workload)}: "
        f"{stock:.0f} of {stock + warm:.0f} containers)"
        for trial in evidence.counted
        if not trial.faults
        for warm, stock in [(_total(trial, "warm_starts"), _total(trial, "stock_starts"))]
        if stock
    ]
    if evidence.measured and names:
        yield ReportWarning(
            id="stock-starts",
            rule=8,
            severity="caution",
            text=f"containers started a new JVM in trials with warm starts: {listed(names)}",
            advice="such tasks take longer, and the job may wait for them. The file pool.log "
            "of each host states the reason. If it is 'none left', increase software.warm_jvms. If "
            "it is 'no JVM of its kind', the job sets JVM options that are not in the study: add "
            "them to its settings.",
        )


def _total(trial: Trial, name: str) -> float:
    return sum(phase.metrics[name].value for phase in trial.phases if name in phase.metrics)
