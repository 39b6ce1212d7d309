"""A difference between the clocks of this machine and of the cluster, from the times of a job."""

from __future__ import annotations

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
