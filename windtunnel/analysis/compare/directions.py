"""Whether less or more of a metric is better; None where it only differs."""

from __future__ import annotations

from typing import Literal

Direction = Literal["less", "more"]

_BY_NAME: dict[str, Direction] = {
    "failed_attempts": "less",
    "killed_attempts": "less",
    "energy_delay": "less",
    "price": "less",
    "utilisation": "more",
}
_BY_UNIT: dict[str, Direction] = {"s": "less", "ms": "less", "J": "less", "Wh": "less"}
_BY_UNIT |= {"kWh": "less", "J.s": "less", "J*s": "less"}


def direction_of(metric: str, unit: str) -> Direction | None:
    """Times and energy: less is better; rates: more is better; counts, bytes, watts: neither.

    A disk that reads more bytes is neither better nor worse, and power without the time that
    it was drawn for says nothing: such metrics only differ.
    """
    if metric in _BY_NAME:
        return _BY_NAME[metric]
    if unit in _BY_UNIT:
        return _BY_UNIT[unit]
    return "more" if unit.endswith("/s") else None
