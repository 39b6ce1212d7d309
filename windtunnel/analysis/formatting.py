"""Formatting of numbers: the same for the terminal, the page and the findings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_NO_CHANGE = 1e-9
"""Smaller ratios are rounding errors of the computation."""
_SCALES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def percent(ratio: float | None, *, signed: bool = True) -> str:
    """``-0.312`` as ``-31 %``; one decimal below 10 %; ``unknown`` for None."""
    if ratio is None:
        return "unknown"
    return f"{_percent(ratio, _decimals(ratio), signed)} %"


def percent_interval(
    low: float | None, high: float | None, near: float | None = None, *, signed: bool = True
) -> str:
    """``[-35, -27]`` in percent, with the decimals that ``near`` has; ``unknown`` for None.

    Equal texts of different bounds get more decimals (at most 2), and so does a bound that is not
    zero but would be printed as zero, which would contradict a detected effect.
    """
    if low is None or high is None:
        return "interval unknown"
    decimals = _decimals(near if near is not None else min(abs(low), abs(high)))
    if low != high:
        decimals = max(decimals, _distinguishing(low, high))
    return f"[{_bound(low, decimals, signed)}, {_bound(high, decimals, signed)}]"


def with_interval(
    change: float | None, low: float | None, high: float | None, *, known: bool = True
) -> str:
    """``+31 % [+25, +38]``; ``+31 % interval unknown`` without an interval.

    ``known``: whether any of the numbers shown together has an interval; if none has one, the
    note is omitted.
    """
    if low is None or high is None:
        return f"{percent(change)} interval unknown" if known else percent(change)
    return f"{percent(change)} {percent_interval(low, high, change)}"


def quantity(value: float | None, unit: str, *, signed: bool = False) -> str:
    """A number with three significant digits and its unit, e.g. ``63.2 s``, ``1.07 GB``."""
    if value is None:
        return "unknown"
    sign = "+" if signed and value > 0 else ""
    if unit in ("bytes", "bytes/s"):
        scaled, prefix = _prefix(value)
        return f"{sign}{digits(scaled)} {prefix}B{unit.removeprefix('bytes')}"
    if unit in ("J", "J s"):
        return f"{sign}{_joules(value, unit)}"
    if unit == "count":
        return f"{sign}{digits(value)}" if abs(value) < 10 else f"{sign}{value:,.0f}"
    if unit in ("ratio", "share"):
        return percent(value, signed=signed)
    return f"{sign}{digits(value)} {unit}".rstrip()


def money(amount: float | None, currency: str) -> str:
    """An amount without decimals from 1,000 on, below that with three significant digits."""
    if amount is None:
        return "unknown"
    return f"{amount:,.0f} {currency}" if abs(amount) >= 1000 else f"{digits(amount)} {currency}"


def digits(value: float) -> str:
    """Three significant digits, without an exponent for numbers of usual size."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "unknown"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 6 or magnitude < -4:
        return f"{value:.3g}"
    return f"{value:,.{max(0, 2 - magnitude)}f}"


def listed(names: list[str], limit: int = 4) -> str:
    """``a, b, c and 5 more``; with semicolons if a name contains a comma."""
    between = "; " if any(", " in name for name in names) else ", "
    if len(names) <= limit:
        return between.join(names)
    return f"{between.join(names[:limit])} and {len(names) - limit} more"


def flat(data: Any, path: str = "") -> dict[str, str]:
    """Nested data as path -> text, without null and empty values."""
    if isinstance(data, Mapping):
        rows: dict[str, str] = {}
        for key, value in data.items():
            rows |= flat(value, f"{path}.{key}" if path else str(key))
        return rows
    if data is None or data == [] or data == "":
        return {}
    return {path: data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}


def plural(count: int, noun: str) -> str:
    """``1 trial``, ``3 trials``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _distinguishing(low: float, high: float) -> int:
    """The number of decimals (at most 2) at which the two percentages differ."""
    for decimals in (0, 1):
        if _percent(low, decimals, True) != _percent(high, decimals, True):
            return decimals
    return 2


def _decimals(ratio: float) -> int:
    return 0 if abs(ratio) >= 0.0995 or ratio == 0 else 1


def _bound(ratio: float, decimals: int, signed: bool) -> str:
    """A bound of an interval; ``<+0.01`` or ``>-0.01`` if two decimals show only zeros."""
    if abs(ratio) < _NO_CHANGE:
        return _percent(0.0, decimals, signed)
    for more in range(decimals, 3):
        text = _percent(ratio, more, signed)
        if float(text.lstrip("<>")) != 0:
            return text
    if ratio < 0:
        return ">-0.01"
    return "<+0.01" if signed else "<0.01"


def _percent(ratio: float, decimals: int, signed: bool) -> str:
    if ratio > 99:
        return ">+9900" if signed else ">9900"
    text = f"{ratio * 100:.{decimals}f}"
    zero = float(text) == 0
    if zero:
        return f"{0:.{decimals}f}"
    return f"+{text}" if signed and ratio > 0 else text


def energy_unit(largest: float) -> tuple[str, float]:
    """The unit for energies up to ``largest`` J, and its size in J."""
    return ("kWh", 3.6e6) if abs(largest) >= 3.6e5 else ("kJ", 1e3)


def _joules(value: float, unit: str) -> str:
    """Energy in kWh from 0.1 kWh on; smaller energy and energy-delay products with a prefix."""
    if unit == "J" and energy_unit(value)[0] == "kWh":
        return f"{digits(value / 3.6e6)} kWh"
    scaled, prefix = _prefix(value)
    return f"{digits(scaled)} {prefix}{unit}"


def _prefix(value: float) -> tuple[float, str]:
    for factor, prefix in _SCALES:
        if abs(value) >= factor:
            return value / factor, prefix
    return value, ""
