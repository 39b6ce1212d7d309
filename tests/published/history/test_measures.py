"""Metrics of an observed job that depend on its settings."""

from __future__ import annotations

import pytest

from windtunnel.published.history.job import ObservedJob
from windtunnel.published.history.measures import metrics_of

GIB = 2**30
SIZE, OPTIONS = "mapreduce.map.memory.mb", "mapreduce.map.java.opts"
UBER = {"mapreduce.job.ubertask.enable": "true"}


def job(settings: dict[str, str], uberized: bool | None = None, reduces: int = 0) -> ObservedJob:
    """A job of four maps that used 4 GiB together."""
    return ObservedJob(
        id="job_1_1",
        engine="mapreduce",
        name="etl",
        user="ann",
        queue="q",
        status="SUCCEEDED",
        submitted_at=None,
        started_at=0.0,
        finished_at=10.0,
        source="file",
        maps=4,
        reduces=reduces,
        uberized=uberized,
        counters={"org.apache.hadoop.mapreduce.TaskCounter:PHYSICAL_MEMORY_BYTES": 4.0 * GIB},
        settings=settings,
    )


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({}, None),
        ({SIZE: "2048"}, 0.5),
        ({SIZE: "many"}, None),
        ({SIZE: "-1"}, None),
        ({SIZE: "-1", OPTIONS: ""}, 1.0),
        ({SIZE: "-1", "mapred.child.java.opts": "-Xmx1638m"}, 0.5),
        ({SIZE: "0", OPTIONS: "-Xmx1g -Xmx4g", "mapreduce.job.heap.memory-mb.ratio": "0.5"}, 0.125),
        ({SIZE: "-1", OPTIONS: "-Xmx4g", "mapreduce.job.heap.memory-mb.ratio": "0"}, None),
    ],
)
def test_the_memory_share_needs_the_size_of_containers(
    settings: dict[str, str], share: float | None
) -> None:
    found = metrics_of(job(settings)).get("memory_share")
    assert (None if found is None else found.value) == share


def test_each_kind_of_task_needs_its_size() -> None:
    assert "memory_share" not in metrics_of(job({SIZE: "1024"}, reduces=1))
    sizes = {SIZE: "1024", "mapreduce.reduce.memory.mb": "4096"}
    assert metrics_of(job(sizes, reduces=1))["memory_share"].value == 0.5


def test_a_job_has_no_memory_share_if_its_tasks_ran_in_the_application_master() -> None:
    size = {SIZE: "2048"}
    assert "memory_share" not in metrics_of(job(size, uberized=True))
    assert "memory_share" not in metrics_of(job(size | UBER))
    large = metrics_of(job(size | UBER, uberized=False))
    assert large["memory_share"].value == 0.5, "the job was too large for that"
