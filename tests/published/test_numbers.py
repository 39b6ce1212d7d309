"""Printed numbers as spans: rounding is never a contradiction, a real difference always is one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.published.numbers import (
    TAKES,
    NumberError,
    Span,
    evaluate,
    geometric_mean,
    mean,
    names_in,
    printed,
)

numbers = st.floats(0.01, 1e6, allow_nan=False)
decimals = st.integers(0, 6)


@given(numbers, decimals)
def test_the_span_of_a_rounded_number_holds_the_number(value: float, places: int) -> None:
    assert printed(f"{value:.{places}f}").meets(Span.exact(value))


@given(numbers, decimals)
def test_a_number_that_was_cut_off_is_held_too(value: float, places: int) -> None:
    cut = math.floor(value * 10**places) / 10**places
    assert printed(f"{cut:.{places}f}", "cut").meets(Span.exact(value))
    assert printed(f"{-cut:.{places}f}", "cut").meets(Span.exact(-value))


@given(numbers, numbers, decimals)
def test_products_and_sums_of_rounded_numbers_hold_the_true_ones(
    a: float, b: float, places: int
) -> None:
    spans = {"a": printed(f"{a:.{places}f}"), "b": printed(f"{b:.{places}f}")}
    assert evaluate("a * b", spans).meets(Span.exact(a * b))
    assert evaluate("a + b", spans).meets(Span.exact(a + b))
    assert evaluate("a - b", spans).meets(Span.exact(a - b))


@given(st.lists(numbers, min_size=1, max_size=9))
def test_the_mean_of_rounded_numbers_holds_the_true_mean(values: list[float]) -> None:
    spans = [printed(f"{value:.2f}") for value in values]
    assert mean(spans).meets(Span.exact(math.fsum(values) / len(values)))


@given(st.lists(numbers, min_size=1, max_size=9))
def test_the_geometric_mean_is_never_above_the_arithmetic_one(values: list[float]) -> None:
    spans = [Span.exact(value) for value in values]
    assert geometric_mean(spans).value <= mean(spans).value * (1 + 1e-12)


@pytest.mark.parametrize(
    ("text", "digits", "low", "high"),
    [
        ("18.3", "printed", 18.25, 18.35),
        ("3212", "printed", 3211.5, 3212.5),
        ("1.37", "cut", 1.365, 1.38),
        ("-12", "cut", -13.0, -11.5),
        ("0", "cut", -1.0, 1.0),
        ("30", "about", 25.0, 40.0),
        ("33", "about", 32.5, 34.0),
        ("-50", "about", -60.0, -45.0),
        ("0", "printed", -0.5, 0.5),
    ],
)
def test_the_tolerance_is_that_of_the_digits(
    text: str, digits: str, low: float, high: float
) -> None:
    span = printed(text, digits)  # type: ignore[arg-type]
    assert (span.low, span.high) == pytest.approx((low, high))


def test_final_zeros_that_a_spreadsheet_dropped_count_as_printed() -> None:
    assert printed("13", decimals=2).high == pytest.approx(13.005)


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf", "1,000"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(NumberError):
        printed(text)


@pytest.mark.parametrize(
    "expression", ["a.b", "__import__('os')", "a ** 2", "f(a)", "a if a else b", "'x'", "a +", "c"]
)
def test_an_expression_may_do_arithmetic_only(expression: str) -> None:
    with pytest.raises(NumberError):
        evaluate(expression, {"a": Span.exact(1.0), "b": Span.exact(2.0)})


def test_a_text_that_is_no_expression_has_no_names() -> None:
    for text in ("per host", "", "a +", "(" * 500):
        with pytest.raises(NumberError):
            names_in(text)


def test_names_with_spaces_and_signs_are_quoted() -> None:
    spans = {"time (s)": Span.exact(6.0), "a-b": Span.exact(2.0), "a": Span.exact(1.0)}
    assert evaluate("`time (s)` / `a-b` + a", spans).value == 4.0
    assert names_in("abs(`time (s)`) - a") == {"abs", "time (s)", "a"}
    with pytest.raises(NumberError, match="no number 'map'"):
        evaluate("`map`", spans)


def test_a_division_by_what_may_be_zero_is_refused() -> None:
    with pytest.raises(NumberError):
        evaluate("1 / a", {"a": printed("0")})


def test_takes() -> None:
    spans = [Span.exact(value) for value in (2.0, 8.0)]
    found = {name: take(spans).value for name, take in TAKES.items() if name != "one"}
    assert found == {
        "mean": 5.0,
        "geometric mean": pytest.approx(4.0),
        "sum": 10.0,
        "harmonic mean": 3.2,
        "median": 5.0,
        "least": 2.0,
        "most": 8.0,
        "count": 2.0,
    }
    with pytest.raises(NumberError):
        TAKES["one"](spans)
