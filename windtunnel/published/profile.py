"""What the columns of a table are: words, moments, or numbers with a dimension and a scale.

Declared roles and units of a map count first, then a column of units next to the numbers, then
the unit at the end of the name of a column (``elapsed_min``, ``energy (kWh)``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import cached_property

from windtunnel.cluster.quantity import QuantityError
from windtunnel.published.cells import is_missing, plain, without_spread
from windtunnel.published.mapping import Map
from windtunnel.published.numbers import NumberError, Span, printed
from windtunnel.published.table import Row, Table
from windtunnel.published.unit_names import COUNTS, UNITS, unit_of, unit_of_name
from windtunnel.published.units import moment, zone

LABEL, ROUND, MOMENTS = "label", "round", ("start", "finish")
"""Roles of columns that a map declares."""
MOST_CHARACTERS = 60
"""Longer cells are cut in points."""

__all__ = [
    "COUNTS",
    "UNITS",
    "Column",
    "Profile",
    "profile",
    "tokens",
    "unit_of",
    "unit_of_name",
]

_ID = re.compile(r"^(id|run|runs?_?no|round|line|index|seed|n)$|(_|\b)(id|run|round)$")
_NUMBER_OF_RUN = re.compile(r"^(repeat|repetition|attempt|iteration)(_?(no|number))?$")
_COUNTED = frozenset(
    (
        *("n", "run", "repetition", "repeat", "attempt", "iteration", "trial", "count"),
        *("node", "host", "server", "worker", "machine", "instance", "core", "socket", "disk"),
        *("quantity", "qty"),
    )
)
_STATISTICS = frozenset(
    (
        *("mean", "avg", "average", "median", "typical", "usual", "per", "ratio", "relative"),
        *("sd", "std", "stdev", "stddev", "variance"),
    )
)
_SOURCE = re.compile(r"^(source|sources|notes?|comments?|page|url|reading_method|method)$")
_WITH_UNIT = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z%][A-Za-z/%]*)")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


def tokens(text: str) -> list[str]:
    """The words and numbers of a text in lower case, without plural endings."""
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?", text.casefold())
    return [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words]


@dataclass(frozen=True)
class Column:
    """A column: its kind (``word``, ``number``, ``moment``, ``source``, ``empty``) and its unit.

    ``dimension`` is the base unit, empty for plain numbers; ``unit_column`` names the column with
    the units if they differ by row. ``decimals`` is the usual number of printed decimals: cells
    with fewer had zeros at the end. ``exact`` numbers are counted or nominal, and not rounded.
    ``role`` is the role that the map gives it: ``start``, ``finish``, ``round``, ``label``, or the
    name of a metric.
    """

    name: str
    kind: str
    dimension: str = ""
    factor: float = 1.0
    unit_column: str | None = None
    in_cell: bool = False
    decimals: int = 0
    exact: bool = False
    role: str = ""

    @property
    def words(self) -> set[str]:
        """The tokens of its name."""
        return set(tokens(self.name))

    def has(self, *names: str) -> bool:
        """Whether its name contains one of these words."""
        return not self.words.isdisjoint(names)


@dataclass(frozen=True)
class Profile:
    """A table with its columns described.

    The numbers of ``table`` have digits and a point only (see :mod:`windtunnel.published.cells`);
    ``zone`` is that of date and time without one.
    """

    table: Table
    columns: Mapping[str, Column]
    zone: tzinfo = UTC

    @cached_property
    def _spans(self) -> dict[tuple[str, str, str], Span]:
        return {}

    @cached_property
    def numbers(self) -> list[Column]:
        """The columns of numbers."""
        return [c for c in self.columns.values() if c.kind == "number"]

    @cached_property
    def labels(self) -> list[Column]:
        """The columns of words, and the declared ones of numbers, that describe a row."""
        return [c for c in self.columns.values() if c.kind == "word" or c.role == LABEL]

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
        number = printed(text, "printed", decimals)
        return (Span.exact(number.value) if column.exact else number) * Span.exact(factor)

    def moment(self, row: Row, column: Column) -> tuple[float, float] | None:
        """Epoch seconds and resolution in seconds of a cell with date and time."""
        text = row[column.name]
        epoch = bool(_PLAIN.fullmatch(text))
        if epoch and column.role not in MOMENTS:
            return None
        try:
            found = moment(text, self.zone)
        except QuantityError:
            return None
        clock = re.sub(r"(Z|[+-]\d\d:?\d\d)$", "", text)
        return found, 1.0 if epoch or clock.count(":") > 1 else 60.0

    def label(self, row: Row) -> str:
        """The words of a row, to name it in a point."""
        words = [row[c.name] for c in self.labels if row[c.name]]
        ids = [
            f"{c.name} {row[c.name]}"
            for c in self.columns.values()
            if (c.role == ROUND or _ID.search(c.name)) and row[c.name].isdigit()
        ]
        parts = [cut(part) for part in words[:4] + ids[:1]]
        return " ".join(dict.fromkeys(parts)) or f"line {row.line}"


def cut(cell: str) -> str:
    """The first characters of a long cell."""
    return cell if len(cell) <= MOST_CHARACTERS else f"{cell[:MOST_CHARACTERS]} ..."


def _row_unit(text: str) -> tuple[str, float] | None:
    """The unit of a cell; ``m`` next to a duration is a minute."""
    return ("s", 60.0) if text == "m" else unit_of(text)


def profile(
    table: Table, mapped: Map | None = None, labels: Mapping[str, Collection[str]] | None = None
) -> Profile:
    """Describe the columns of a table; ``mapped`` is its map if it is the table of the runs.

    ``labels`` are the declared labels of the runs with their levels. A column of another table
    with the same name and only such levels has the same meaning.
    """
    roles = _roles(mapped) if mapped else {}
    for name, levels in (labels or {}).items():
        if name in table.columns and {row[name] for row in table.rows} - {""} <= {*levels}:
            roles.setdefault(name, LABEL)
    declared: dict[str, str] = {}
    for number in mapped.metrics.values() if mapped else ():
        if isinstance(number.unit, str):
            declared[number.column] = number.unit
    read = _with_plain_numbers(table, [name for name, role in roles.items() if role == LABEL])
    columns = {
        name: _column(read, name, declared.get(name), roles.get(name, "")) for name in table.columns
    }
    return Profile(read, columns, zone(mapped.utc_offset_h) if mapped else UTC)


def _roles(mapped: Map) -> dict[str, str]:
    """The roles of the columns of the runs; of several, that of a label counts."""
    found = {number.column: name for name, number in mapped.metrics.items()}
    found |= dict.fromkeys(mapped.round.used if mapped.round else (), ROUND)
    found |= {name: role for role in MOMENTS if (name := getattr(mapped, role)) is not None}
    return found | dict.fromkeys(mapped.label_columns(), LABEL)


def _with_plain_numbers(table: Table, labels: Collection[str]) -> Table:
    """The table with numbers in digits and a point, and without marks of missing numbers."""
    changed: dict[str, list[str]] = {}
    for name in table.columns:
        if name in labels or _SOURCE.match(name.casefold()):
            continue
        cells = [row[name] for row in table.rows]
        numbers = [
            "" if is_missing(cell) else without_spread(plain(cell, table.commas)) for cell in cells
        ]
        filled = [cell for cell in numbers if cell]
        if numbers != cells and filled and sum(map(_is_number, filled)) >= 0.75 * len(filled):
            changed[name] = numbers
    if not changed:
        return table
    rows = [
        replace(row, cells={**row.cells, **{name: cells[at] for name, cells in changed.items()}})
        for at, row in enumerate(table.rows)
    ]
    return replace(table, rows=rows)


def _is_number(cell: str) -> bool:
    found = _WITH_UNIT.fullmatch(cell)
    return bool(_PLAIN.fullmatch(cell) or (found and unit_of(found[2])))


def _column(table: Table, name: str, declared: str | None, role: str) -> Column:
    cells = [row[name] for row in table.rows if row[name]]
    if not cells:
        return Column(name, "empty")
    if _SOURCE.match(name.casefold()):
        return Column(name, "source")
    plain_ = [cell for cell in cells if _PLAIN.fullmatch(cell)]
    if len(plain_) >= 0.75 * len(cells):
        if role in MOMENTS:
            return Column(name, "moment", role=role)
        if _is_id(name, cells, role) and declared is None:
            return Column(name, "id", role=role)
        return replace(_number(table, name, plain_, declared), role=role)
    if sum(bool(_STAMP.match(cell)) for cell in cells) >= 0.75 * len(cells):
        return Column(name, "moment", role=role)
    units = [m[2] for cell in cells if (m := _WITH_UNIT.fullmatch(cell))]
    known = {unit[0] for u in units if (unit := unit_of(u))}
    if len(units) >= 0.75 * len(cells) and len(known) == 1:
        return Column(name, "number", known.pop(), in_cell=True, role=role)
    longest = max(map(len, cells))
    if _ID.search(name.casefold()) or (longest > 90 and len(set(cells)) > 0.5 * len(cells)):
        return Column(name, "id", role=role)
    return Column(name, "word", role=role)


def _is_id(name: str, cells: Sequence[str], role: str) -> bool:
    """Whether the numbers of a column are those of the runs, and not a count of runs."""
    text = name.casefold()
    numbered = bool(_NUMBER_OF_RUN.match(text)) and len(set(cells)) > 1
    return role == ROUND or numbered or (bool(_ID.search(text)) and text != "n")


def _is_exact(name: str, dimension: str, cells: Sequence[str]) -> bool:
    """Whether the numbers are counts, or nominal such as a line rate: they are not rounded."""
    words = tokens(name)
    nominal = {"nominal", "rated"} & {*words} or {"line", "rate"} <= {*words}
    counted = dimension in COUNTS or (not dimension and words and words[-1] in _COUNTED)
    return (
        bool(counted or (nominal and dimension != "ratio"))
        and _STATISTICS.isdisjoint(words)
        and all(map(str.isdigit, cells))
    )


def _measured(name: str, columns: Collection[str]) -> str:
    """The name without a "min" at its end that is a minimum, not minutes.

    It is one if the rest of the name has a unit, or if the table also has the maximum.
    """
    rest = re.sub(r"[ _]min$", "", name, flags=re.IGNORECASE)
    if rest == name:
        return name
    maximum = {f"{rest}{gap}max".casefold() for gap in (" ", "_")}
    least = unit_of_name(rest) is not None or maximum & {one.casefold() for one in columns}
    return rest if least else name


def _number(table: Table, name: str, cells: list[str], declared: str | None) -> Column:
    places = Counter(len(cell.partition(".")[2]) for cell in cells if "e" not in cell.casefold())
    decimals = max(places, key=lambda p: (places[p], -p)) if places else 0
    stem = re.sub(r"_(reported|printed|value)$", "", name)
    beside = next(
        (c for c in (f"{name}_unit", f"{stem}_unit", "unit") if c in table.columns and c != name),
        None,
    )
    if declared is not None:
        known = unit_of(declared) or (declared, 1.0)
        exact = _is_exact(name, known[0], cells)
        return Column(name, "number", *known, decimals=decimals, exact=exact)
    if beside is not None and (beside != "unit" or name in ("value", "low", "high")):
        units = [u for row in table.rows if row[name] and (u := _row_unit(row[beside]))]
        kinds = {u[0] for u in units}
        if beside == "unit":
            return Column(name, "number", "mixed", unit_column=beside)
        if len(kinds) == 1:
            return Column(name, "number", kinds.pop(), unit_column=beside, decimals=decimals)
    named = unit_of_name(_measured(name, table.columns)) or ("", 1.0)
    exact = _is_exact(name, named[0], cells)
    return Column(name, "number", *named, decimals=decimals, exact=exact)
