"""Rules on the task attempts of the jobs."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import plural
from windtunnel.results.record import Trial

_SPECULATIVE = "speculative_attempts"


def speculation(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: speculative attempts repeat work in some trials. Trials with a fault are exempt."""
    counts = [
        count
        for trial in evidence.counted
        if not trial.faults and (count := _speculative(trial)) is not None
    ]
    hit = [count for count in counts if count]
    if not evidence.measured or not hit:
        return
    yield ReportWarning(
        id="speculation",
        rule=8,
        severity="note",
        text=f"two attempts of a task ran at the same time in {len(hit)} of "
        f"{plural(len(counts), 'trial')} (at most {max(hit):.0f} such tasks in a trial): the times "
        "include repeated work",
        advice="unless the study is about speculation, set mapreduce.map.speculative and "
        "mapreduce.reduce.speculative to false.",
    )


def _speculative(trial: Trial) -> float | None:
    """The speculative attempts of all phases; None if no phase has the metric."""
    phases = [phase.metrics for phase in trial.phases if _SPECULATIVE in phase.metrics]
    return sum(metrics[_SPECULATIVE].value for metrics in phases) if phases else None
