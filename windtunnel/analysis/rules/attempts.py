"""Rules on the task attempts of the jobs."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import plural
from windtunnel.results.record import Trial

_KILLED = "killed_attempts"


def killed_attempts(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: speculative attempts repeat work in some trials. Trials with a fault are exempt."""
    counts = [
        count
        for trial in evidence.counted
        if not trial.faults and (count := _killed(trial)) is not None
    ]
    hit = [count for count in counts if count]
    if not evidence.measured or not hit:
        return
    yield ReportWarning(
        id="attempts-killed",
        rule=8,
        severity="note",
        text=f"task attempts were killed in {len(hit)} of {plural(len(counts), 'trial')} (at most "
        f"{max(hit):.0f} in a trial): speculation started a task twice, or the scheduler preempted "
        "it, so the times include repeated work",
        advice="unless the study is about speculation or queues, set mapreduce.map.speculative and "
        "mapreduce.reduce.speculative to false.",
    )


def _killed(trial: Trial) -> float | None:
    """The killed attempts of all phases; None if no phase has the metric."""
    found = [phase.metrics[_KILLED].value for phase in trial.phases if _KILLED in phase.metrics]
    return sum(found) if found else None
