"""Printed numbers as spans: the possible values of a number before it was rounded.

Two numbers contradict each other if their spans do not overlap. The tolerance follows from the
printed digits, so a check never reports a difference that rounding can explain.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

Digits = Literal["printed", "cut", "about"]
_SLACK = 1e-9


class NumberError(ValueError):
    """A text that is not a number, or an expression that cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Span:
    """A number with its bounds: ``low`` <= ``value`` <= ``high``."""

    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Span:
        """A number without tolerance."""
        return cls(value, value, value)

    def meets(self, other: Span) -> bool:
        """Whether both can be the same number: the spans overlap."""
        slack = _SLACK * max(abs(self.value), abs(other.value), 1e-12)
        return self.low <= other.high + slack and other.low <= self.high + slack

    def widened(self, fraction: float) -> Span:
        """The span, extended on both sides by this fraction of its value."""
        more = abs(self.value) * fraction
        return Span(self.value, self.low - more, self.high + more)

    def __add__(self, other: Span) -> Span:
        return Span(self.value + other.value, self.low + other.low, self.high + other.high)

    def __neg__(self) -> Span:
        return Span(-self.value, -self.high, -self.low)

    def __sub__(self, other: Span) -> Span:
        return self + (-other)

    def __mul__(self, other: Span) -> Span:
        return self._corners(other, operator.mul)

    def __truediv__(self, other: Span) -> Span:
        if other.low <= 0 <= other.high:
            raise NumberError("division by a number that may be zero")
        return self._corners(other, operator.truediv)

    def __abs__(self) -> Span:
        if self.low >= 0:
            return self
        if self.high <= 0:
            return -self
        return Span(abs(self.value), 0.0, max(-self.low, self.high))

    def _corners(self, other: Span, apply: Callable[[float, float], float]) -> Span:
        corners = [apply(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(apply(self.value, other.value), min(corners), max(corners))


LARGEST = 1e100
MOST_DIGITS = 100
"""Numbers beyond these limits are no results; their sums and powers are not finite."""


def printed(text: str, digits: Digits = "printed", decimals: int = 0) -> Span:
    """The span of a printed number.

    ``printed``: half a unit of the last digit on both sides, with at least ``decimals`` decimals
    (spreadsheets omit final zeros). ``cut``: the same, but digits may have been truncated instead
    of rounded: half a unit towards zero, one unit away from it ("12" 11.5 to 13, "-12" -13 to
    -11.5, "0" -1 to 1). ``about``: the text says that it is not exact, and
    their final zeros are not significant: half a unit of the last other digit below, one unit
    above ("30" may be 25 to 40, "33" 32.5 to 34).

    Raises
    ------
    NumberError
        If it is not a number.
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise NumberError(f"'{text}' is not a number") from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise NumberError(f"'{text}' is not a finite number")
    value = float(number)
    if abs(value) > LARGEST or abs(exponent) > MOST_DIGITS:
        raise NumberError(f"'{text[:20]}' has too many digits")
    if digits == "about":
        exponent = number.normalize().as_tuple().exponent if number else exponent
        assert isinstance(exponent, int)
        unit = 10.0**exponent
        inner, outer = abs(value) - unit / 2, abs(value) + unit
        return Span(value, inner, outer) if value >= 0 else Span(value, -outer, -inner)
    unit = 10.0 ** min(exponent, -decimals)
    away = unit if digits == "cut" else unit / 2
    low = away if value <= 0 else unit / 2
    high = away if value >= 0 else unit / 2
    return Span(value, value - low, value + high)


def positive(text: str) -> float | None:
    """The number of a cell; None if the cell has no number above zero."""
    try:
        value = printed(text).value
    except NumberError:
        return None
    return value if value > 0 else None


def mean(spans: Sequence[Span]) -> Span:
    """Arithmetic mean."""
    total = _added(spans)
    n = len(spans)
    return Span(total.value / n, total.low / n, total.high / n)


def geometric_mean(spans: Sequence[Span]) -> Span:
    """Geometric mean of positive numbers."""
    if any(span.low <= 0 for span in spans):
        raise NumberError("a geometric mean requires positive numbers")
    rows = ([s.value for s in spans], [s.low for s in spans], [s.high for s in spans])
    return Span(*(math.exp(math.fsum(map(math.log, row)) / len(row)) for row in rows))


def harmonic_mean(spans: Sequence[Span]) -> Span:
    """Harmonic mean of positive numbers."""
    if not spans or any(span.low <= 0 for span in spans):
        raise NumberError("a harmonic mean requires positive numbers")
    return Span(
        *(
            len(spans) / math.fsum(1 / getattr(s, f) for s in spans)
            for f in ("value", "low", "high")
        )
    )


def median(spans: Sequence[Span]) -> Span:
    """The middle value, or the mean of the two in the middle."""
    if not spans:
        raise NumberError("there is no number")
    return Span(
        *(statistics.median(getattr(s, f) for s in spans) for f in ("value", "low", "high"))
    )


def _added(spans: Sequence[Span]) -> Span:
    return Span(
        math.fsum(s.value for s in spans),
        math.fsum(s.low for s in spans),
        math.fsum(s.high for s in spans),
    )


def _least(spans: Sequence[Span]) -> Span:
    return Span(*(min(getattr(s, f) for s in spans) for f in ("value", "low", "high")))


def _most(spans: Sequence[Span]) -> Span:
    return Span(*(max(getattr(s, f) for s in spans) for f in ("value", "low", "high")))


def _only(spans: Sequence[Span]) -> Span:
    if len(spans) != 1:
        raise NumberError(f"there are {len(spans)} numbers, and one is required")
    return spans[0]


Take = Literal[
    "one", "mean", "geometric mean", "harmonic mean", "median", "sum", "least", "most", "count"
]
TAKES: Mapping[str, Callable[[Sequence[Span]], Span]] = {
    "one": _only,
    "mean": mean,
    "geometric mean": geometric_mean,
    "harmonic mean": harmonic_mean,
    "median": median,
    "sum": _added,
    "least": _least,
    "most": _most,
    "count": lambda spans: Span.exact(len(spans)),
}

_BINARY: Mapping[type[ast.operator], Callable[[Span, Span], Span]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluate(expression: str, names: Mapping[str, Span]) -> Span:
    """The span of an expression of ``+ - * /``, parentheses, numbers, ``abs()`` and names.

    A name with spaces or signs is written in backticks: `` `time (s)` / 60``.

    Raises
    ------
    NumberError
        Any other expression, an unknown name, a division by a number that may be zero.
    """
    tree, quoted = _parsed(expression)
    known = {stand_in: names[name] for stand_in, name in quoted.items() if name in names}
    missing = next((name for name in quoted.values() if name not in names), None)
    if missing is not None:
        raise NumberError(f"there is no number '{missing}'")
    return _value_of(tree, {**names, **known})


def names_in(expression: str) -> set[str]:
    """The names in an expression, without backticks.

    Raises
    ------
    NumberError
        A text that is not an expression.
    """
    tree, quoted = _parsed(expression)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {quoted.get(name, name) for name in names}


def _parsed(expression: str) -> tuple[ast.expr, dict[str, str]]:
    """The tree of an expression, and the quoted names by the identifiers that replace them."""
    prefix = "quoted_"
    while prefix in expression:
        prefix += "_"
    quoted: dict[str, str] = {}

    def stand_in(found: re.Match[str]) -> str:
        name = f"{prefix}{len(quoted)}"
        quoted[name] = found[1].strip()
        return f" {name} "

    text = re.sub(r"`([^`]+)`", stand_in, expression).strip()
    try:
        return ast.parse(text, mode="eval").body, quoted
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NumberError(f"'{expression}' is not an expression") from None


def _value_of(node: ast.expr, names: Mapping[str, Span]) -> Span:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Span.exact(float(number))
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise NumberError(f"there is no number '{name}'")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value_of(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value_of(left, names), _value_of(right, names))
        case ast.Call(func=ast.Name(id="abs"), args=[only], keywords=[]):
            return abs(_value_of(only, names))
    raise NumberError(f"'{ast.unparse(node)}' is not allowed in an expression")
