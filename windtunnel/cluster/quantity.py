"""Quantities with units, as pydantic types: ``ByteSize``, ``Rate``, ``Duration`` and so on.

A quantity is written as a number and a unit ("64 MiB", "10 Gb/s", "2.6 GHz").
Decimal and binary prefixes differ (1 GB = 10^9 B, 1 GiB = 2^30 B), a ``b`` is a
bit and a ``B`` is a byte, and an ambiguous text is refused with the possible
corrections. General unit libraries are less strict (they accept "64 G", "10 gb"
and "5 m"), so this module has its own table of units. In Python, the values are
plain numbers in base units (bytes, bytes/s, Hz, s, W); in JSON they are text,
which parses back to exactly the same number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction as Ratio
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from windtunnel.cluster.validation_messages import shown

_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*(\S.*?)?\s*")


class QuantityError(ValueError):
    """A text that is not a quantity of the expected kind; the message contains the remedy."""


def _prefixed(base: str, scale: Ratio, *, binary: bool, decimal: str = "kMGTP") -> dict[str, Ratio]:
    """Unit names with their factors to the base unit, smallest first."""
    units = {p + base: scale * 10**n for p, n in _DECIMAL.items() if not p or p in decimal}
    if binary:
        units |= {p + base: scale * 2**n for p, n in _BINARY.items()}
    return units


@dataclass(frozen=True)
class Dimension:
    """One kind of quantity: its units (name -> factor to the base unit) and examples."""

    noun: str
    units: Mapping[str, Ratio]
    examples: tuple[str, ...]
    shown: tuple[str, ...] = ()  # units for printing; all if empty

    def parse(self, value: object, *, positive: bool = False) -> float:
        """The value in base units.

        Raises
        ------
        QuantityError
            No unit, an unknown or ambiguous unit, a negative number, or zero with
            ``positive``.
        """
        return float(self.exact(value, positive=positive))

    def exact(self, value: object, *, positive: bool = False) -> Ratio:
        """Like :meth:`parse`, without the rounding to a float."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise QuantityError(f"must be {self.noun} such as {self._write()}, not {shown(value)}")
        match = _QUANTITY.fullmatch(str(value))
        if match is None:
            raise QuantityError(
                f"'{value}' is not {self.noun}: write a number and a unit, such as {self._write()}"
            )
        number, unit = match.group(1), match.group(2)
        if unit not in self.units:
            raise QuantityError(self._complaint(str(value).strip(), number, unit))
        result = Ratio(Decimal(number)) * self.units[unit]
        if result < 0 or (positive and result == 0):
            bound = "more than zero" if positive else "zero or more"
            raise QuantityError(f"must be {bound}, not '{value}'")
        if result > Ratio(10) ** 30:
            raise QuantityError(f"'{value}' is too large")
        return result

    def format(self, value: float, parse: Callable[[str], float], digits: int | None) -> str:
        """The shortest text that parses back to ``value``; with ``digits``, a rounded text."""
        shown = self.shown or tuple(self.units)
        if digits is not None:
            return self._rounded(value, shown, digits)
        best: tuple[bool, int, str] | None = None
        for unit in sorted(shown, key=self.units.__getitem__, reverse=True):
            scaled = Ratio(value) / self.units[unit]
            texts = (f"{_decimal(scaled, places)} {unit}" for places in range(5))
            exact = next((text for text in texts if parse(text) == value), None)
            if exact is not None:
                rank = (scaled < 1, len(exact), exact)
                best = rank if best is None or rank[:2] < best[:2] else best
        if best is not None:
            return best[2]
        base = min(shown, key=lambda name: abs(self.units[name] - 1))
        scaled = Ratio(value) / self.units[base]
        text = f"{_plain(scaled)} {base}"
        if parse(text) != value:  # The float of the scaled value is rounded.
            with localcontext(prec=24):
                text = f"{Decimal(scaled.numerator) / Decimal(scaled.denominator)} {base}"
        return text

    def _rounded(self, value: float, shown: tuple[str, ...], digits: int) -> str:
        """``value`` with ``digits`` significant digits in the largest decimal unit that fits."""
        units = sorted((u for u in shown if "i" not in u[1:2]), key=self.units.__getitem__)
        for unit in reversed(units):
            scaled = float(Ratio(value) / self.units[unit])
            if abs(scaled) >= 1 or unit == units[0]:
                whole = len(str(int(abs(scaled))))
                return f"{scaled:.{max(digits - whole, 0)}f} {unit}"
        raise AssertionError("a dimension has at least one unit")

    def _write(self, number: str | None = None) -> str:
        """Examples of valid texts, with the user's number if there is one."""
        if number is None:
            return " or ".join(f"'{text}'" for text in self.examples)
        units = [text.split()[1] for text in self.examples]
        return " or ".join(f"'{number} {unit}'" for unit in units)

    def _complaint(self, text: str, number: str, unit: str | None) -> str:
        """The reason why ``unit`` is refused, and the correct texts."""
        if unit is None:
            return f"'{text}' has no unit: write {self._write(number)}"
        near = [n for n in self.units if _bare(n) == _bare(unit) and "bit" not in n]
        if not near or unit[0] in ",._'":
            return f"'{text}' is not {self.noun}: write it like {self._write()}"
        meant = " or ".join(f"'{number} {n}'{_explain(n, self.units[n])}" for n in near)
        reason = "is ambiguous" if len(near) > 1 else "is not known"
        return f"the unit '{unit}' {reason}: write {meant}"


_SPOKEN = {"kilo": "k", "mega": "m", "giga": "g", "tera": "t", "peta": "p", "sec": "s"}
_SPOKEN |= dict.fromkeys(("second", "seconds", "secs"), "s")
_SPOKEN |= dict.fromkeys(("minute", "minutes", "mins"), "min")
_SPOKEN |= dict.fromkeys(("hour", "hours", "hr", "hrs"), "h")
_SPOKEN |= dict.fromkeys(("day", "days"), "d")


def _bare(unit: str) -> str:
    """A unit without common mistakes: case, ``i``, bit or byte, ``ps`` for ``/s``."""
    text = re.sub(r"(/s|/sec|ps)$", "", unit.lower())
    text = re.sub(r"(bytes?|bits?|ib|i|b|hz)$", "", text)
    return _SPOKEN.get(text, text)


def _explain(unit: str, factor: Ratio) -> str:
    """The meaning of a unit in parentheses, if bits, bytes or prefixes can be confused."""
    if "B" in unit:
        power = factor.numerator.bit_length() - 1
        binary = "i" in unit
        return f" ({f'2^{power}' if binary else f'10^{len(str(factor)) - 1}'} bytes)"
    return f" (10^{len(str(factor * 8)) - 1} bits)" if unit.endswith("b/s") else ""


def _decimal(value: Ratio, places: int) -> str:
    """``value`` rounded to ``places`` decimals, without trailing zeros."""
    scaled = round(value * 10**places)
    text = f"{Decimal(scaled).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: Ratio) -> str:
    """The shortest text of a number: an integer if possible, else a float's repr."""
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


_ONE = Ratio(1)
_BITS = _prefixed("b/s", Ratio(1, 8), binary=False)
_BYTES = Dimension("a size", _prefixed("B", _ONE, binary=True), ("600 GB", "64 MiB"))
_RATE_UNITS = {
    **_prefixed("B/s", _ONE, binary=True),
    **_BITS,
    **_prefixed("bit/s", Ratio(1, 8), binary=False),
}
_RATE = Dimension(
    "a rate", _RATE_UNITS, ("150 MB/s", "10 Gb/s"), tuple(_prefixed("B/s", _ONE, binary=True))
)
_LINK = Dimension("a line rate", _RATE_UNITS, ("10 Gb/s", "100 Mb/s"), tuple(_BITS))
_HERTZ = Dimension("a frequency", _prefixed("Hz", _ONE, binary=False, decimal="kMG"), ("2.6 GHz",))
_SECONDS = Dimension(
    "a duration",
    {
        "ns": Ratio(1, 10**9),
        "us": Ratio(1, 10**6),
        "ms": Ratio(1, 1000),
        "s": _ONE,
        "min": Ratio(60),
        "h": Ratio(3600),
        "d": Ratio(86400),
    },
    ("30 s", "5 min"),
)
_WATTS = Dimension("a power", {"W": _ONE, "kW": Ratio(1000)}, ("240 W",))
_PERCENT = Dimension("a fraction", {"%": Ratio(1, 100)}, ("20 %",))
CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR")


def parse_bytes(value: object) -> int:
    """ "64 MiB" -> 67108864 bytes, rounded to whole bytes. Raises QuantityError."""
    return round(_BYTES.exact(value))


def parse_rate(value: object) -> float:
    """ "10 Gb/s" or "150 MB/s" -> bytes/s. Raises QuantityError."""
    return _RATE.parse(value)


def parse_frequency(value: object) -> float:
    """ "2.6 GHz" -> Hz. Raises QuantityError."""
    return _HERTZ.parse(value)


def parse_duration(value: object) -> float:
    """ "5 min" -> seconds. Raises QuantityError."""
    return _SECONDS.parse(value)


def parse_power(value: object) -> float:
    """ "240 W" -> watts. Raises QuantityError."""
    return _WATTS.parse(value)


def parse_fraction(value: object) -> float:
    """ "20 %" or 0.2 -> 0.2, from 0 to 1. Raises QuantityError; a bare 1 is ambiguous."""
    if isinstance(value, str):
        result = float(_PERCENT.exact(value))
    elif isinstance(value, float) or (isinstance(value, int) and value == 0):
        result = float(value)
    else:
        raise QuantityError(f"must be a fraction such as '20 %' or 0.2, not {shown(value)}")
    if not 0 <= result <= 1:
        raise QuantityError(f"must be between 0 % and 100 %, not {value}")
    return result


def format_bytes(value: int, digits: int | None = None) -> str:
    """Bytes as text, exact ("64 MiB"), or rounded to ``digits`` significant digits ("67.1 MB")."""
    return _BYTES.format(value, parse_bytes, digits)


def format_rate(value: float, digits: int | None = None) -> str:
    """Bytes/s as text in bytes ("150 MB/s")."""
    return _RATE.format(value, parse_rate, digits)


def format_link_rate(value: float, digits: int | None = None) -> str:
    """Bytes/s as text in bits, the usual unit of NICs and switches ("10 Gb/s")."""
    return _LINK.format(value, parse_rate, digits)


def format_frequency(value: float, digits: int | None = None) -> str:
    """Hz as text ("2.6 GHz")."""
    return _HERTZ.format(value, parse_frequency, digits)


def format_duration(value: float, digits: int | None = None) -> str:
    """Seconds as text ("5 min")."""
    return _SECONDS.format(value, parse_duration, digits)


def format_power(value: float, digits: int | None = None) -> str:
    """Watts as text ("240 W")."""
    return _WATTS.format(value, parse_power, digits)


def format_fraction(value: float, digits: int | None = None) -> str:
    """A fraction as text ("20 %")."""
    return _PERCENT.format(value, parse_fraction, digits)


@dataclass(frozen=True)
class Money:
    """An amount in one currency. Sums across currencies are refused: exchange rates change."""

    amount: float
    currency: str

    def __str__(self) -> str:
        return f"{_plain(Ratio(self.amount))} {self.currency}"

    def __add__(self, other: Money) -> Money:
        if self.currency != other.currency:
            raise QuantityError(f"prices in {self.currency} and {other.currency} cannot be added")
        return Money(self.amount + other.amount, self.currency)

    def __mul__(self, factor: int) -> Money:
        return Money(self.amount * factor, self.currency)


def parse_price(value: object) -> Money:
    """ "12000 USD" -> Money. Raises QuantityError."""
    if isinstance(value, Money):
        return value
    money = Dimension("a price", dict.fromkeys(CURRENCIES, _ONE), ("12000 USD", "12000 EUR"))
    amount = money.parse(value)
    return Money(amount, str(value).strip()[-3:])


def format_price(value: Money) -> str:
    """Money as text ("12000 USD")."""
    return str(value)


def _positive(dimension: Dimension, parse: Callable[[object], Any]) -> Callable[[object], Any]:
    """A parser that also refuses zero."""

    def checked(value: object) -> Any:
        dimension.exact(value, positive=True)
        return parse(value)

    return checked


def _schema(dimension: Dimension) -> WithJsonSchema:
    """JSON Schema of a quantity: text with a pattern, and examples."""
    units = "|".join(re.escape(unit) for unit in dimension.units)
    return WithJsonSchema(
        {
            "type": "string",
            "description": f"{dimension.noun}: a number and a unit",
            "pattern": rf"^\s*{_NUMBER}\s*({units})\s*$",
            "examples": list(dimension.examples),
        }
    )


def _text(formatter: Callable[[Any], str]) -> PlainSerializer:
    """Text in JSON; cached, because overrides format the same quantities many times."""
    cached = lru_cache(maxsize=4096)(formatter)
    return PlainSerializer(
        lambda value: cached(value),  # noqa: PLW0108 - pydantic cannot inspect a cache
        return_type=str,
        when_used="json-unless-none",
    )


ByteSize = Annotated[
    int, BeforeValidator(_positive(_BYTES, parse_bytes)), _text(format_bytes), _schema(_BYTES)
]
Rate = Annotated[
    float, BeforeValidator(_positive(_RATE, parse_rate)), _text(format_rate), _schema(_RATE)
]
LinkRate = Annotated[
    float, BeforeValidator(_positive(_LINK, parse_rate)), _text(format_link_rate), _schema(_LINK)
]
Frequency = Annotated[
    float,
    BeforeValidator(_positive(_HERTZ, parse_frequency)),
    _text(format_frequency),
    _schema(_HERTZ),
]
Duration = Annotated[
    float, BeforeValidator(parse_duration), _text(format_duration), _schema(_SECONDS)
]
Power = Annotated[float, BeforeValidator(parse_power), _text(format_power), _schema(_WATTS)]
Fraction = Annotated[
    float,
    BeforeValidator(parse_fraction),
    _text(format_fraction),
    WithJsonSchema(
        {
            "description": "a fraction: '20 %' or 0.2",
            "anyOf": [
                {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*%\s*$", "examples": ["20 %"]},
                {"type": "number", "minimum": 0, "maximum": 1},
            ],
        }
    ),
]
Price = Annotated[
    Money,
    BeforeValidator(parse_price),
    _text(format_price),
    WithJsonSchema(
        {
            "type": "string",
            "description": "a price: an amount and a currency",
            "pattern": rf"^\s*{_NUMBER}\s*({'|'.join(CURRENCIES)})\s*$",
            "examples": ["12000 USD"],
        }
    ),
]
