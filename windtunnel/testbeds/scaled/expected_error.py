"""The expected error of the ratios of a model, from its differences to the full size.

The terms are estimates from earlier models. They rank scales for a proposal; no result uses them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from windtunnel.testbeds.base import Load
from windtunnel.testbeds.scaled.similarity import (
    fixed_cpu_shares,
    imbalance,
    start_shares,
    waves,
)
from windtunnel.testbeds.scaled.sizes import Size

# TeraSort at 1 Gb/s with maps in one wave was 52 % slower, relative to 10 Gb/s, than published
# (docs/scale-results.md): no reduce task can copy while the only wave runs.
ONE_WAVE = 0.5
# In simulations, ratios of models with one slot per host were 10 to 25 % off, with four slots 3 to
# 4 % (field notes).
ONE_SLOT = 0.15
# TeraSort in a model with five workers took 272 s with six reduce tasks, 1.67 times the mean on one
# worker, and 187 s with five (one trial each; at full size 96 tasks, 1.04 times the mean).
UNEQUAL_REDUCES = 0.7
# The error of a model without these differences: ratios of TeraGen in a model, which its NICs limit
# as at full size, are 4 and 20 % off the published ones (docs/scale-results.md). This is their root
# mean square.
LEAST = 0.15


def expected_error(loads: Sequence[Load], full: Size, model: Size) -> Mapping[str, float]:
    """The terms of the workload with the largest error, as fractions of a ratio.

    ``start-up``: the difference of its fractions of the task time, which dilutes every effect.
    ``fixed CPU``: the difference of the fractions of the CPU time that do not depend on the data.
    ``waves``: copying that cannot overlap with maps, in inverse proportion to the waves.
    ``reduces``: workers with more reduce tasks than others, for which the job waits.
    ``slots``: few slots per host cannot balance their load.
    ``other``: what remains in a model that differs in none of these.
    """
    found: list[Mapping[str, float]] = [
        _terms(load, full, model) for load in loads if load.tasks and load.data_bytes
    ]
    return max(found, key=total, default={})


def total(terms: Mapping[str, float]) -> float:
    """The terms combined as independent errors."""
    return math.hypot(*terms.values())


def _terms(load: Load, full: Size, model: Size) -> Mapping[str, float]:
    shares, fixed = start_shares(load, full, model), fixed_cpu_shares(load, full, model)
    slots = [max(1, size.tasks.slots) for size in (full, model)]
    found = {
        "other": LEAST,
        "start-up": abs(shares[1] - shares[0]),
        "fixed CPU": abs(fixed[1] - fixed[0]),
        "slots": ONE_SLOT * max(0.0, 1 / slots[1] - 1 / slots[0]),
    }
    if not load.writers:
        several = [max(1.0, number) for number in waves(load, full, model)]
        found["waves"] = ONE_WAVE * max(0.0, 1 / several[1] - 1 / several[0])
        unequal = [number or 1.0 for number in imbalance(load, full, model)]
        found["reduces"] = UNEQUAL_REDUCES * max(0.0, unequal[1] / unequal[0] - 1)
    return found
