"""Metered samples from CSV: zones, gaps, groups; every fault with file, line and column."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.powered import dcm_csv
from windtunnel.errors import DescriptionError, UsageError, WindtunnelError
from windtunnel.probes.power.csv_file import ONE_GROUP, Layout, parse_zone, read_csv
from windtunnel.results.power import PowerRecord

DCM = {"time": "timestamp_local", "watts": "power_w", "group": "dcm_group"}
PLAIN = {"time": "t", "watts": "w"}


def read(path: Path, text: str | None = None, **layout: Any) -> PowerRecord:
    if text is not None:
        path.write_text(text)
    usual: dict[str, Any] = {"columns": PLAIN, "zone": UTC}
    return read_csv(path, Layout(**{**usual, **layout}), source="meter")


def fault(path: Path, text: str, **layout: Any) -> WindtunnelError:
    with pytest.raises((DescriptionError, UsageError)) as caught:
        read(path, text, **layout)
    assert caught.value.remedy
    return caught.value


def test_local_times_and_empty_cells(tmp_path: Path) -> None:
    file = dcm_csv(tmp_path / "dcm.csv", 1_412_172_000.0, [2000, None, 2040.5, 0])
    record = read(file, columns=DCM, zone=parse_zone("-07:00"))
    t, watts = record.groups["GroupBD"]

    assert t.tolist() == [1_412_172_000.0, 1_412_172_360.0, 1_412_172_540.0]
    assert watts.tolist() == [2000.0, 2040.5, 0.0]
    assert record.words == "metered: meter, GroupBD"


def test_a_named_zone_knows_summer_time(tmp_path: Path) -> None:
    record = read(
        tmp_path / "p.csv",
        "t,w\n2014-07-01 12:00,1\n2014-12-01 12:00,2\n",
        zone=parse_zone("Europe/Paris"),
    )
    hours = [datetime.fromtimestamp(t, UTC).hour for t in record.groups[ONE_GROUP][0]]

    assert hours == [10, 11]


def test_the_hour_that_the_clock_shows_twice_goes_on(tmp_path: Path) -> None:
    rows = ["02:00", "02:30", "02:00", "02:30", "03:00"]
    text = "t,w\n" + "".join(f"2014-10-26 {clock},100\n" for clock in rows)
    t, _ = read(tmp_path / "p.csv", text, zone=ZoneInfo("Europe/Paris")).groups[ONE_GROUP]

    assert [b - a for a, b in pairwise(t)] == [1800.0] * 4


def test_an_hour_that_the_clock_left_out_is_refused(tmp_path: Path) -> None:
    error = fault(tmp_path / "p.csv", "t,w\n2014-03-30 02:30,1\n", zone=ZoneInfo("Europe/Paris"))
    assert "does not exist in" in error.render()


def test_offsets_in_the_file_need_no_zone(tmp_path: Path) -> None:
    text = "t,w\n2014-10-01T12:00:00+02:00,1\n2014-10-01T10:03:00Z,2\n"
    t, _ = read(tmp_path / "p.csv", text, zone=None).groups[ONE_GROUP]
    assert t[1] - t[0] == 180.0


def test_other_forms_of_time_and_delimiters(tmp_path: Path) -> None:
    text = "t;w\n10/01/2014 07:57:00 PM;2029\n10/01/2014 08:00:00 PM;2032\n"
    record = read(tmp_path / "p.csv", text, delimiter=";", time_format="%m/%d/%Y %I:%M:%S %p")
    assert record.period_s == 180.0


def test_rows_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    record = read(tmp_path / "p.csv", "t,w\n2014-10-01 00:03,2\n2014-10-01 00:00,1\n")
    assert record.groups[ONE_GROUP][1].tolist() == [1.0, 2.0]


def test_one_group_of_several(tmp_path: Path) -> None:
    text = "t,w,g\n2014-10-01 00:00,10,a\n2014-10-01 00:00,5,b\n2014-10-01 00:03,10,a\n"
    columns = {**PLAIN, "group": "g"}
    assert "groups: a, b" in fault(tmp_path / "p.csv", text, columns=columns).message
    assert "'c'" in fault(tmp_path / "p.csv", text, columns=columns, groups=("c",)).message
    record = read(tmp_path / "p.csv", text, columns=columns, groups=("a",))
    assert list(record.groups) == ["a"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("t,power\n", "no column 'w' for watts"),
        ("t,w\n", "no row with watts"),
        ("t,w\n2014-10-01 00:00,2o29\n", "p.csv:2: key 'w': '2o29' is not a number of watts"),
        ("t,w\n2014-10-01 00:00,-5\n", "p.csv:2: key 'w': '-5'"),
        ("t,w\n2014-10-01 00:00,nan\n", "p.csv:2: key 'w': 'nan'"),
        ("t,w\n2014-10-01 00:00,1\nnoon,1\n", "p.csv:3: key 't': 'noon' is not a time"),
        ("t,w\n2014-10-01 00:00,1,938\n", "p.csv:2: the row has 3 cells"),
        (
            "t,w\n2014-10-01 00:00,1\n2014-10-01 00:00,1\n",
            "p.csv:3: the instant is the same as on line 2",
        ),
        ("t,w\n2014-10-01 00:00,1\n", "only one sample"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in fault(tmp_path / "p.csv", text).render()


def test_a_time_without_a_zone_is_not_guessed(tmp_path: Path) -> None:
    error = fault(tmp_path / "p.csv", "t,w\n2014-10-01 00:00,1\n", zone=None)
    assert "no time zone" in error.message
    assert "--zone" in error.remedy


def test_no_file_and_not_text(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="No such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "p.csv").write_bytes(b"t,w\n\xff\xfe")
    with pytest.raises(DescriptionError, match="not UTF-8"):
        read(tmp_path / "p.csv")


@pytest.mark.parametrize("text", ["PST", "Mars/Base", "+99:00", "", "7"])
def test_a_zone_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="no such time zone"):
        parse_zone(text)


def test_the_same_samples_have_the_same_name(tmp_path: Path) -> None:
    text = "t,w\n2014-10-01 00:00,1\n2014-10-01 00:03,2\n"
    one = read(tmp_path / "a.csv", text)
    assert read(tmp_path / "b.csv", text).name == one.name
    assert read(tmp_path / "c.csv", text.replace(",2", ",3")).name != one.name


def test_the_samples_that_a_study_published() -> None:
    entry = resources.files("windtunnel.catalogue") / "published/cisco-2014/power_series.csv"
    with resources.as_file(entry) as file:
        layout = Layout(DCM, ZoneInfo("Europe/Brussels"))
        record = read_csv(file, layout, source="Intel DCM", stamp="end", hosts=8)
    t, watts = record.groups["GroupBD"]

    assert record.period_s == 180.0
    assert len(t) == len(watts) == 1956
    assert record.words == "metered: Intel DCM, GroupBD, 8 hosts"
