"""The start-up of tasks, from the launch in the job history to the first work in the log."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from windtunnel.engines.hadoop.start_up import (
    START_SHARE,
    TASK_START,
    ContainerLogs,
    start_metrics,
)

MAP = (
    "2026-11-23 08:12:41,464 INFO [main] org.apache.hadoop.mapred.Task:  Using Tree : [ ]\n"
    "2026-11-23 08:12:41,868 INFO [main] org.apache.hadoop.mapred.MapTask: Processing split: x\n"
    "2026-11-23 08:12:45,868 INFO [main] org.apache.hadoop.mapred.MapTask: Processing split: y\n"
)
REDUCE = (
    "2026-11-23 08:13:27,431 INFO [main] org.apache.hadoop.mapred.ReduceTask: "
    "Using ShuffleConsumerPlugin: org.apache.hadoop.mapreduce.task.reduce.Shuffle@4d1c005e\n"
)


def row(began: float, worked: float | None, ended: float, status: str = "SUCCEEDED") -> Any:
    return {
        "status": status,
        "started_at": began,
        "work_started_at": worked,
        "finished_at": ended,
    }


@pytest.mark.parametrize(
    ("container", "application"),
    [
        ("container_1795421455959_0002_01_000002", "application_1795421455959_0002"),
        ("container_e17_1795421455959_0002_01_000002", "application_1795421455959_0002"),
    ],
)
@pytest.mark.parametrize(
    ("text", "at"), [(MAP, "2026-11-23 08:12:41.868"), (REDUCE, "2026-11-23 08:13:27.431")]
)
def test_the_first_work_is_found_on_any_host(
    tmp_path: Path, container: str, application: str, text: str, at: str
) -> None:
    log = tmp_path / "worker-2" / application / container / "syslog"
    log.parent.mkdir(parents=True)
    log.write_text(text)
    logs = ContainerLogs(lambda: [tmp_path / "worker-1", tmp_path / "worker-2"])
    assert logs.work_started_at(container, 0.0) == datetime.fromisoformat(at).timestamp()


def test_a_task_that_did_not_come_to_work_has_no_time(tmp_path: Path) -> None:
    log = tmp_path / "application_1_2" / "container_1_2_01_000001" / "syslog"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"\xff no time here\n")
    assert ContainerLogs(lambda: [tmp_path]).work_started_at("container_1_2_01_000001", 0.0) is None
    assert ContainerLogs(lambda: [tmp_path]).work_started_at("container_1_2_01_000009", 0.0) is None


def test_start_up_is_a_fraction_of_the_time_of_successful_tasks() -> None:
    rows = [row(0, 1, 10), row(0, 3, 10), row(0, None, 5, "KILLED"), row(2, 4, 12)]
    found = start_metrics(rows)
    assert found[TASK_START] == 2.0
    assert found[START_SHARE] == pytest.approx((1 + 3 + 2) / 30)


@pytest.mark.parametrize(
    "rows", [[], [row(0, None, 5)], [row(0, 1, 5), row(0, None, 5), row(0, None, 5)]]
)
def test_unknown_starts_give_no_figure(rows: list[Any]) -> None:
    assert start_metrics(rows) == {}


def test_clocks_that_disagree_give_no_negative_start() -> None:
    assert start_metrics([row(10, 9.9, 20)])[TASK_START] == 0.0


def test_the_output_of_a_container_is_found_on_any_host(tmp_path: Path) -> None:
    log = tmp_path / "worker-2" / "application_1_2" / "container_1_2_01_000001" / "stdout"
    log.parent.mkdir(parents=True)
    log.write_text("Multiple garbage collectors selected\n")
    logs = ContainerLogs(lambda: [tmp_path / "worker-1", tmp_path / "worker-2"])
    assert logs.output("container_1_2_01_000001") == "Multiple garbage collectors selected\n"
    assert logs.output("container_1_2_01_000002") == ""
