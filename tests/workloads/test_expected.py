"""Comparing answers: the last digits of sums may differ, nothing else may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.workloads.expected import check_answers, check_files

ROWS = [{"c": "a", "n": 3, "mean": 1.5}, {"c": "b", "n": 4, "mean": 2.25}]


def changed(place: int, **facts: object) -> list[dict[str, object]]:
    return [{**row, **facts} if i == place else dict(row) for i, row in enumerate(ROWS)]


def test_the_same_answer_passes_and_says_how_much_it_was() -> None:
    found = check_answers("answer", ROWS, [dict(row) for row in ROWS])
    assert found.passed and found.expected == found.got
    assert found.got.startswith("2 rows, SHA-256 ")


def test_rounding_of_another_order_of_adding_passes() -> None:
    assert check_answers("answer", ROWS, changed(1, mean=2.25 * (1 + 1e-13))).passed


@given(st.floats(1e-8, 1) | st.floats(-1, -1e-8))
def test_a_mean_that_is_off_is_found(error: float) -> None:
    assert not check_answers("answer", ROWS, changed(1, mean=2.25 * (1 + error))).passed


@given(st.integers(-5, 5).filter(bool))
def test_a_count_that_is_off_is_found(off: int) -> None:
    found = check_answers("answer", ROWS, changed(0, n=3 + off))
    assert not found.passed
    assert (found.expected, found.got) == ("c a, n 3, mean 1.5", f"c a, n {3 + off}, mean 1.5")


def test_a_lost_row_an_extra_row_and_a_missing_column_are_found() -> None:
    assert check_answers("answer", ROWS, ROWS[:1]).got == "none"
    assert check_answers("answer", ROWS[:1], ROWS).expected == "none"
    assert not check_answers("answer", ROWS, [{"c": "a", "n": 3}, ROWS[1]]).passed
    assert not check_answers("answer", ROWS, changed(0, mean=None)).passed
    assert not check_answers("answer", ROWS, [ROWS[1], ROWS[0]]).passed


def test_files_are_compared_by_name_size_copies_and_checksum() -> None:
    files = [{"path": f"p/{n}", "bytes": 10, "replication": 2, "checksum": n} for n in "ab"]
    assert check_files("files", files, files[::-1]).passed
    lost = check_files("files", files, files[:1])
    assert (lost.passed, lost.got) == (False, "none")
    assert lost.expected.startswith("p/b: bytes 10")
    for fact in ({"bytes": 11}, {"replication": 1}, {"checksum": "x"}):
        assert not check_files("files", files, [files[0], {**files[1], **fact}]).passed
    assert not check_files("files", files[:1], files).passed
