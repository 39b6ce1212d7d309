"""A designed choice of few treatments from many."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from windtunnel.model.correction import features
from windtunnel.model.fit import Point


def sampled(points: Sequence[Point], number: int, seed: int) -> list[Point]:
    """The points of ``number`` treatments that are far from each other.

    The first is drawn by ``seed``, each further one is the farthest from those before it in the
    logarithms of hardware and data (Kennard and Stone, Technometrics 11, 1969).
    """
    names = list(dict.fromkeys(point.treatment for point in points))
    if number >= len(names):
        return list(points)
    rows = {name: np.zeros(0) for name in names}
    for point in points:
        if not len(rows[point.treatment]):
            rows[point.treatment] = np.array(features(point.hardware, point.job))
    taken = [random.Random(seed).choice(names)]
    while len(taken) < number:
        distance = {
            name: min(float(np.linalg.norm(rows[name] - rows[other])) for other in taken)
            for name in names
            if name not in taken
        }
        taken.append(max(distance, key=lambda name: distance[name]))
    return [point for point in points if point.treatment in taken]
