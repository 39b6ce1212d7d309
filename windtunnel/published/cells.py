"""Numbers as spreadsheets write them: ``1,072.9``, ``12,5``, ``+26.9``, ``3255 ± 92``, ``n/a``.

A cell with a comma is a number only if the rest of its table shows what the comma means. Without
this, ``2,002`` can be 2002 or 2.002, and the cell stays a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Commas = Literal["unknown", "thousands", "decimals"]
"""What a comma in a number of a table separates."""

MISSING = frozenset({"n/a", "na", "n.a.", "n.a", "nan", "null", "-", "--", "\u2013", "\u2014"})
"""Cells that state that there is no number."""
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_POINT = re.compile(r"[-+]?\d+\.\d+", re.ASCII)
_DECIMALS = re.compile(r"[-+]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+),\d+", re.ASCII)
_GROUP_OF_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_LEADING = re.compile(r"[-+]?\d[\d.,]*(?![\d.,])", re.ASCII)
_SPREAD = re.compile(r"\s*(?:\u00b1|\+/-|\+-)\s*\d[\d.,]*\s*(%|[A-Za-z]+)?", re.ASCII)


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or states that there is no number."""
    return not cell or cell.casefold() in MISSING


def commas_of(cells: Iterable[str], separator: str) -> Commas:
    """What a comma means in the numbers of these cells of one table.

    Points before decimals show that it separates thousands, other than three digits after a
    comma that it separates decimals. Decimal commas are possible only in a file whose separator
    is not the comma. If both are there, it is unknown.
    """
    thousands = decimals = False
    for cell in cells:
        if "," in cell:
            thousands |= bool(_THOUSANDS.fullmatch(cell)) and ("." in cell or cell.count(",") > 1)
            decimals |= bool(_DECIMALS.fullmatch(cell)) and not _THOUSANDS.fullmatch(cell)
        elif _POINT.fullmatch(cell):
            thousands |= not _GROUP_OF_POINTS.fullmatch(cell)
    if decimals and separator == ",":
        return "unknown"
    if thousands == decimals:
        return "unknown"
    return "thousands" if thousands else "decimals"


def plain(cell: str, commas: Commas) -> str:
    """A cell with its number in digits and a point; other cells are unchanged.

    A unit after the number stays: ``1,072.9 s`` is ``1072.9 s``.
    """
    text = cell.replace("\u2212", "-")
    found = _LEADING.match(text)
    if found is None:
        return cell
    number, rest = found[0], text[found.end() :]
    if "," in number:
        if commas == "thousands" and _THOUSANDS.fullmatch(number):
            number = number.replace(",", "")
        elif commas == "decimals" and _DECIMALS.fullmatch(number):
            number = number.replace(".", "").replace(",", ".")
        else:
            return cell
    elif commas == "decimals" and _GROUP_OF_POINTS.fullmatch(number):
        number = number.replace(".", "")  # with 987,5 in the table: thousands
    return number.removeprefix("+") + rest


def without_spread(cell: str) -> str:
    """``3255`` of ``3255 ± 92``; other cells are unchanged."""
    found = _LEADING.match(cell)
    if found is None:
        return cell
    spread = _SPREAD.fullmatch(cell, found.end())
    return (
        f"{found[0]} {spread[1]}".strip()
        if spread and spread[1]
        else (found[0] if spread else cell)
    )
