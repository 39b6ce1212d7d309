"""The cells whose elapsed times vary by more than a limit: the criterion for extra rounds.

The runner selects the cells of the next extra round with it, and the report states with it whether
extra rounds are missing.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable

from windtunnel.results.record import Trial

Cell = tuple[str, str]
"""Workload and id of the treatment."""


def noisy_cells(trials: Iterable[Trial], limit: float, rounds: Collection[int]) -> list[Cell]:
    """The cells in which a phase or the total varies by more than the limit in these rounds.

    ``limit`` is a coefficient of variation. A time whose mean is 0 s has none and is not judged.
    """
    cells: dict[tuple[str, str, str], list[float]] = {}
    for trial in trials:
        if trial.verdict.valid and trial.round in rounds:
            times = {p.name: p.elapsed_s for p in trial.phases if not p.beside}
            for name, elapsed_s in (times | {"": sum(times.values())}).items():
                key = (trial.workload, trial.treatment.id, name)
                cells.setdefault(key, []).append(elapsed_s)
    noisy = [
        (workload, treatment)
        for (workload, treatment, _), times in cells.items()
        if len(times) > 1 and statistics.stdev(times) > limit * statistics.fmean(times)
    ]
    return list(dict.fromkeys(noisy))
