"""Texts with names in braces."""

from __future__ import annotations

import pytest

from windtunnel.errors import DescriptionError
from windtunnel.published.filled import filled, names_to_fill


def test_names_are_replaced_and_no_formats() -> None:
    assert filled("{a b}, {c[0]}: {", {"a b": "1", "c[0]": "{x}"}) == "1, {x}: {"
    assert names_to_fill("{a b}, {c[0]}: {") == ["a b", "c[0]"]


def test_a_name_without_a_word_is_an_error() -> None:
    with pytest.raises(DescriptionError, match="no column and no word") as caught:
        filled("{b:02d}", {"b": "1"})
    assert caught.value.remedy == "the names are: b."
