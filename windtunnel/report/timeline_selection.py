"""Selection of the trials whose timelines are on the page: all, or some of a large study."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.analysis.analyse import Analysis, TrialRow
from windtunnel.analysis.observations import TOTAL

TRIALS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """A trial and the reason for its selection."""

    trial: TrialRow
    why: str


def choose(analysis: Analysis, limit: int = TRIALS_SHOWN) -> list[Choice]:
    """At most ``limit`` trials, in the order of execution.

    All trials of a small study. Of a large one, in this order: medians of treatments up to half
    of the limit, the slowest valid trial, invalid trials, trials that a fault ended, and the
    other medians.
    """
    trials = analysis.trials
    if len(trials) <= limit:
        return [Choice(trial, "") for trial in trials]
    picked: dict[str, Choice] = {}
    valid = [t for t in trials if t.verdict == "valid" and TOTAL in t.elapsed]
    medians = [Choice(t, "median of its treatment") for t in _medians(valid)]
    slowest = sorted(valid, key=lambda t: -t.elapsed[TOTAL])[:1]
    queue = medians[: limit // 2]
    queue += [Choice(t, "slowest") for t in slowest]
    queue += [Choice(t, "invalid") for t in trials if t.verdict == "invalid"]
    counted = ("valid", "invalid", "warm-up")
    queue += [Choice(t, t.verdict) for t in trials if t.verdict not in counted]
    queue += medians[limit // 2 :]
    for choice in queue:
        if len(picked) < limit:
            picked.setdefault(choice.trial.id, choice)
    return sorted(picked.values(), key=lambda choice: choice.trial.order)


def _medians(valid: list[TrialRow]) -> list[TrialRow]:
    """The trial with the (lower) median elapsed time of each workload and treatment."""
    groups: dict[tuple[str, str], list[TrialRow]] = {}
    for trial in valid:
        groups.setdefault((trial.workload, trial.treatment), []).append(trial)
    return [
        sorted(group, key=lambda t: t.elapsed[TOTAL])[(len(group) - 1) // 2]
        for group in groups.values()
    ]
