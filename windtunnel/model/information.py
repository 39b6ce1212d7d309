"""Which measurements would determine the constants of the model best (D-optimal designs)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windtunnel.model.correction import ERROR_PRIOR, Matrix
from windtunnel.model.fit import Batch, Prior
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job
from windtunnel.model.store import shipped_fit

_SWEEPS = 10  # of exchanges; two or three suffice in practice
_GAIN = 1e-9  # in natural logarithms: a smaller one is rounding


def most_informative(rows: Sequence[Sequence[tuple[Hardware, Job]]], number: int) -> list[int]:
    """Places of the treatments whose times determine the constants best, in their order.

    The first treatment is always among them. The others maximise the determinant of the precision
    of the logarithms of the constants, ``P + sum(J'J) / e**2``: P is that of the prior of a new
    cluster, J the derivatives of the logarithms of the times, e the model's error. They are chosen
    one after the other and then exchanged while that helps (Fedorov, Theory of Optimal Experiments,
    1972; Atkinson, Donev and Tobias, Optimum Experimental Designs, 2007, chapters 10 and 12).

    Parameters
    ----------
    rows:
        The phases of each treatment.
    number:
        How many treatments; at most all.
    """
    prior = Prior.of_new_cluster(shipped_fit())
    batch = Batch([row for treatment in rows for row in treatment])
    slopes = batch.slopes(prior.log) / ERROR_PRIOR
    ends = np.cumsum([len(treatment) for treatment in rows])
    blocks = np.split(slopes, ends[:-1])
    precision = np.diag(prior.spread**-2.0)
    taken = [0]
    found = precision + blocks[0].T @ blocks[0]
    while len(taken) < min(number, len(rows)):
        best = int(np.argmax(_gains(found, blocks, taken)))
        taken.append(best)
        found = found + blocks[best].T @ blocks[best]
    for _ in range(_SWEEPS):
        if not _exchanged(found, blocks, taken):
            break
        found = precision + sum(blocks[place].T @ blocks[place] for place in taken)
    return sorted(taken)


def _gains(found: Matrix, blocks: Sequence[Matrix], taken: Sequence[int]) -> Matrix:
    """What each treatment adds to the logarithm of the determinant; -inf for those taken."""
    covariance = np.linalg.inv(found)
    gains = np.array(
        [
            np.linalg.slogdet(np.eye(len(block)) + block @ covariance @ block.T)[1]
            for block in blocks
        ]
    )
    gains[list(taken)] = -np.inf
    return gains


def _exchanged(found: Matrix, blocks: Sequence[Matrix], taken: list[int]) -> bool:
    """Replace one treatment, not the first, by a better one; whether there was one."""
    for place, old in enumerate(taken[1:], start=1):
        without = found - blocks[old].T @ blocks[old]
        gains = _gains(without, blocks, [one for one in taken if one != old])
        best = int(np.argmax(gains))
        if gains[best] > gains[old] + _GAIN:
            taken[place] = best
            return True
    return False
