"""Pareto front: which points no other point beats in everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def dominators(points: Sequence[Sequence[float]]) -> list[list[int]]:
    """For each point, those that are nowhere worse (larger) and somewhere better; [] on the front.

    ``points`` holds one row per point and one column per objective, each to be minimised.
    """
    table = np.asarray(points, dtype=float)
    found = []
    for row in table:
        better = (table <= row).all(axis=1) & (table < row).any(axis=1)
        found.append([int(i) for i in np.flatnonzero(better)])
    return found
