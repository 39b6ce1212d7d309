"""Differences between the clocks of this machine and of the cluster, and waits without a clock."""

from __future__ import annotations

import time

from windtunnel.engines.hadoop.job_counters import MASTER_START
from windtunnel.results.record import Phase

_TOLERATED_S = 2.0


def clock_notes(phase: Phase, began: float, ended: float) -> list[str]:
    """A remark if a job lies outside the time of its client; empty otherwise.

    Parameters
    ----------
    phase:
        The job, with times of the cluster.
    began, ended:
        Start and end of its client by the clock of this machine, epoch seconds.
    """
    found = phase.metrics.get(MASTER_START.name)
    submitted = phase.started_at - (found.value if found else 0.0)
    behind, ahead = began - submitted, phase.finished_at - ended
    difference_s = max(behind, ahead)
    if difference_s <= _TOLERATED_S:
        return []
    side = "behind" if behind > ahead else "ahead of"
    return [
        f"{phase.name}: the clock of the cluster is at least {difference_s:.1f} s {side} that of "
        "this machine, so that samples can be assigned to wrong phases; synchronise the clocks"
    ]


def last_wait(until_s: float, interval_s: float) -> float:
    """When to stop waiting for the reading after ``until_s`` (epoch s), by the monotonic clock.

    That is two intervals after ``until_s``, and at most two intervals from now: a clock that was
    set back does not make the wait longer.
    """
    left_s = until_s + 2 * interval_s - time.time()
    return time.monotonic() + min(left_s, 2 * interval_s)
