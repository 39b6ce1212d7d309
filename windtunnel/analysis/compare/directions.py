"""Whether a lower or a higher value of a metric is better; None if neither is."""

from __future__ import annotations

from windtunnel.results.metrics import Direction, describe

__all__ = ["Direction", "direction_of"]


def direction_of(metric: str, unit: str) -> Direction | None:
    """The direction from the catalogue of metrics; for other metrics from the unit.

    Lower is better for times and energy, higher is better for rates; for counts, bytes and watts
    neither is. More bytes read from a disk are neither better nor worse, and power has no meaning
    without its duration: the verdict on such metrics is only that they differ.
    """
    return describe(metric, unit).better
