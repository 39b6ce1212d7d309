"""Limits of concurrent tasks: a job on an existing cluster has no more containers than allowed."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.cluster.setting_values import whole

REDUCES = "mapreduce.job.reduces"
REDUCES_AT_ONCE = "mapreduce.job.running.reduce.limit"
MAPS_AT_ONCE = "mapreduce.job.running.map.limit"


def task_limits(settings: Mapping[str, str], containers: int) -> dict[str, str]:
    """The settings that limit concurrent maps and reduces of a job.

    Parameters
    ----------
    settings:
        The settings of the job. Lower limits in it stay; 0 is no limit, as in Hadoop.
    containers:
        The allowed number of containers, of which one is the application master.
    """
    tasks = containers - 1
    reduces = min(max(1, whole(settings.get(REDUCES)) or 1), max(1, tasks // 2))
    limits = {REDUCES_AT_ONCE: reduces, MAPS_AT_ONCE: tasks - reduces}
    return {
        name: str(min(max(0, whole(settings.get(name)) or 0) or limit, limit))
        for name, limit in limits.items()
    }
