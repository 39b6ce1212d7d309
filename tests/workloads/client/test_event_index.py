"""The event index: the same bytes every time, of the size and the kind that was requested."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.workloads.client import duckdb_queries
from windtunnel.workloads.client.event_index import COLUMNS, INTEREST, RECORD_BYTES, make, shares


def digests(folder: Path) -> list[str]:
    files = sorted(folder.rglob("*.csv"))
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "events"
    make(folder, 9001, 3, 7)
    return folder


def test_equal_parameters_give_equal_bytes_and_another_seed_others(
    made: Path, tmp_path: Path
) -> None:
    make(tmp_path / "again", 9001, 3, 7)
    make(tmp_path / "other", 9001, 3, 8)
    assert digests(tmp_path / "again") == digests(made)
    assert not set(digests(tmp_path / "other")) & set(digests(made))
    assert len(set(digests(made))) == 3


def test_bytes_are_those_of_every_version(made: Path) -> None:
    """A figure measured with one version is comparable with that of the next."""
    assert [digest[:16] for digest in digests(made)] == PINNED


def test_records_are_of_the_promised_length_and_order(made: Path) -> None:
    files = sorted(made.rglob("*.csv"))
    assert [file.parent.name for file in files] == [f"collection=data-0{n}" for n in (1, 2, 3)]
    size = sum(file.stat().st_size for file in files)
    assert size / 9001 == pytest.approx(RECORD_BYTES, rel=0.03)
    for file in files:
        with file.open(newline="") as text:
            rows = list(csv.reader(text))
        assert all(len(row) == len(COLUMNS) for row in rows)
        events = [int(row[2]) for row in rows]
        assert events == sorted(set(events))


def test_few_events_are_of_interest_in_every_collection(made: Path) -> None:
    job = {"format": "csv", "files": f"{made}/*/*.csv"}
    job["columns"] = {name: kind.duckdb for name, kind in COLUMNS.items()}  # type: ignore[assignment]
    job["queries"] = {  # type: ignore[assignment]
        "share": f"SELECT collection, avg(CASE WHEN {INTEREST} THEN 1 ELSE 0 END) AS share "
        "FROM events GROUP BY collection"
    }
    (told,) = duckdb_queries.run(job)
    assert len(told["rows"]) == 3
    assert all(0.0005 < row["share"] < 0.01 for row in told["rows"])
    assert told["ended"] >= told["started"] and told["cpu_s"] >= 0


@given(st.integers(1, 10_000), st.integers(1, 99))
def test_records_are_shared_out_evenly(records: int, count: int) -> None:
    parts = shares(records, count)
    assert sum(parts) == records and len(parts) == count
    assert max(parts) - min(parts) <= 1


@settings(max_examples=5, deadline=None)
@given(records=st.integers(1, 300), seed=st.integers(0, 9))
def test_any_number_of_records(
    records: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any") / "events"
    make(folder, records, 1, seed)
    (file,) = folder.rglob("*.csv")
    assert len(file.read_text().splitlines()) == records


PINNED = ["003754043129a487", "fcb993148577fc0a", "9de99160a30979d4"]
