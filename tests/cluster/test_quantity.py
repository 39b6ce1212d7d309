"""Quantities: what is read, what is refused and how, and that text and number agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from windtunnel.cluster import quantity as q


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (q.parse_bytes, "600 GB", 600 * 10**9),
        (q.parse_bytes, "64MiB", 64 * 2**20),
        (q.parse_bytes, "0.5 TiB", 2**39),
        (q.parse_bytes, "3 kB", 3000),
        (q.parse_rate, "10 Gb/s", 1.25e9),
        (q.parse_rate, "10 Gbit/s", 1.25e9),
        (q.parse_rate, "150 MB/s", 1.5e8),
        (q.parse_rate, "1 MiB/s", 2.0**20),
        (q.parse_frequency, "2.6 GHz", 2.6e9),
        (q.parse_duration, "5 min", 300.0),
        (q.parse_duration, "0.2 ms", 0.0002),
        (q.parse_power, "1.2 kW", 1200.0),
        (q.parse_fraction, "20 %", 0.2),
        (q.parse_fraction, 0.2, 0.2),
        (q.parse_price, "12000 USD", q.Money(12000.0, "USD")),
    ],
)
def test_a_number_with_its_unit_is_read_in_base_units(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "advice"),
    [
        (q.parse_bytes, "64 G", "write '64 GB' (10^9 bytes) or '64 GiB' (2^30 bytes)"),
        (q.parse_bytes, "10 gb", "'10 GB'"),
        (q.parse_bytes, "64 M", "'64 MiB'"),
        (q.parse_bytes, "5 Mb", "'5 MB'"),
        (q.parse_bytes, "3 K", "write '3 kB' (10^3 bytes) or '3 KiB' (2^10 bytes)"),
        (q.parse_bytes, "3 KB", "'3 kB'"),
        (q.parse_bytes, "64", "'64' has no unit: write '64 GB' or '64 MiB'"),
        (q.parse_bytes, 64, "no unit"),
        (q.parse_bytes, "64 megabytes", "'64 MB'"),
        (q.parse_bytes, "1,000 GB", "not a size"),
        (q.parse_bytes, "-1 GB", "zero or more"),
        (q.parse_bytes, "", "write a number and a unit"),
        (q.parse_bytes, True, "not true"),
        (q.parse_bytes, None, "not an empty value"),
        (q.parse_bytes, "nan GB", "not a size"),
        (q.parse_bytes, "1e99 GB", "is too large"),
        (q.parse_rate, "10 Gbps", "'10 Gb/s' (10^9 bits)"),
        (q.parse_rate, "150 MB", "'150 MB/s' (10^6 bytes)"),
        (q.parse_rate, "150 mb/s", "'150 Mb/s' (10^6 bits)"),
        (q.parse_frequency, "2.6 ghz", "write '2.6 GHz'"),
        (q.parse_duration, "5 m", "'5 min'"),
        (q.parse_duration, "2 hours", "write '2 h'"),
        (q.parse_power, "240", "'240 W'"),
        (q.parse_price, "12 $", "'12000 USD'"),
        (q.parse_fraction, "120 %", "between 0 % and 100 %"),
        (q.parse_fraction, 20, "'20 %' or 0.2"),
        (q.parse_fraction, 1, "'20 %' or 0.2"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_the_way_to_write_it(parse, text, advice):
    with pytest.raises(q.QuantityError) as caught:
        parse(text)
    assert advice in str(caught.value)


@given(st.integers(0, 10**18))
def test_bytes_survive_the_round_trip(value):
    assert q.parse_bytes(q.format_bytes(value)) == value


_FLOATS = st.floats(0, 1e15, allow_nan=False)


@given(_FLOATS)
def test_rates_durations_frequencies_and_powers_survive_the_round_trip(value):
    assert q.parse_rate(q.format_rate(value)) == value
    assert q.parse_rate(q.format_link_rate(value)) == value
    assert q.parse_duration(q.format_duration(value)) == value
    assert q.parse_frequency(q.format_frequency(value)) == value
    assert q.parse_power(q.format_power(value)) == value


@given(st.floats(0, 1))
def test_shares_survive_the_round_trip(value):
    assert q.parse_fraction(q.format_fraction(value)) == value


@given(st.builds(q.Money, st.floats(0, 1e12), st.sampled_from(q.CURRENCIES)))
def test_prices_survive_the_round_trip(value):
    assert q.parse_price(q.format_price(value)) == value


@given(st.integers(1, 999), st.sampled_from(["MB", "GB", "TB", "KiB", "MiB", "GiB"]))
def test_a_round_size_is_printed_as_briefly_as_it_was_written(number, unit):
    assert len(q.format_bytes(q.parse_bytes(f"{number} {unit}"))) <= len(f"{number} {unit}")


@given(st.text(max_size=20))
def test_no_text_is_worse_than_a_quantity_error(text):
    for parse in (q.parse_bytes, q.parse_rate, q.parse_duration, q.parse_fraction, q.parse_price):
        try:
            parse(text)
        except q.QuantityError as error:
            assert str(error)


def test_rounding_for_the_eye():
    assert q.format_bytes(1234567891, digits=3) == "1.23 GB"
    assert q.format_link_rate(1.23e8, digits=3) == "984 Mb/s"


def test_money_of_two_currencies_is_not_added():
    with pytest.raises(q.QuantityError, match="USD and EUR"):
        q.Money(1, "USD") + q.Money(1, "EUR")


class _Model(BaseModel):
    size: q.ByteSize
    link: q.LinkRate | None = None


def test_the_types_print_text_and_hold_numbers():
    model = _Model.model_validate({"size": "64 MiB", "link": "10 Gb/s"})
    assert (model.size, model.link) == (2**26, 1.25e9)
    assert model.model_dump(mode="json") == {"size": "64 MiB", "link": "10 Gb/s"}


def test_a_size_of_zero_is_refused_by_the_type():
    with pytest.raises(ValidationError, match="more than zero"):
        _Model.model_validate({"size": "0 GB"})
