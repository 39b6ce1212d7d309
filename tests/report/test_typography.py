"""Lines break between words, and never between a number and its unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.report.typography import bound, words, wrapped

TEXT = "teragen took 93.1 s [90.2 s, 96.0 s], n = 3; network 664 MB/s, 89 % of 10 Gb/s, 24 disks"


@pytest.mark.parametrize(
    "together", ["93.1 s", "[90.2 s, 96.0 s],", "n = 3;", "664 MB/s,", "89 %", "10 Gb/s,"]
)
def test_a_number_shares_a_line_with_its_unit(together: str) -> None:
    for width in range(20, 90):
        assert any(together in line for line in wrapped(TEXT, width)), width


def test_what_is_wider_than_a_line_breaks_where_it_has_blanks() -> None:
    assert wrapped("took [90.2 s, 96.0 s]", 8) == ["took", "[90.2 s,", "96.0 s]"]


def test_a_word_before_a_unit_is_no_number() -> None:
    assert words("the tail s of") == ["the", "tail", "s", "of"]


@given(st.text(alphabet="ab1 %[],sGB/", max_size=60), st.integers(1, 30))
def test_no_character_is_lost_and_no_line_too_long(text: str, width: int) -> None:
    lines = wrapped(text, width)

    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= width for line in lines)
    assert bound(bound(text)) == bound(text)
