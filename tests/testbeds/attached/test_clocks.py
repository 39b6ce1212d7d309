"""The times of a job, compared with those of its client."""

from __future__ import annotations

import time

import pytest

from windtunnel.engines.hadoop.job_counters import MASTER_START
from windtunnel.results.record import Phase
from windtunnel.testbeds.attached.clocks import clock_notes, last_wait

JOB = Phase(
    name="sort",
    started_at=110.0,
    finished_at=160.0,
    elapsed_s=50.0,
    wall_s=70.0,
    metrics={MASTER_START.name: MASTER_START.of(5.0)},
)


@pytest.mark.parametrize(
    ("began", "ended", "says"),
    [
        (100.0, 170.0, None),
        (106.9, 158.1, None),
        (108.5, 178.5, "at least 3.5 s behind that of this machine"),
        (86.0, 156.0, "at least 4.0 s ahead of that of this machine"),
        (10.0, 80.0, "at least 80.0 s ahead"),
    ],
)
def test_a_job_outside_the_time_of_its_client_is_noted(
    began: float, ended: float, says: str | None
) -> None:
    found = clock_notes(JOB, began, ended)
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


@pytest.mark.parametrize(("set_by_s", "waits_s"), [(0.0, 9.0), (-3600.0, 10.0), (3600.0, -3591.0)])
def test_a_clock_that_was_set_does_not_make_a_wait_longer(
    set_by_s: float, waits_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1001.0 + set_by_s)
    monkeypatch.setattr(time, "monotonic", lambda: 50.0)
    assert last_wait(1000.0, 5.0) == pytest.approx(50.0 + waits_s)
