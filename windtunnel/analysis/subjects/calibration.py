"""The calibration of a scale model in words, for the command and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis.formatting import digits, plural, quantity
from windtunnel.results.calibration import CalibrationRecord, CalibrationResource

COLUMNS = ("part", "set", "measured", "measured/set", "state")
HINT = (
    "Equal parts have one row with their number in brackets and the lowest and highest value. The "
    "limit of a NIC or uplink includes headers, and a stream counts only its own data: 0.956 of "
    "the rate at the default MTU"
)


@dataclass(frozen=True)
class Line:
    """Parts of one kind with the same limit: one row of the table.

    Each unlimited part has its own row with its name.
    """

    kind: str
    set: float | None
    parts: Sequence[CalibrationResource]

    @property
    def off(self) -> list[CalibrationResource]:
        """The parts whose measured value differs by more than 10 % from their limit."""
        return [part for part in self.parts if part.ok is False]

    def words(self) -> tuple[str, ...]:
        """The row's words, as in COLUMNS."""
        unit, count = self.parts[0].unit, len(self.parts)
        name = f"{self.kind} ({count})" if count > 1 else self.kind
        name += f", {self.parts[0].name}" if self.set is None else ""
        got = [value_words(part.got, self.kind, unit) for part in sorted(self.parts, key=_got)]
        ratios = [part.ratio for part in self.parts if part.ratio is not None]
        state = "-" if self.set is None else "as set"
        return (
            name,
            "none" if self.set is None else value_words(self.set, self.kind, unit),
            _span(got[0], got[-1]),
            _span(f"{min(ratios):.3f}", f"{max(ratios):.3f}") if ratios else "",
            "outside 10 %" if self.off else state,
        )


def lines(record: CalibrationRecord) -> list[Line]:
    """The rows of a calibration, in the order in which they were measured."""
    found: dict[tuple[str, float | None], list[CalibrationResource]] = {}
    for resource in record.resources:
        alone = resource.name if resource.set is None else ""
        found.setdefault((f"{resource.kind}\0{alone}", resource.set), []).append(resource)
    made = [Line(parts[0].kind, set_, parts) for (_, set_), parts in found.items()]
    kinds = list(dict.fromkeys(line.kind for line in made))
    return sorted(made, key=lambda line: (kinds.index(line.kind), line.set or 0.0))


def summary(record: CalibrationRecord) -> str:
    """The number of parts within 10 % of their limit and outside, and the duration."""
    judged = [resource for resource in record.resources if resource.ok is not None]
    good = f"{plural(len(judged) - len(record.off), 'limited part')} within 10 % of the limit"
    off = f", {len(record.off)} outside" if record.off else ""
    return f"{good}{off}; measured in {record.took_s:.0f} s"


def value_words(value: float, kind: str, unit: str) -> str:
    """A rate in the usual unit of its kind: networks in Mb/s."""
    if unit == "bytes/s" and "disk" not in kind:
        return f"{digits(value * 8 / 1e6)} Mb/s"
    return quantity(value, unit)


def _got(part: CalibrationResource) -> float:
    return part.got


def _span(low: str, high: str) -> str:
    """``19.1-19.7 MB/s``; one value if both texts are equal."""
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(unit) else low}-{high}"
