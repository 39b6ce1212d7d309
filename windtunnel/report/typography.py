"""Typography that all renderers share: numbers stay with their units, lines break between words."""

from __future__ import annotations

import re
import textwrap

NBSP = "\N{NO-BREAK SPACE}"
_UNITS = (
    r"%|[kMGTP]?i?[bB](?:/s|ytes)?|[kMGT]b/s|[mµ]?s|min|h|[kM]?Wh?|[kMG]?J(?: s)?|[kMG]Hz|GbE|"
    r"ops/s|rows/s|times|"
    r"(?:trial|round|treatment|disk|host|node|core|thread|worker|comparison|cell|factor)s?"
)
_UNIT = re.compile(rf"(?<=[\d*]) (?=(?:{_UNITS})(?![\w/]))")
_COUNT = re.compile(r"\bn = (?=\d)")
_INTERVAL = re.compile(r"\[[^\[\]]{1,40}\]")


def bound(text: str) -> str:
    """The text with no-break spaces between a number and its unit, and within an interval."""
    whole = _COUNT.sub(f"n{NBSP}={NBSP}", _UNIT.sub(NBSP, text))
    return _INTERVAL.sub(_together, whole)


def _together(found: re.Match[str]) -> str:
    """An interval of numbers without a place where a line may break."""
    text = found[0]
    return text.replace(" ", NBSP) if any(c.isdigit() for c in text) else text


def words(text: str) -> list[str]:
    """The parts of a text between which a line may break."""
    return [word for word in bound(text).split(" ") if word]


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text of at most ``width`` characters, with plain spaces.

    A number and its unit share a line unless both together are wider than a line.
    """
    parts = (word if len(word) <= width else word.replace(NBSP, " ") for word in words(text))
    lines = textwrap.wrap(" ".join(parts), width, break_on_hyphens=False)
    return [line.replace(NBSP, " ") for line in lines] or [""]
