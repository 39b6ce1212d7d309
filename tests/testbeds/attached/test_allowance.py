"""The allow list: nothing runs that the user has not permitted."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from windtunnel.errors import NotAllowedError, ResultsError
from windtunnel.testbeds.attached.allowance import (
    VARIABLE,
    Allowance,
    Need,
    allow,
    allow_file,
    allowances,
    check_allowed,
    disallow,
)

DAY = datetime.date(2027, 1, 15)
ENTRY = Allowance("CID-1", "bench", 2 << 30, 10, "2027-01-31")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "a" / "allowed.json"))
    return allow_file()


def test_a_study_within_its_limits_is_permitted() -> None:
    allow(ENTRY)

    assert check_allowed(Need("CID-1", "bench", 2 << 30, 10), DAY) == ENTRY


@pytest.mark.parametrize(("queue", "other"), [("bench", "root.bench"), ("root.bench", "bench")])
def test_a_queue_has_two_names(queue: str, other: str) -> None:
    entry = replace(ENTRY, queue=queue)
    allow(replace(ENTRY, queue=other))
    allow(entry)

    assert allowances() == [entry]
    assert check_allowed(Need("CID-1", other, 1, 3), DAY) == entry


@pytest.mark.parametrize(
    ("need", "day", "says"),
    [
        (Need("CID-2", "bench", 1, 3), DAY, "no entry for the cluster CID-2"),
        (Need("CID-1", "prod", 1, 3), DAY, "queue prod is not allowed; allowed: bench"),
        (Need("CID-1", "bench", (2 << 30) + 1, 3), DAY, "are allowed"),
        (Need("CID-1", "bench", 1, 11), DAY, "11 containers, and 10 are allowed"),
        (Need("CID-1", "bench", 1, 3), datetime.date(2027, 2, 1), "until 2027-01-31"),
    ],
)
def test_what_exceeds_it_is_refused_with_the_command(
    need: Need, day: datetime.date, says: str
) -> None:
    allow(ENTRY)

    with pytest.raises(NotAllowedError, match=says) as caught:
        check_allowed(need, day)
    assert f"windtunnel allow {need.cluster} --queue {need.queue}" in caught.value.remedy
    assert caught.value.exit_code == 13


def test_an_entry_is_replaced_and_removed() -> None:
    allow(ENTRY)
    allow(Allowance("CID-1", "bench", 5, 4, "2027-02-01"))
    allow(Allowance("CID-1", "other", 5, 4, "2027-02-01"))

    assert [(one.queue, one.containers) for one in allowances()] == [("bench", 4), ("other", 4)]
    assert disallow("CID-1") == 2
    assert disallow("CID-1") == 0
    assert allowances() == []


@pytest.mark.parametrize("content", ["{", '[{"cluster": "x"}]', "[1]"])
def test_a_damaged_list_permits_nothing(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_text(content)

    with pytest.raises(ResultsError, match="cannot be read"):
        check_allowed(Need("CID-1", "bench", 1, 3), DAY)
