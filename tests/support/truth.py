"""Made-up numbers with a known truth, put through the program's own statistics.

Each function draws many small studies from a log-normal distribution with a noise (the
standard deviation of the logarithm, about the coefficient of variation) and answers how often
the program was right. Seeds are fixed: the same figures come out every time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.effects.cells import Sample
from windtunnel.analysis.effects.common_rounds import whole_rounds
from windtunnel.analysis.effects.effects import Effect, effect
from windtunnel.analysis.statistics.intervals import bca_intervals, median_interval
from windtunnel.analysis.statistics.summary import summarise

Array = NDArray[np.float64]
ABOUT = ("settings", "tuned", "stock", "terasort", "total", "elapsed", "s")
NOISE = 0.05


@dataclass(frozen=True)
class Drift:
    """What all trials of a round share: a trend per round and a random part (log scale)."""

    per_round: float = 0.0
    by_round: float = 0.0


def draw(
    rng: np.random.Generator, shape: tuple[int, int], noise: float, centre: float = 100.0
) -> Array:
    """Studies x trials, log-normal with this mean (not median)."""
    location = math.log(centre) - noise**2 / 2
    return np.exp(rng.normal(location, noise, shape))


def mean_coverage(n: int, draws: int = 2000, noise: float = NOISE, seed: int = 1) -> float:
    """How often the t interval of a cell holds the true mean."""
    data = draw(np.random.default_rng(seed), (draws, n), noise)
    found = [summarise(row) for row in data]
    return float(np.mean([s.ci_low <= 100.0 <= s.ci_high for s in found]))  # type: ignore[operator]


def bca_coverage(n: int, draws: int = 2000, noise: float = NOISE, seed: int = 1) -> float:
    """How often the BCa interval holds the true mean."""
    data = draw(np.random.default_rng(seed), (draws, n), noise)
    spans = bca_intervals(list(data))
    return float(np.mean([span is not None and span[0] <= 100.0 <= span[1] for span in spans]))


def median_coverage(n: int, draws: int = 2000, noise: float = NOISE, seed: int = 1) -> float:
    """How often the median's interval holds the true median."""
    data = draw(np.random.default_rng(seed), (draws, n), noise)
    middle = 100.0 * math.exp(-(noise**2) / 2)
    spans = [median_interval(list(row)) for row in data]
    return float(np.mean([span is not None and span[0] <= middle <= span[1] for span in spans]))


def effects_of(
    n: int,
    true: float,
    drift: Drift | None = None,
    draws: int = 2000,
    noise: float = NOISE,
    seed: int = 2,
    paired: bool | None = None,
) -> list[Effect]:
    """The effects found in many A/B studies whose true relative effect is ``true``.

    ``paired`` None: the program's own rule decides, as it does in a study of whole rounds.
    """
    rng = np.random.default_rng(seed)
    drift = drift or Drift()
    rounds = list(range(1, n + 1))
    shared = drift.per_round * np.arange(n) + rng.normal(0, drift.by_round, (draws, n))
    base = np.exp(math.log(100) + shared + rng.normal(0, noise, (draws, n)))
    level = np.exp(math.log(100) + math.log1p(true) + shared + rng.normal(0, noise, (draws, n)))
    sample = Sample("s", [], rounds)
    within = whole_rounds([(sample, sample)]) if paired is None else paired
    return [effect(ABOUT, [(a, b)], paired=within) for a, b in zip(level, base, strict=True)]


def coverage(found: list[Effect], true: float) -> float:
    """How often the interval of the relative effect holds the truth."""
    return float(np.mean([e.ci_low <= true <= e.ci_high for e in found]))  # type: ignore[operator]


def detected(found: list[Effect]) -> float:
    """How often a difference was called."""
    return float(np.mean([e.distinguishable is True for e in found]))
