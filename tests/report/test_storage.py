"""The section on what the levels of storage cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.built import Built, built
from windtunnel.report.sections import sections
from windtunnel.report.sections.storage import section


def level(name: str, tasks: float, daemons: float, raw: float, **overrides: object) -> Built:
    of_trial = {"storage_cpu_time": daemons, "stored_per_byte": raw, "data_bytes": 5e8}
    return Built(
        elapsed=20.0,
        level=name,
        metrics={"cpu_time": tasks},
        of_trial=of_trial,
        overrides=overrides,
    )


def test_cpu_of_tasks_and_daemons_is_given_for_each_gigabyte(tmp_path: Path) -> None:
    replicas = level("replicas", 10.0, 4.0, 3.0)
    code = level("code", 12.0, 5.0, 5 / 3, **{"storage.erasure_code": "RS-3-2"})
    made = section(built(tmp_path, [replicas, code]))

    assert made is not None
    (table,) = made.tables
    assert [list(row) for row in table.rows] == [
        ["replicas", "20.0 s", "10.0 s", "4.00 s", "28.0 s", "3.00", "1"],
        ["code", "20.0 s", "12.0 s", "5.00 s", "34.0 s", "1.67", "1"],
    ]
    assert made.said == [
        "Raw bytes per byte of the files: 1.67 (code) to 3.00 (replicas)",
        "CPU time per GB of data: 28.0 s (replicas) to 34.0 s (code)",
    ]


def test_what_was_not_measured_is_unknown(tmp_path: Path) -> None:
    replicas = level("replicas", 10.0, 4.0, 3.0)
    folder = Built(level="folder", metrics={"cpu_time": 9.0}, overrides={"storage.kind": "local"})
    made = section(built(tmp_path, [replicas, folder]))

    assert made is not None
    assert list(made.tables[0].rows[1]) == [
        "folder", "20.0 s", "9.00 s", "unknown", "unknown", "unknown", "1",
    ]  # fmt: skip
    assert made.said == [], "one known value has nothing to be compared with"


@pytest.mark.parametrize(
    "overrides",
    [{}, {"settings.dfs.heartbeat.interval": 1}, {"storage.block_size": "64 MiB"}],
)
def test_a_study_of_other_factors_has_no_such_section(
    tmp_path: Path, overrides: dict[str, object]
) -> None:
    other = level("other", 9.0, 4.0, 2.0, **overrides)
    analysis = built(tmp_path, [level("base", 9.0, 4.0, 2.0), other])
    assert section(analysis) is None
    assert all(found.id != "storage" for found in sections(analysis))
