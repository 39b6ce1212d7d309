"""Selection of the cells that need extra rounds because of their variation (rule of trust 3)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Iterator

from windtunnel.results.record import Trial
from windtunnel.study.protocol import Protocol

Cell = tuple[str, str]
"""Workload and id of the treatment."""


def extra_passes(
    protocol: Protocol, rounds: int, trials: Callable[[], Iterable[Trial]]
) -> Iterator[tuple[int, list[Cell]]]:
    """Number and cells of each extra round; the caller runs each round before the next one.

    Parameters
    ----------
    rounds:
        Number of rounds of all cells.
    trials:
        Called before each extra round; returns the trials so far.
    """
    limit = protocol.variation_limit
    if protocol.retest == "noisy cells":
        for number in range(rounds + 1, rounds + 1 + protocol.extra_rounds):
            cells = noisy_cells(trials(), limit, range(1, number))
            if not cells:
                return
            yield number, cells
        return
    for start in range(rounds + 1, protocol.extra_rounds + 2, rounds):
        # the procedure of 2014 judges only the last set of runs; the earlier trials are kept too
        cells = noisy_cells(trials(), limit, range(start - rounds, start))
        if not cells:
            return
        for number in range(start, start + rounds):
            yield number, cells


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
