"""Statements of the text: one row of a list, or one sentence, with its number and its unit.

Where a statement was printed (section, page, figure) is not part of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.published.checks.wording import reworded
from windtunnel.published.profile import Column, Profile, tokens, unit_of
from windtunnel.published.table import Row

LOCATIONS = frozenset(
    {"section", "place", "where", "page", "source", "figure", "table", "chapter", "paragraph"}
)
PERCENT = frozenset({"percent", "%", "pct"})
FACTOR = frozenset({"factor", "x", "times", "fold"})
VALUES = ("value", "low", "high")
STATED = "#"
"""Replaces the stated number and its unit in the words of a statement."""

_REPEATED = re.compile(r"\b(?:ran|runs?|repeated|executed|measured) $")
"""Before "3 times", which is then no factor, unless one of the next words follows."""
_CHANGE = re.compile(r"\s+(?:faster|slower|more|less|longer|shorter|higher|lower)\b")
_NUMBER = r"(?<![\w.,/-])(\d+(?:\.\d+)?)"
_UNIT = r"(?:\s*(%)|\s+(percent|per cent|pct|times)\b|\s*(x)\b(?!\s*\d)|[\s-]?(fold)\b)"
_AMOUNT = re.compile(_NUMBER + _UNIT)
_WITH_UNIT = re.compile(_NUMBER + r"\s*([A-Za-z]+(?:/[A-Za-z]+)?)\b")


@dataclass(frozen=True)
class Statement:
    """A stated number with the words about it; ``column`` is the column of the number.

    ``kind`` is ``percent``, ``factor`` or empty, or the unit of an amount; ``words`` are in lower
    case.
    """

    row: Row
    column: str
    text: str
    number: str
    kind: str
    words: str

    @property
    def shown(self) -> str:
        """The number with its unit, as a point prints it."""
        return f"{self.number} %" if self.kind == "percent" else self.number


def is_location(column: Column) -> bool:
    """Whether a column only states where a sentence was printed."""
    return bool(column.words) and column.words <= LOCATIONS


def listed(profile: Profile) -> Iterator[tuple[Row, str, Column]]:
    """Rows of a list of statements, with their words and the columns of their numbers."""
    values = [c for c in profile.columns.values() if c.name in VALUES]
    yield from _rows(profile, values)


def _rows(profile: Profile, values: list[Column]) -> Iterator[tuple[Row, str, Column]]:
    if "unit" not in profile.columns:
        return
    words = [
        c
        for c in profile.columns.values()
        if (c.kind == "word" or _sentences(profile, c)) and c.name != "unit" and not is_location(c)
    ]
    for row in profile.table.rows:
        text = " ".join(row[c.name].replace("_", " ") for c in words)
        for column in values:
            if row[column.name]:
                yield row, text, column


def statements(profile: Profile) -> Iterator[Statement]:
    """The percentages and factors of a table of statements."""
    if "unit" not in profile.columns:
        yield from _of_sentences(profile)
        return
    values = [c for c in profile.columns.values() if c.name in VALUES]
    others = [c for c in profile.numbers if not is_location(c)]
    for row, text, column in _rows(profile, values or (others if len(others) == 1 else [])):
        unit, _, rest = row["unit"].casefold().partition(" ")
        kind = "percent" if unit in PERCENT else "factor" if unit in FACTOR else ""
        words = f"{text} {rest}".casefold()
        stated = rf"(?<![\w.,/-]){re.escape(row[column.name])}{_UNIT}"
        yield Statement(row, column.name, text, row[column.name], kind, _marked(words, stated))


def _marked(words: str, stated: str) -> str:
    return re.sub(stated, STATED, words)


def _of_sentences(profile: Profile) -> Iterator[Statement]:
    """Sentences in one column that contain exactly one percentage or factor."""
    name = _column_of_sentences(profile)
    if name is None:
        return
    for row in profile.table.rows:
        words = reworded(row[name])
        found = [m for m in _AMOUNT.finditer(words) if not _count_of_runs(m)]
        if len(found) != 1:
            continue
        kind = "percent" if found[0][2] or found[0][3] not in (None, "times") else "factor"
        marked = f"{words[: found[0].start()]}{STATED}{words[found[0].end() :]}"
        yield Statement(row, name, row[name], found[0][1], kind, marked)


def amounts(profile: Profile) -> Iterator[Statement]:
    """The statements with exactly one number that has the unit of a result, and no other ratio."""
    if "unit" in profile.columns:
        values = [c for c in profile.columns.values() if c.name == "value"]
        for row, text, column in _rows(profile, values):
            if _of_result(row["unit"]):
                number, words = row[column.name], text.casefold()
                yield Statement(row, column.name, text, number, row["unit"], f"{words} {STATED}")
        return
    name = _column_of_sentences(profile)
    if name is None:
        return
    for row in profile.table.rows:
        words = row[name]
        found = [m for m in _WITH_UNIT.finditer(words) if _of_result(m[2])]
        if len(found) != 1 or _AMOUNT.search(words.casefold()):
            continue
        marked = f"{words[: found[0].start()]}{STATED}{words[found[0].end() :]}".casefold()
        yield Statement(row, name, words, found[0][1], found[0][2], marked)


def _of_result(unit: str) -> bool:
    """Whether a unit is one of times, energies, powers, rates or prices, and not of sizes."""
    found = unit_of(unit)
    return found is not None and (
        found[0] in ("s", "J", "W") or found[0].endswith("/s") or found[0].startswith("price ")
    )


def _column_of_sentences(profile: Profile) -> str | None:
    """The name of the only column, apart from places, if it has sentences."""
    rest = [c for c in profile.columns.values() if not is_location(c) and c.kind != "empty"]
    return rest[0].name if len(rest) == 1 and _sentences(profile, rest[0]) else None


def _count_of_runs(amount: re.Match[str]) -> bool:
    """Whether "3 times" is how often something ran."""
    words = amount.string
    return (
        amount[3] == "times"
        and _REPEATED.search(words[: amount.start()]) is not None
        and _CHANGE.match(words, amount.end()) is None
    )


def _sentences(profile: Profile, column: Column) -> bool:
    """Whether most cells of a column of words have the length of a sentence."""
    if column.kind not in ("word", "id"):
        return False
    cells = [row[column.name] for row in profile.table.rows if row[column.name]]
    return sum(len(tokens(cell)) >= 4 for cell in cells) > len(cells) / 2
