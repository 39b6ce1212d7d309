"""Cells of a spreadsheet as metrics: a number with its unit, or a number and the column's unit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache

from windtunnel.cluster.quantity import (
    QuantityError,
    parse_bytes,
    parse_duration,
    parse_power,
    parse_rate,
)
from windtunnel.results.record import Metric

_KINDS: tuple[tuple[str, Callable[[object], float]], ...] = (
    ("s", parse_duration),
    ("bytes", parse_bytes),
    ("bytes/s", parse_rate),
    ("W", parse_power),
)
_ENERGY = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6}
_SHARES = {"%": 0.01, "ratio": 1.0}
_MIDNIGHT = re.compile(r"^(\d{4}-\d\d-\d\d)[ T]24:00(:00(\.0+)?)?")
_LONG = re.compile(r"\d{9,}(\.\d*)?$")
_MOST_EPOCH_S = 1e11  # the year 5138; as milliseconds, it is 1973
_PLAIN = {"bytes": "B", "bytes/s": "B/s"}


def metric(text: str, unit: str | None) -> Metric:
    """``("3.5 h", None)`` or ``("3.5", "h")`` as 12600 s.

    Durations are converted to seconds, sizes to bytes, rates to bytes/s, energies to joules, and
    ``%`` to a ratio. Any other ``unit`` is kept, and the cell must then be a plain number.

    Raises
    ------
    QuantityError
        If it is not a number, or has no unit or an ambiguous one.
    """
    if unit is None:
        return _with_unit(text)
    scale = _ENERGY.get(unit) or _SHARES.get(unit)
    if scale is not None:
        return Metric(value=_number(text) * scale, unit="J" if unit in _ENERGY else "ratio")
    for base, parse in _KINDS:
        if _accepts(parse, unit):
            _number(text)
            return Metric(value=float(parse(f"{text} {_PLAIN.get(unit, unit)}")), unit=base)
    return Metric(value=_number(text), unit=unit)


def zone(utc_offset_h: float) -> tzinfo:
    """The time zone with this offset from UTC in hours."""
    return timezone(timedelta(hours=utc_offset_h))


def moment(text: str, where: tzinfo) -> float:
    """Epoch seconds of an ISO date and time, in the zone ``where`` unless it contains a zone.

    Raises
    ------
    QuantityError
        If it is not a date and time, or a number that is no epoch seconds.
    """
    if _LONG.match(text):  # Python reads some epoch milliseconds as a date of the year 1704
        return _epoch_s(text)
    midnight = _MIDNIGHT.sub(r"\1 00:00", text)  # ISO 8601 permits 24:00, the end of the day
    try:
        when = datetime.fromisoformat(midnight) + timedelta(days=int(midnight != text))
    except (ValueError, OverflowError):
        return _epoch_s(text)
    return (when if when.tzinfo else when.replace(tzinfo=where)).timestamp()


def _epoch_s(text: str) -> float:
    try:
        seconds = _number(text)
    except QuantityError:
        raise QuantityError(
            f"'{text}' is not a date and time: write 2014-10-01 10:56 or epoch seconds"
        ) from None
    if seconds > _MOST_EPOCH_S:
        raise QuantityError(
            f"'{text}' is too large for epoch seconds: it looks like milliseconds or a smaller "
            "unit; write epoch seconds, or 2014-10-01 10:56"
        )
    if seconds < 0:
        raise QuantityError(f"'{text}' is before 1970: write 2014-10-01 10:56 or epoch seconds")
    return seconds


def _with_unit(text: str) -> Metric:
    number, _, unit = text.strip().partition(" ")
    if unit.strip() in _ENERGY | _SHARES:
        return metric(number, unit.strip())
    refused = []
    for base, parse in _KINDS:
        try:
            return Metric(value=float(parse(text)), unit=base)
        except QuantityError as error:
            refused.append(str(error))
    clear = [message for message in refused if "ambiguous" in message or "not known" in message]
    if clear:
        raise QuantityError(clear[0])
    raise QuantityError(
        f"'{text}' has no known unit: write it with a unit ('90 s', '1.5 GB', '0.2 kWh'), or "
        "set the unit of the column"
    )


@cache
def _accepts(parse: Callable[[object], float], unit: str) -> bool:
    try:
        parse(f"1 {_PLAIN.get(unit, unit)}")
    except QuantityError:
        return False
    return True


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise QuantityError(f"'{text}' is not a number") from None
    if not math.isfinite(value):
        raise QuantityError(f"'{text}' is not a finite number")
    return value
