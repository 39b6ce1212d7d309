"""Measure the start-up of MapReduce's tasks from the logs of their containers.

The job history has the time at which an application master received the NodeManager's answer to
the launch of a container. The log of the container has the time of the first work: a map task
writes ``Processing split``, a reduce task names its shuffle (MapTask.java, ReduceTask.java). Both
times are of one machine's clock.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.engines.hadoop.log_times import epoch_s
from windtunnel.results.metrics import MetricInfo, register

_SOURCE = "the job history and the logs of the containers"
TASK_START = MetricInfo(
    "task_start",
    "s",
    "median time from the launch of a task's container to the task's first work",
    _SOURCE,
    better="less",
    additive=False,
)
START_SHARE = MetricInfo(
    "start_share",
    "share",
    "start-up as a fraction of the time of the successful tasks, summed over them",
    _SOURCE,
    better="less",
    label="start-up, fraction of task time",
)
register(TASK_START, START_SHARE)

_WORK = re.compile(
    rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*"
    rb"(?:MapTask: Processing split|ReduceTask: Using ShuffleConsumerPlugin)",
    re.MULTILINE,
)
_HEAD_BYTES = 1 << 17
_LEAST_KNOWN = 0.5  # of the tasks


class ContainerLogs:
    """The logs of the containers of all hosts.

    Parameters
    ----------
    folders:
        The folders of the NodeManagers' container logs.
    """

    def __init__(self, folders: Callable[[], Sequence[Path]]) -> None:
        self._folders = folders

    def work_started_at(self, container: str, launched_at: float) -> float | None:
        """Time of the first work of a task's container, epoch s; None if no log has it.

        ``launched_at`` is the launch of the container, epoch s.
        """
        for head in self._heads(container, "syslog"):
            if found := _WORK.search(head):
                return epoch_s(found[1].decode(), launched_at)
        return None

    def output(self, container: str) -> str:
        """The beginning of the standard output of a container; empty if it is unknown."""
        return "".join(h.decode(errors="replace") for h in self._heads(container, "stdout"))

    def _heads(self, container: str, name: str) -> Iterator[bytes]:
        """The beginning of a log of a container, from each host that has it."""
        application = _application(container)
        for folder in self._folders():
            try:
                with (folder / application / container / name).open("rb") as file:
                    yield file.read(_HEAD_BYTES)
            except OSError:
                continue


def _application(container: str) -> str:
    """``container_e1_2_3_4_5`` or ``container_2_3_4_5`` -> ``application_2_3``."""
    parts = [part for part in container.split("_")[1:] if not part.startswith("e")]
    return "_".join(["application", *parts[:2]])


def start_metrics(rows: Sequence[Mapping[str, Any]]) -> dict[MetricInfo, float | None]:
    """The metrics of a job's task attempts; None if the start of too many tasks is unknown."""
    done = [row for row in rows if row["status"] == "SUCCEEDED" and row["started_at"]]
    known = [row for row in done if row.get("work_started_at")]
    if not known or len(known) < _LEAST_KNOWN * len(done):
        return {}
    starts = [max(0.0, row["work_started_at"] - row["started_at"]) for row in known]
    total = sum(row["finished_at"] - row["started_at"] for row in known)
    return {
        TASK_START: statistics.median(starts),
        START_SHARE: min(1.0, sum(starts) / total) if total > 0 else None,
    }
