"""Errors in the text of a study: more kinds of :mod:`tests.support.planted`."""

from __future__ import annotations

import random
import re

from tests.support.planted import Planted, Tables, cell_changed, is_number, kind, pick, scaled

_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?= (?:times|%|s|min|MB/s|W)\b| %)")


@kind("claim beyond the results")
def beyond(tables: Tables, draw: random.Random) -> Planted | None:
    """The text claims a gain or a loss that no pair of results has."""
    cells = [
        (file, c, row)
        for file, table in tables.items()
        if re.search("claim|facts", file)
        for c in table.columns
        if c in ("value", "low", "high")
        for row in table.rows
        if is_number(row[c]) and re.search(r"percent|%|factor|times", " ".join(row.cells.values()))
    ]
    cell = pick(cells, draw)
    return cell and cell_changed(
        "claim beyond the results", tables, cell, scaled(cell[2][cell[1]], draw.choice((2.5, 4.0)))
    )


@kind("wrong number in a sentence")
def in_a_sentence(tables: Tables, draw: random.Random) -> Planted | None:
    """A result, a percentage or a factor in a sentence is wrong by 40 % to 100 %."""
    cells = [
        (file, "sentence", row)
        for file, table in tables.items()
        if "sentence" in table.columns
        for row in table.rows
        if _NUMBER.search(row["sentence"])
    ]
    cell = pick(cells, draw)
    if cell is None:
        return None
    text, factor = cell[2]["sentence"], draw.choice((0.6, 1.4, 2.0))
    new = _NUMBER.sub(lambda found: scaled(found[0], factor), text)
    return cell_changed("wrong number in a sentence", tables, cell, new)
