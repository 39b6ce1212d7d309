"""What the columns of a table are: words, moments, or numbers with a dimension and a scale.

Declared units of a map count first, then a column of units next to the numbers, then the unit at
the end of the name of a column (``elapsed_min``, ``energy (kWh)``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from windtunnel.published.mapping import Map
from windtunnel.published.numbers import NumberError, Span, printed
from windtunnel.published.table import Row, Table

_BYTES = {"b": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BITS = {"k": 1e3, "m": 1e6, "g": 1e9}
COUNTS = ("rows", "records", "operations", "files", "tasks", "maps", "samples", "articles")


def _units() -> dict[str, tuple[str, float]]:
    """Unit in lower case -> dimension and factor to its base unit."""
    found: dict[str, tuple[str, float]] = {
        "ms": ("s", 1e-3),
        "us": ("s", 1e-6),
        "w": ("W", 1.0),
        "watts": ("W", 1.0),
        "kw": ("W", 1e3),
        "j": ("J", 1.0),
        "joules": ("J", 1.0),
        "kj": ("J", 1e3),
        "mj": ("J", 1e6),
        "wh": ("J", 3600.0),
        "kwh": ("J", 3.6e6),
        "%": ("ratio", 0.01),
        "pct": ("ratio", 0.01),
        "percent": ("ratio", 0.01),
        "ratio": ("ratio", 1.0),
        "fraction": ("ratio", 1.0),
        "speedup": ("ratio", 1.0),
        "factor": ("ratio", 1.0),
        "relative": ("ratio", 1.0),
        "ghz": ("Hz", 1e9),
        "mhz": ("Hz", 1e6),
        "bytes": ("B", 1.0),
        "bytes/s": ("B/s", 1.0),
    }
    found |= dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0))
    found |= dict.fromkeys(("min", "mins", "minute", "minutes"), ("s", 60.0))
    found |= dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("s", 3600.0))
    found |= dict.fromkeys(("d", "day", "days"), ("s", 86400.0))
    found |= {name: (f"price {name}", 1.0) for name in ("usd", "eur", "gbp", "chf")}
    for prefix, factor in _BYTES.items():
        if prefix != "b":
            binary = 1024 ** ("bkmgtp".index(prefix))
            found[f"{prefix}b"], found[f"{prefix}ib"] = ("B", factor), ("B", float(binary))
            found[f"{prefix}b/s"], found[f"{prefix}ib/s"] = ("B/s", factor), ("B/s", float(binary))
    for prefix, factor in _BITS.items():
        found[f"{prefix}bps"] = ("B/s", factor / 8)
    for count in COUNTS:
        found[count], found[f"{count}/s"] = (count, 1.0), (f"{count}/s", 1.0)
    return found


UNITS = _units()
# of which the letters in upper and lower case differ: b is a bit, B a byte
BIT_UNITS = {
    f"{prefix}{bit}{per}": ("B/s", factor / 8)
    for prefix, factor in (("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
    for bit in ("b", "bit", "bits")
    for per in ("/s", "/sec")
}


def unit_of(text: str) -> tuple[str, float] | None:
    """The dimension and the factor of a unit: ``Gb/s`` are bits, ``GB/s`` and ``gb/s`` bytes."""
    return BIT_UNITS.get(text) or UNITS.get(text.casefold())


_ID = re.compile(r"^(id|run|runs?_?no|round|line|index|seed|n)$|(_|\b)(id|run|round)$")
_SOURCE = re.compile(r"^(source|sources|notes?|comments?|page|url|reading_method|method)$")
_WITH_UNIT = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z%][A-Za-z/%]*)")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


def unit_of_name(name: str) -> tuple[str, float] | None:
    """The dimension and the factor of the unit at the end of a name of a column."""
    for word in re.split(r"[^A-Za-z0-9%/]+", name):
        if word in BIT_UNITS:
            return BIT_UNITS[word]
    words = [
        w for w in re.split(r"[^a-z0-9%/]+", name.casefold().replace("speed-up", "speedup")) if w
    ]
    joined = [w for w in re.split(r"_?per_", name.casefold()) if w]
    if len(joined) == 2 and joined[1] in ("s", "sec", "second"):
        last = re.split(r"[^a-z]+", joined[0])[-1]
        if last == "bits":
            return ("B/s", 1 / 8)
        return UNITS.get(f"{last}/s")
    if len(words) > 1 and words[-1] in ("s", "sec") and f"{words[-2]}/s" in UNITS:
        return UNITS[f"{words[-2]}/s"]
    for word in reversed(words):
        if word in UNITS and (word == words[-1] or len(word) > 2):
            return UNITS[word]
    return None


def tokens(text: str) -> list[str]:
    """The words and numbers of a text in lower case, without plural endings."""
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?", text.casefold())
    return [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words]


@dataclass(frozen=True)
class Column:
    """A column: its kind (``word``, ``number``, ``moment``, ``source``, ``empty``) and its unit.

    ``dimension`` is the base unit, empty for plain numbers; ``unit_column`` names the column with
    the units if they differ by row. ``decimals`` is the usual number of printed decimals: cells
    with fewer had zeros at the end.
    """

    name: str
    kind: str
    dimension: str = ""
    factor: float = 1.0
    unit_column: str | None = None
    in_cell: bool = False
    decimals: int = 0

    @property
    def words(self) -> set[str]:
        """The tokens of its name."""
        return set(tokens(self.name))

    def has(self, *names: str) -> bool:
        """Whether its name contains one of these words."""
        return not self.words.isdisjoint(names)


@dataclass(frozen=True)
class Profile:
    """A table with its columns described."""

    table: Table
    columns: Mapping[str, Column]

    @cached_property
    def _spans(self) -> dict[tuple[str, str, str], Span]:
        return {}

    @cached_property
    def numbers(self) -> list[Column]:
        """The columns of numbers."""
        return [c for c in self.columns.values() if c.kind == "number"]

    @cached_property
    def labels(self) -> list[Column]:
        """The columns of words that identify or describe a row."""
        return [c for c in self.columns.values() if c.kind == "word"]

    @cached_property
    def moments(self) -> list[Column]:
        """The columns of dates and times."""
        return [c for c in self.columns.values() if c.kind == "moment"]

    def span(self, row: Row, column: Column) -> Span:
        """The number of a cell in its base unit.

        Raises
        ------
        NumberError
            An empty cell, another text than a number, or an unknown unit.
        """
        unit = row[column.unit_column] if column.unit_column else ""
        key = (column.name, row[column.name], unit)
        if key not in self._spans:
            self._spans[key] = self._span(row, column)
        return self._spans[key]

    def _span(self, row: Row, column: Column) -> Span:
        if not row[column.name]:
            raise NumberError("the cell is empty")
        text, factor = row[column.name], column.factor
        if column.in_cell:
            found = _WITH_UNIT.fullmatch(text)
            unit = unit_of(found[2]) if found else None
            if found is None or unit is None:
                raise NumberError(f"'{text}' is not a number with a unit")
            text, factor = found[1], unit[1]
        elif column.unit_column is not None:
            unit = _row_unit(row[column.unit_column])
            if column.dimension == "mixed":
                unit = unit or ("", 1.0)
            elif unit is None or unit[0] != column.dimension:
                raise NumberError(f"the unit '{row[column.unit_column]}' is not known")
            factor = unit[1]
        own = len(text.partition(".")[2])
        decimals = column.decimals if own >= column.decimals - 2 else own
        return printed(text, "printed", decimals) * Span.exact(factor)

    def moment(self, row: Row, column: Column) -> tuple[float, float] | None:
        """Epoch seconds and resolution in seconds of a cell with date and time."""
        text = row[column.name]
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return None
        clock = re.sub(r"(Z|[+-]\d\d:?\d\d)$", "", text)
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return aware.timestamp(), 1.0 if clock.count(":") > 1 else 60.0

    def label(self, row: Row) -> str:
        """The words of a row, to name it in a point."""
        words = [row[c.name] for c in self.labels if row[c.name]]
        ids = [f"{c} {row[c]}" for c in self.table.columns if _ID.search(c) and row[c].isdigit()]
        return " ".join(dict.fromkeys(words[:4] + ids[:1])) or f"line {row.line}"


def _row_unit(text: str) -> tuple[str, float] | None:
    """The unit of a cell; ``m`` next to a duration is a minute."""
    return ("s", 60.0) if text == "m" else unit_of(text)


def profile(table: Table, mapped: Map | None = None) -> Profile:
    """Describe the columns of a table; ``mapped`` is its map if it is the table of the runs."""
    declared: dict[str, str] = {}
    for number in mapped.metrics.values() if mapped else ():
        if isinstance(number.unit, str):
            declared[number.column] = number.unit
    return Profile(
        table, {name: _column(table, name, declared.get(name)) for name in table.columns}
    )


def _column(table: Table, name: str, declared: str | None) -> Column:
    cells = [row[name] for row in table.rows if row[name]]
    if not cells:
        return Column(name, "empty")
    if _SOURCE.match(name.casefold()):
        return Column(name, "source")
    plain = [cell for cell in cells if _PLAIN.fullmatch(cell)]
    if len(plain) >= 0.75 * len(cells):
        if _ID.search(name.casefold()) and name.casefold() != "n" and declared is None:
            return Column(name, "id")
        return _number(table, name, plain, declared)
    if sum(bool(_STAMP.match(cell)) for cell in cells) >= 0.75 * len(cells):
        return Column(name, "moment")
    units = [m[2] for cell in cells if (m := _WITH_UNIT.fullmatch(cell))]
    known = {unit[0] for u in units if (unit := unit_of(u))}
    if len(units) >= 0.75 * len(cells) and len(known) == 1:
        return Column(name, "number", known.pop(), in_cell=True)
    longest = max(map(len, cells))
    if _ID.search(name.casefold()) or (longest > 90 and len(set(cells)) > 0.5 * len(cells)):
        return Column(name, "id")
    return Column(name, "word")


def _number(table: Table, name: str, plain: list[str], declared: str | None) -> Column:
    places = Counter(len(cell.partition(".")[2]) for cell in plain if "e" not in cell.casefold())
    decimals = max(places, key=lambda p: (places[p], -p)) if places else 0
    stem = re.sub(r"_(reported|printed|value)$", "", name)
    beside = next(
        (c for c in (f"{name}_unit", f"{stem}_unit", "unit") if c in table.columns and c != name),
        None,
    )
    if declared is not None:
        known = unit_of(declared)
        return Column(name, "number", *(known or (declared, 1.0)), decimals=decimals)
    if beside is not None and (beside != "unit" or name in ("value", "low", "high")):
        units = [u for row in table.rows if row[name] and (u := _row_unit(row[beside]))]
        kinds = {u[0] for u in units}
        if beside == "unit":
            return Column(name, "number", "mixed", unit_column=beside)
        if len(kinds) == 1:
            return Column(name, "number", kinds.pop(), unit_column=beside, decimals=decimals)
    known = unit_of_name(name)
    if known is None:
        return Column(name, "number", decimals=decimals)
    return Column(name, "number", *known, decimals=decimals)
