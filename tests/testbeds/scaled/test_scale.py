"""The scale: how it is written, what is refused, what it means for time."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from windtunnel.testbeds.scaled.scale import Scale, ScaledOptions, format_share, parse_share


@pytest.mark.parametrize(
    ("written", "value"),
    [("1/40", 0.025), (" 3 / 4 ", 0.75), (0.025, 0.025), ("0.5", 0.5), (1, 1.0), ("1.5/3", 0.5)],
)
def test_fractions_and_numbers_are_shares(written: object, value: float) -> None:
    assert parse_share(written) == pytest.approx(value)


@pytest.mark.parametrize(
    "written",
    ["0", 0, -0.1, 2, "3/2", "1/0", "half", "", True, None, [1], "nan", float("nan"), "1/40/2"],
)
def test_what_is_no_share_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_share(written)


@given(st.integers(1, 10**6))
def test_one_over_a_whole_number_reads_back_as_it_was(under: int) -> None:
    assert parse_share(format_share(1 / under)) == 1 / under


@given(st.text(max_size=12))
@example("0\x1f")  # white space of the text type, not of float()
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert 0 < parse_share(text) <= 1
    except ValueError as error:
        assert "must be" in str(error)


def test_time_shrinks_by_data_over_rate() -> None:
    scale = Scale.model_validate({"rate": "1/40", "data": "1/1000"})

    assert scale.time == pytest.approx(1 / 25)
    assert str(scale) == "{rate: 1/40, data: 1/1000}"


def test_the_speed_of_a_core_is_named_and_must_be_positive() -> None:
    scale = Scale.model_validate({"rate": 0.5, "data": 0.5, "core_speed": 1.75})
    assert str(scale) == "{rate: 1/2, data: 1/2, core_speed: 1.75}"
    options = ScaledOptions.model_validate({"rate": 0.5, "data": 0.5, "core_speed": 1.75})
    assert options.words() == "rate 1/2, data 1/2, core speed 1.75"
    assert options.to_record()["core_speed"] == 1.75
    assert "core_speed" not in ScaledOptions.model_validate({"rate": 1, "data": 1}).to_record()
    with pytest.raises(ValidationError):
        ScaledOptions.model_validate({"rate": 0.5, "data": 0.5, "core_speed": 0})


def test_the_core_probe_belongs_to_the_scale() -> None:
    options = ScaledOptions.model_validate({"rate": 0.5, "data": 0.5, "core_probe_ms": 0.6})
    assert str(options.scale) == "{rate: 1/2, data: 1/2, core_probe_ms: 0.6}"
    assert options.words() == "rate 1/2, data 1/2 at a core probe of 0.6 ms"
    assert options.to_record()["core_probe_ms"] == 0.6
    assert "core_probe_ms" not in ScaledOptions.model_validate({"rate": 1, "data": 1}).to_record()


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError):
        Scale.model_validate({"rate": 0.1, "data": 0.1, "speed": 2})
