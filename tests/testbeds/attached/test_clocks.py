"""The times of a job, compared with those of its client."""

from __future__ import annotations

import pytest

from windtunnel.engines.hadoop.job_counters import MASTER_START
from windtunnel.results.record import Phase
from windtunnel.testbeds.attached.clocks import clock_notes

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
