"""Steps of this machine's clock, which make wrong times of a trial."""

from __future__ import annotations

import time
from typing import Final

LARGEST_STEP_S: Final = 1.0
"""A smaller difference can also come from a busy machine between the two readings."""


class ClockSteps:
    """Compares the clock of this machine with a clock that is never set, from now on."""

    def __init__(self) -> None:
        self._began = self._difference()

    @staticmethod
    def _difference() -> float:
        return time.time() - time.monotonic()

    def step_s(self) -> float:
        """Seconds by which the clock was set forward, or the machine was suspended.

        Negative if the clock was set back; 0.0 if the step is at most :data:`LARGEST_STEP_S`.
        """
        step_s = self._difference() - self._began
        return step_s if abs(step_s) > LARGEST_STEP_S else 0.0
