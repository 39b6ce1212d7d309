"""The section "Tunnel calibration", and the words of its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calibrated import MB, record, resource
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.subjects.calibration import lines, summary
from windtunnel.errors import ResultsError
from windtunnel.report.sections.calibration import section
from windtunnel.results.calibration import CALIBRATION_FOLDER, CalibrationRecord
from windtunnel.results.folder import read_results


def stored(folder: Path, *records: CalibrationRecord) -> None:
    study_folder(folder, Plan())
    (folder / CALIBRATION_FOLDER).mkdir()
    for number, found in enumerate(records):
        (folder / CALIBRATION_FOLDER / f"{number}.json").write_text(found.to_json())


def test_a_study_that_was_not_calibrated_has_no_such_section(tmp_path: Path) -> None:
    study_folder(tmp_path, Plan())
    assert section(analyse(read_results(tmp_path))) is None


def test_set_against_got_is_shown_for_each_calibration(tmp_path: Path) -> None:
    later = record().model_copy(update={"measured_at": 1.8e9})
    stored(tmp_path, later, record())
    made = section(analyse(read_results(tmp_path)))
    assert made is not None
    first, second = made.tables
    assert "2023-11-14" in first.caption
    assert "2027-01-15" in second.caption
    assert list(first.rows[0]) == ["NIC", "100 Mb/s", "100 Mb/s", "1.000", "as set"]
    assert made.data[0]["resources"][0]["got"] == 12.5 * MB
    assert made.data[0]["schema"] == "windtunnel.calibration/1"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    stored(tmp_path, record())
    (tmp_path / CALIBRATION_FOLDER / "0.json").write_text("{")
    with pytest.raises(ResultsError, match=r"calibration/0\.json cannot be read"):
        section(analyse(read_results(tmp_path)))


def test_equal_parts_are_one_row_with_their_span() -> None:
    found = record(
        resource("a disk-1", 20 * MB, 19 * MB, kind="disk read cold"),
        resource("a disk-2", 20 * MB, 10 * MB, kind="disk read cold"),
        resource("a", 0.5, 0.49, kind="CPU", unit="cores"),
        resource("a to b", None, 4e9, kind="guests of one host"),
        resource("a disk-3", 5 * MB, 5 * MB, kind="disk read cold"),
    )
    rows = [line.words() for line in lines(found)]
    assert rows == [
        ("disk read cold", "5.00 MB/s", "5.00 MB/s", "1.000", "as set"),
        ("disk read cold (2)", "20.0 MB/s", "10.0-19.0 MB/s", "0.500-0.950", "outside 10 %"),
        ("CPU", "0.500 cores", "0.490 cores", "0.980", "as set"),
        ("guests of one host, a to b", "none", "32,000 Mb/s", "", "-"),
    ]
    assert summary(found) == "3 limited parts within 10 % of the limit, 1 outside; measured in 21 s"
