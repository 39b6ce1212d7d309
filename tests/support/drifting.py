"""Draws of two folders with known drift, and how often ``compare`` finds a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from windtunnel.analysis.compare.noise import Points, estimate

When = Literal["apart", "back to back", "interleaved"]
TRIAL_S = 100.0


@dataclass(frozen=True)
class Draws:
    """``rounds`` trials in two treatments per folder; ``drift`` is relative, per round.

    ``apart``: each folder starts at a random place of the ramp, up to its own length in.
    ``back to back``: the ramp goes on from the first folder into the second.
    """

    when: When
    rounds: int
    drift: float
    noise: float = 0.05
    effect: float = 0.0
    treatments: int = 2


def share_found(draws: Draws, count: int, seed: int) -> float:
    """The share of ``count`` draws in which the first treatment's difference has p <= 0.05."""
    rng = np.random.default_rng(seed)
    n, k = draws.rounds, draws.treatments
    places = rng.uniform(0, n, (count, 2))
    offset = {"apart": 1e7, "back to back": n * TRIAL_S, "interleaved": TRIAL_S / 2}[draws.when]
    if draws.when != "apart":
        places[:] = (0, offset / TRIAL_S)
    ramp = (np.arange(n) + places[:, :, None]) * draws.drift
    logs = ramp[:, :, None, :] + rng.normal(0, draws.noise, (count, 2, k, n))
    logs[:, 1] += np.log1p(draws.effect)
    ours = tuple(float(t) for t in np.arange(n) * TRIAL_S)
    theirs = tuple(t + offset for t in ours)
    found = 0
    for a, b in logs.tolist():
        first = [Points(tuple(row), ours) for row in a]
        second = [Points(tuple(row), theirs) for row in b]
        p = estimate(first[0], second[0], first[1:], second[1:]).p()
        found += p is not None and p <= 0.05
    return found / count
