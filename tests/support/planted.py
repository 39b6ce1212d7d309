"""Errors that real studies contain, planted one at a time into tables, with a seed.

The kinds were listed before the checks of ``windtunnel review`` were written: they are what goes
wrong between a measurement and its publication. A planter changes tables and knows no check.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from windtunnel.published.table import Row, Table

Tables = Mapping[str, Table]

PART_TABLES = ("pric", "part", "bill")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_ID = re.compile(r"(^|_)(run|round|id|line|level|n|quantity|vms_per_host)($|_)|_unit$|source")
_SUMMARY = re.compile(r"mean|average|avg")


@dataclass(frozen=True)
class Planted:
    """Tables with one error: its kind, and the file and the lines that it touched."""

    kind: str
    tables: Tables
    file: str
    lines: frozenset[int]
    what: str


Planter = Callable[[Tables, random.Random], Planted | None]
KINDS: dict[str, Planter] = {}


def kind(name: str) -> Callable[[Planter], Planter]:
    """Register a planter under the name of its kind of error."""

    def add(planter: Planter) -> Planter:
        KINDS[name] = planter
        return planter

    return add


# --- cells ----------------------------------------------------------------------------------


def is_number(text: str) -> bool:
    """Whether a cell is a plain number, as printed."""
    return _NUMBER.fullmatch(text) is not None


def _numeric(table: Table) -> list[str]:
    """Columns of numbers that are results: no run numbers, identifiers or sources."""
    found = []
    for column in table.columns:
        filled = [row[column] for row in table.rows if row[column]]
        numbers = sum(map(is_number, filled))
        if not _ID.search(column) and numbers >= 0.8 * max(len(filled), 1) and len(filled) > 1:
            found.append(column)
    return found


def _cells(tables: Tables, match: str = "", table: str = "") -> list[tuple[str, str, Row]]:
    """Cells with a number other than 0, in columns and tables that match."""
    return [
        (file, column, row)
        for file, one in tables.items()
        if re.search(table, file)
        for column in _numeric(one)
        if re.search(match, column)
        for row in one.rows
        if is_number(row[column]) and float(row[column]) != 0
    ]


def pick(cells: list[tuple[str, str, Row]], draw: random.Random) -> tuple[str, str, Row] | None:
    """One cell: first the table, then the column, then the row, so that long tables weigh 1."""
    for position in (0, 1):
        names = sorted({str(cell[position]) for cell in cells})
        if not names:
            return None
        name = draw.choice(names)
        cells = [cell for cell in cells if cell[position] == name]
    return draw.choice(cells)


def _with(tables: Tables, file: str, changed: Mapping[int, Mapping[str, str]]) -> Tables:
    """The tables with new cells, by line."""
    old = tables[file]
    rows = [Row({**row.cells, **changed.get(row.line, {})}, row.line, row.file) for row in old.rows]
    return {**tables, file: Table(old.name, old.columns, rows)}


def cell_changed(
    name: str, tables: Tables, cell: tuple[str, str, Row] | None, new: str
) -> Planted | None:
    if cell is None or new == cell[2][cell[1]]:
        return None
    file, column, row = cell
    what = f"{file}:{row.line} {column}: {row[column]} -> {new}"
    return Planted(
        name, _with(tables, file, {row.line: {column: new}}), file, frozenset({row.line}), what
    )


def scaled(text: str, factor: float, draw: random.Random | None = None) -> str:
    """A number times a factor, with the same number of decimals."""
    decimals = len(text.partition(".")[2])
    return f"{float(text) * factor:.{decimals}f}"


# --- kinds: digits and units ----------------------------------------------------------------


@kind("transposed digits")
def transposed(tables: Tables, draw: random.Random) -> Planted | None:
    """Two adjacent digits are exchanged."""
    cell = pick([c for c in _cells(tables) if len(c[2][c[1]].strip("-0.")) > 2], draw)
    if cell is None:
        return None
    text = cell[2][cell[1]]
    pairs = [
        i for i in range(len(text) - 1) if text[i : i + 2].isdigit() and text[i] != text[i + 1]
    ]
    if not pairs:
        return None
    at = draw.choice(pairs[:2])
    return cell_changed(
        "transposed digits", tables, cell, text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    )


@kind("decimal shift")
def decimal_shift(tables: Tables, draw: random.Random) -> Planted | None:
    """The decimal point is one place off."""
    cell = pick(_cells(tables), draw)
    return cell and cell_changed(
        "decimal shift", tables, cell, scaled(cell[2][cell[1]], draw.choice((0.1, 10)))
    )


@kind("wrong unit")
def wrong_unit(tables: Tables, draw: random.Random) -> Planted | None:
    """One cell in another unit than its column: seconds for minutes, MB for GB, Wh for kWh."""
    match = r"(_|\b)(s|min|h|gb|gib|mb|kwh|wh|kj|w)(\b|$)|elapsed|seconds|minutes|energy"
    cell = pick(_cells(tables, match), draw)
    if cell is None:
        return None
    factor = 60 if re.search(r"elapsed|_s$|min|_h$|sec|hour", cell[1]) else 1000
    return cell_changed(
        "wrong unit", tables, cell, scaled(cell[2][cell[1]], draw.choice((factor, 1 / factor)))
    )


@kind("sign error")
def sign_error(tables: Tables, draw: random.Random) -> Planted | None:
    """A minus sign too many or too few."""
    cell = pick(_cells(tables), draw)
    return cell and cell_changed(
        "sign error",
        tables,
        cell,
        f"{cell[2][cell[1]]}".removeprefix("-")
        if cell[2][cell[1]].startswith("-")
        else f"-{cell[2][cell[1]]}",
    )


@kind("impossible zero")
def impossible_zero(tables: Tables, draw: random.Random) -> Planted | None:
    """A sample that was not taken is recorded as 0."""
    return cell_changed("impossible zero", tables, pick(_cells(tables), draw), "0")


@kind("rounding too coarse")
def too_coarse(tables: Tables, draw: random.Random) -> Planted | None:
    """All values of a column are rounded until the differences disappear."""
    picked = pick(_cells(tables, r"elapsed|seconds|time|_s$|_min|kwh|energy|duration"), draw)
    if picked is None:
        return None
    file, column, _ = picked
    rows = [r for r in tables[file].rows if is_number(r[column]) and float(r[column])]
    if len(rows) < 4:
        return None
    digits = len(f"{int(max(abs(float(r[column])) for r in rows))}")
    place = 10 ** (digits - 1)
    changed = {r.line: {column: f"{round(float(r[column]) / place) * place:.0f}"} for r in rows}
    lines = frozenset(changed)
    return Planted(
        "rounding too coarse",
        _with(tables, file, changed),
        file,
        lines,
        f"{file} {column}: to {place}",
    )


# --- kinds: rows and columns ----------------------------------------------------------------


@kind("shifted column")
def shifted(tables: Tables, draw: random.Random) -> Planted | None:
    """From some row on, a column is one row too low, as after an inserted cell."""
    picked = pick(_cells(tables), draw)
    if picked is None:
        return None
    file, column, _ = picked
    rows = list(tables[file].rows)
    if len(rows) < 5:
        return None
    start = draw.randrange(0, max(1, len(rows) - 4))
    block = rows[start : start + draw.randint(4, 8)]
    changed = {b.line: {column: a[column]} for a, b in itertools.pairwise(block)}
    lines = frozenset(b.line for a, b in itertools.pairwise(block) if a[column] != b[column])
    return (
        lines
        and Planted(
            "shifted column",
            _with(tables, file, changed),
            file,
            lines,
            f"{file} {column} from line {block[0].line}",
        )
    ) or None


@kind("filled-down value")
def filled_down(tables: Tables, draw: random.Random) -> Planted | None:
    """A cell repeats the one above it."""
    cell = pick(_cells(tables), draw)
    if cell is None:
        return None
    rows = list(tables[cell[0]].rows)
    at = rows.index(cell[2])
    return (
        cell_changed("filled-down value", tables, cell, rows[at - 1][cell[1]])
        if at and is_number(rows[at - 1][cell[1]])
        else None
    )


@kind("duplicated row")
def duplicated(tables: Tables, draw: random.Random) -> Planted | None:
    """A row is twice in a table."""
    cell = pick(_cells(tables), draw)
    if cell is None:
        return None
    file, _, row = cell
    old = tables[file]
    last = old.rows[-1].line + 1
    rows = [*old.rows, Row(row.cells, last, row.file)]
    what = f"{file}:{row.line} again as line {last}"
    return Planted(
        "duplicated row",
        {**tables, file: Table(old.name, old.columns, rows)},
        file,
        frozenset({last, row.line}),
        what,
    )


def _rows_with_results(tables: Tables, draw: random.Random) -> tuple[str, list[str]] | None:
    cell = pick(_cells(tables), draw)
    if cell is None or len(tables[cell[0]].rows) < 4:
        return None
    return cell[0], _numeric(tables[cell[0]])


@kind("swapped labels")
def swapped(tables: Tables, draw: random.Random) -> Planted | None:
    """Two rows have exchanged one label."""
    found = _rows_with_results(tables, draw)
    if found is None:
        return None
    file, numeric = found
    table = tables[file]
    words = [
        c
        for c in table.columns
        if c not in numeric
        and not _ID.search(c)
        and len({r[c] for r in table.rows}) > 1
        and not any(is_number(r[c]) for r in table.rows)
    ]
    if not words:
        return None
    column = draw.choice(words)
    a = draw.choice(list(table.rows))
    others = [r for r in table.rows if r[column] != a[column]]
    b = draw.choice(others)
    changed = {a.line: {column: b[column]}, b.line: {column: a[column]}}
    return Planted(
        "swapped labels",
        _with(tables, file, changed),
        file,
        frozenset(changed),
        f"{file}:{a.line},{b.line} {column}",
    )


@kind("stale copy")
def stale(tables: Tables, draw: random.Random) -> Planted | None:
    """The results of one row are those of another row, left from a copy."""
    found = _rows_with_results(tables, draw)
    if found is None:
        return None
    file, numeric = found
    a, b = draw.sample(list(tables[file].rows), 2)
    new = {c: a[c] for c in numeric if a[c] != b[c]}
    if not new:
        return None
    return Planted(
        "stale copy",
        _with(tables, file, {b.line: new}),
        file,
        frozenset({a.line, b.line}),
        f"{file}:{b.line} = {a.line}",
    )


@kind("wrong date order")
def date_order(tables: Tables, draw: random.Random) -> Planted | None:
    """Day and month, or start and end, are exchanged, or the day is one off."""
    stamp = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?")
    cells = [
        (file, c, row)
        for file, table in tables.items()
        for c in table.columns
        for row in table.rows
        if stamp.fullmatch(row[c])
    ]
    cell = pick(cells, draw)
    if cell is None:
        return None
    text = cell[2][cell[1]]
    day, month = text[8:10], text[5:7]
    new = (
        f"{text[:5]}{day}-{month}{text[10:]}"
        if int(day) <= 12 and day != month
        else f"{text[:8]}{int(day) % 27 + 1:02d}{text[10:]}"
    )
    return cell_changed("wrong date order", tables, cell, new)


# --- kinds: numbers that depend on others ---------------------------------------------------


def _wrong(name: str, match: str, table: str = "", label: str = "") -> Planter:
    """A planter that changes one derived number by 7 to 60 %."""

    def plant(tables: Tables, draw: random.Random) -> Planted | None:
        cells = [
            c
            for c in _cells(tables, match, table)
            if not label or any(re.search(label, v, re.I) for v in c[2].cells.values())
        ]
        cell = pick(cells, draw)
        if cell is None:
            return None
        size = draw.uniform(0.07, 0.6)
        new = scaled(cell[2][cell[1]], 1 + draw.choice((-1, 1)) * size)
        return cell_changed(name, tables, cell, new)

    KINDS[name] = plant
    return plant


_wrong("wrong total", r"", label=r"^(total|sum|system_subtotal|subtotal)\b")
_wrong("wrong mean", r"elapsed|time|mean|avg|cpu", table="summary")
_wrong("wrong percent", r"pct|percent|change|fraction")
_wrong("energy mismatch", r"kwh|energy|joule|_kj|_wh")


@kind("wrong speed-up")
def wrong_speed_up(tables: Tables, draw: random.Random) -> Planted | None:
    """A stated ratio of two results is off by 7 to 60 %."""
    cell = pick(_cells(tables, r"speed.?up|ratio|relative"), draw)
    return cell and cell_changed(
        "wrong speed-up",
        tables,
        cell,
        scaled(cell[2][cell[1]], 1 + draw.choice((-0.3, 0.07, 0.2, 0.6))),
    )


@kind("ratio inverted")
def inverted(tables: Tables, draw: random.Random) -> Planted | None:
    """A ratio is the other way round."""
    cells = _cells(tables, r"speed.?up|ratio|relative|pct|percent|change|fraction")
    cells = [c for c in cells if abs(float(c[2][c[1]])) < 1000]
    cell = pick(cells, draw)
    if cell is None:
        return None
    text = cell[2][cell[1]]
    percent = re.search(r"pct|percent|change", cell[1])
    ratio = 1 + float(text) / 100 if percent else float(text)
    if ratio <= 0:
        return None
    new = (1 / ratio - 1) * 100 if percent else 1 / ratio
    return cell_changed("ratio inverted", tables, cell, f"{new:.{len(text.partition('.')[2])}f}")


@kind("wrong interval")
def wrong_interval(tables: Tables, draw: random.Random) -> Planted | None:
    """A standard deviation with n instead of n - 1, or an interval that is too narrow."""
    cell = pick(_cells(tables, r"(^|_)(sd|std|stdev|ci|low|high|lower|upper|half)"), draw)
    return cell and cell_changed(
        "wrong interval",
        tables,
        cell,
        scaled(cell[2][cell[1]], draw.choice((0.816, 0.894, 0.45, 1.4))),
    )


@kind("count mismatch")
def count_mismatch(tables: Tables, draw: random.Random) -> Planted | None:
    """The stated number of runs, tests or samples is not the number of rows."""
    cells = [
        (file, c, row)
        for file, table in tables.items()
        for c in table.columns
        for row in table.rows
        if is_number(row[c])
        and (
            re.fullmatch(r"n|runs|samples|count", c)
            or (c == "value" and re.search(r"\bruns\b|tests|samples", " ".join(row.cells.values())))
        )
    ]
    cell = pick(cells, draw)
    return cell and cell_changed(
        "count mismatch", tables, cell, str(int(float(cell[2][cell[1]])) + draw.choice((1, 2)))
    )


# --- kinds: facts ---------------------------------------------------------------------------


def _settings(tables: Tables) -> Iterator[tuple[str, str, Row]]:
    name = re.compile(r"[a-z][\w-]*(\.[\w-]+){1,}")
    for file, table in tables.items():
        for column in table.columns:
            hits = [r for r in table.rows if name.fullmatch(r[column])]
            if len(hits) > 3 or (hits and re.search("setting|config|sysctl", file)):
                yield from ((file, column, row) for row in hits)


@kind("setting misspelt")
def misspelt(tables: Tables, draw: random.Random) -> Planted | None:
    """A letter of the name of a setting is missing, doubled or exchanged."""
    cell = pick(list(_settings(tables)), draw)
    if cell is None:
        return None
    text = cell[2][cell[1]]
    at = draw.randrange(len(text) // 2, len(text) - 1)
    swapped_ = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    new = draw.choice((text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:], swapped_))
    return cell_changed("setting misspelt", tables, cell, new)


@kind("missing setting")
def missing_setting(tables: Tables, draw: random.Random) -> Planted | None:
    """A setting is listed on one side only."""
    cells = list(_settings(tables))
    counts = {(f, c): [r[c] for ff, cc, r in cells if (ff, cc) == (f, c)] for f, c, _ in cells}
    cells = [cell for cell in cells if counts[cell[:2]].count(cell[2][cell[1]]) > 1]
    cell = pick(cells, draw)
    if cell is None:
        return None
    file, column, row = cell
    old = tables[file]
    rows = [r for r in old.rows if r is not row]
    others = frozenset(r.line for r in rows if r[column] == row[column])
    return Planted(
        "missing setting",
        {**tables, file: Table(old.name, old.columns, rows)},
        file,
        others,
        f"{file}:{row.line} {row[column]} removed",
    )


@kind("setting with two values")
def two_values(tables: Tables, draw: random.Random) -> Planted | None:
    """A setting differs between two places that should agree."""
    cells = [c for c in _settings(tables) if is_number(c[2].cells.get("value", ""))]
    names = [c[2][c[1]] for c in cells]
    cell = pick([c for c in cells if names.count(c[2][c[1]]) > 1], draw)
    if cell is None:
        return None
    file, _, row = cell
    text = row["value"]
    new = str(int(float(text)) * 2 + 1)
    return cell_changed("setting with two values", tables, (file, "value", row), new)


@kind("part with two prices")
def two_prices(tables: Tables, draw: random.Random) -> Planted | None:
    """The price of a part differs between two lists."""
    cells = _cells(tables, r"price|usd|eur|cost", "|".join(PART_TABLES))
    cell = pick([c for c in cells if "unit" in c[1] or "each" in c[1]], draw)
    return cell and cell_changed(
        "part with two prices",
        tables,
        cell,
        scaled(cell[2][cell[1]], draw.choice((0.9, 1.1, 1.25))),
    )


def plant(name: str, tables: Tables, seed: int, tries: int = 20) -> Planted | None:
    """One error of this kind, None if the tables have no place for it."""
    draw = random.Random(f"{name}/{seed}")
    for _ in range(tries):
        found = KINDS[name](tables, draw)
        if found is not None:
            return found
    return None
