"""Pareto front: the points that no other point dominates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def dominators(points: Sequence[Sequence[float]]) -> list[list[int]]:
    """For each point, the points that dominate it; an empty list for a point on the front.

    A point dominates another one if it is smaller in one objective and larger in none.

    ``points`` holds one row per point and one column per objective, each to be minimised.
    """
    table = np.asarray(points, dtype=float)
    found = []
    for row in table:
        better = (table <= row).all(axis=1) & (table < row).any(axis=1)
        found.append([int(i) for i in np.flatnonzero(better)])
    return found
