"""Selection of the cells that need extra rounds because of their variation (rule of trust 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from windtunnel.results.noisy_cells import Cell, noisy_cells
from windtunnel.results.record import Trial
from windtunnel.study.protocol import Protocol


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
