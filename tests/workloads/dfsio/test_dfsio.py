"""TestDFSIO: its jobs, the sum of what it writes, its figures under honest names, its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.dfsio import DfsioCluster, flipped
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import Execution
from windtunnel.workloads.dfsio.dfsio import Dfsio, DfsioParameters
from windtunnel.workloads.dfsio.result import io_metrics, totals

EVERYTHING = {"warm_read": True, "append": True, "truncate": True}
FIRST = "/w/t/dfsio/io_data/test_io_0"


def dfsio(**changes: Any) -> Dfsio:
    wanted = {"files": 3, "file_size": "12345 B", "replication": 2, "buffer": "1000 B"}
    return Dfsio(validate(DfsioParameters, Located(wanted | changes)))


def run(workload: Dfsio) -> tuple[Any, Execution]:
    cluster: Any = DfsioCluster()
    execution = Execution("/w/t", "/w/shared", time.monotonic() + 60)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, cluster, execution)
    return cluster, execution


def judged(workload: Dfsio, spoil: Callable[[Any, Execution], None]) -> Verdict:
    cluster, execution = run(workload)
    spoil(cluster, execution)
    return workload.verify(cluster, execution)


@pytest.mark.parametrize("changes", [{}, EVERYTHING, {"truncate": True}])
def test_what_testdfsio_writes_is_valid(changes: dict[str, Any]) -> None:
    verdict = judged(dfsio(**changes), lambda cluster, execution: None)
    assert verdict.valid, verdict.reason


def test_the_jobs_that_run() -> None:
    workload = dfsio(**EVERYTHING)
    cluster, execution = run(workload)
    workload.verify(cluster, execution)
    tests = [(job[0], job[2], job[6]) for job in cluster.jobs[:-1]]

    assert tests == [
        ("write", "-write", "12300B"),
        ("read", "-read", "12300B"),
        ("read-warm", "-read", "12300B"),
        ("append", "-append", "12300B"),
        ("truncate", "-truncate", "18400B"),  # three quarters of what is there, whole hundreds
    ]
    assert cluster.jobs[-1][0] == "terachecksum"
    workload.clean(cluster, execution)
    assert not cluster.data and not cluster.texts


def flip(place: int) -> Callable[[Any, Execution], None]:
    def spoil(cluster: Any, execution: Execution) -> None:
        cluster.data[FIRST] = flipped(cluster.data[FIRST], place)

    return spoil


@pytest.mark.parametrize("place", [0, 6_000, 12_299, 18_399])
def test_a_flipped_bit_anywhere_is_caught(place: int) -> None:
    reason = judged(dfsio(**EVERYTHING), flip(place)).reason
    assert reason.startswith("checksum of all that was read back: expected ")


def one_file_less(cluster: Any, execution: Execution) -> None:
    del cluster.data[FIRST]


def shorter(cluster: Any, execution: Execution) -> None:
    cluster.data[FIRST] = cluster.data[FIRST][:-1]


def fewer_copies(cluster: Any, execution: Execution) -> None:
    cluster.copies = 1


def counted(phase: str, name: str, value: int | None) -> Callable[[Any, Execution], None]:
    def spoil(cluster: Any, execution: Execution) -> None:
        old = execution.runs[phase]
        changed = {k: v for k, v in old.counters.items() if k != name}
        execution.runs[phase] = replace(
            old, counters=changed if value is None else {**changed, name: value}
        )

    return spoil


READ = "org.apache.hadoop.mapreduce.FileSystemCounter:HDFS_BYTES_READ"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (one_file_less, "expected 3 files of 12300 bytes with replication 2, got 2 files of 12300"),
        (shorter, "got 3 files of 12299/12300 bytes"),
        (fewer_copies, "got 3 files of 12300 bytes with replication 1"),
        (counted("read", "TestDFSIO:size", 36_899), "read by TestDFSIO's count: expected 36900"),
        (counted("write", "TestDFSIO:tasks", 2), "got 36900 bytes of 2 files"),
        (counted("read", READ, 36_899), "read by HDFS_BYTES_READ: expected at least 36900 bytes"),
        (counted("read", READ, None), "got unknown"),
    ],
)
def test_what_is_missing_is_caught(spoil: Callable[[Any, Execution], None], says: str) -> None:
    verdict = judged(dfsio(), spoil)
    assert not verdict.valid
    assert says in verdict.reason


def test_figures_under_names_that_say_what_they_are() -> None:
    """Three tasks of two seconds at once in a job of ten: rates per task and in all differ."""
    _, execution = run(dfsio())
    found = {name: metric.value for name, metric in execution.runs["read"].phase.metrics.items()}

    assert found["moved"] == 36_900
    assert found["aggregate_throughput"] == 3_690
    assert found["task_io_time"] == 6
    assert found["throughput_per_task"] == 6_150
    assert found["mean_task_rate"] == pytest.approx(6_150, rel=1e-3)
    assert found["task_rate_deviation"] < 200


def test_rates_of_unlike_tasks() -> None:
    """One task at 1 MiB/s, one at 3: their mean is 2, the bytes over the summed time are less."""
    text = "f:rate\t4000.0\nf:sqrate\t10000.0\nl:size\t2097152\nl:tasks\t2\nl:time\t1333\n"
    found = io_metrics(totals(text), 4.0)

    assert found["mean_task_rate"].value == 2 << 20
    assert found["task_rate_deviation"].value == pytest.approx(1 << 20)
    assert found["throughput_per_task"].value == pytest.approx(2097152 / 1.333)
    assert found["aggregate_throughput"].value == (1 << 19)


@pytest.mark.parametrize("text", ["", "f:rate\tInfinity\nl:time\t0\n", "nonsense\nl:size\tmany\n"])
def test_what_was_not_counted_is_not_told(text: str) -> None:
    assert "throughput_per_task" not in io_metrics(totals(text), 10.0)
    assert "mean_task_rate" not in io_metrics(totals(text), 10.0)


def test_truncating_moves_no_bytes() -> None:
    _, execution = run(dfsio(truncate=True))
    assert "aggregate_throughput" not in execution.runs["truncate"].phase.metrics


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"file_size": "999 B"}, "at least 1000 bytes"),
        ({"buffer": "2 GiB"}, "buffer must be less than 2 GiB"),
        ({"files": 0}, "more than 0"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        dfsio(**changes)


def test_what_the_cluster_lacks_is_said() -> None:
    cluster = load_cluster("local-3")
    storage = {"hosts.master.roles": ["namenode"], "hosts.worker.roles": ["datanode"]}

    assert dfsio().check(cluster) == []
    assert "has 3 datanodes" in str(dfsio(replication=4).check(cluster))
    assert "needs YARN" in str(dfsio().check(apply_overrides(cluster, storage)))


def test_the_bytes_that_a_phase_moves() -> None:
    write, read, truncate = (dfsio().demands(name, 4) for name in ("write", "read", "truncate"))

    assert (write.disk_write_bytes, write.network_bytes) == (73_800, 36_900)
    assert (read.disk_read_bytes, read.network_bytes) == (36_900, 18_450)
    assert truncate.disk_read_bytes == truncate.disk_write_bytes == 0
