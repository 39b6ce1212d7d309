"""Texts of ``review.yaml`` with ``{NAME}``, which stands for a column of a row or a word."""

from __future__ import annotations

import re
from collections.abc import Mapping

from windtunnel.errors import DescriptionError

_NAME = re.compile(r"\{([^{}]*)\}")


def names_to_fill(text: str) -> list[str]:
    """The names in braces, in the order of the text."""
    return _NAME.findall(text)


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each ``{NAME}`` replaced by its word.

    A name can contain any signs except braces: it is no format of Python.

    Raises
    ------
    DescriptionError
        If a name has no word. Relations from a file are checked when they are read.
    """

    def word(found: re.Match[str]) -> str:
        if found[1] not in words:
            raise DescriptionError(
                f"there is no column and no word '{found[0]}' for '{text}'",
                remedy=f"the names are: {', '.join(sorted(words)) or 'none'}.",
            )
        return words[found[1]]

    return _NAME.sub(word, text)
