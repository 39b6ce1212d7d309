"""TeraGen alone: parameters, the job, and a verdict from what is read back."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.mock import CHECKSUM, ROWS, MockDeployment, MockTestbed
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import Execution
from windtunnel.workloads.plain_text import UNCOMPRESSED
from windtunnel.workloads.terasort.rows import imbalance
from windtunnel.workloads.terasort.teragen import TeraGen, TeraGenParameters

WRITTEN = "/w/trial/rows/part-m-00000"
SUMS = "/w/trial/checksum"


def teragen(**changes: Any) -> TeraGen:
    return TeraGen(validate(TeraGenParameters, Located({"rows": ROWS, "replication": 2} | changes)))


def run(workload: TeraGen) -> tuple[MockDeployment, Execution]:
    deployment = MockDeployment(MockTestbed(), load_cluster("local-3"), 1)
    execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
    workload.prepare(deployment, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, deployment, execution)
    return deployment, execution


def test_the_job_and_a_sound_verdict() -> None:
    workload = teragen(maps=4)
    deployment, execution = run(workload)
    verdict = workload.verify(deployment, execution)
    jobs = [(phase, dict(settings)) for _, phase, settings in deployment.testbed.jobs]

    assert verdict.valid
    assert jobs == [
        ("teragen", {"dfs.replication": "2", "mapreduce.job.maps": "4"}),
        (
            "terachecksum",
            {"mapreduce.input.fileinputformat.split.minsize": "100000", **UNCOMPRESSED},
        ),
    ]
    workload.clean(deployment, execution)
    assert deployment.files.statuses == {}


def test_where_the_replicas_lie_is_counted_by_physical_host() -> None:
    guests = [SimpleNamespace(name=f"worker-{i}", machine=f"m{(i + 1) // 2}") for i in (1, 2, 3)]
    metrics = {}
    for copies in (1, 2, 3):
        deployment = MockDeployment(MockTestbed(), load_cluster("local-3"), 1)
        deployment.hosts = guests
        execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
        run = teragen(replication=copies).run_phase("teragen", deployment, execution)
        metrics[copies] = [
            run.phase.metrics[name].value
            for name in ("machines_per_block", "blocks_on_one_machine")
        ]

    assert metrics == {1: [1, 1], 2: [1, 1], 3: [2, 0]}


def test_the_busiest_host_is_compared_with_the_mean_of_all_hosts() -> None:
    blocks = [["a", "b"], ["a", "c"]]
    assert [imbalance(blocks, hosts) for hosts in (0, 3, 4)] == [1.5, 1.5, 2.0]
    assert imbalance([[]], 4) is None
    assert imbalance([["localhost"]], 4) is None, "the storage does not know the hosts"


def count_fewer(deployment: MockDeployment, execution: Execution) -> None:
    old = execution.runs["teragen"]
    key = "org.apache.hadoop.mapreduce.TaskCounter:MAP_OUTPUT_RECORDS"
    execution.runs["teragen"] = JobRun(old.phase, {**old.counters, key: ROWS - 1}, old.tasks)


def change(path: str, **facts: Any) -> Callable[..., None]:
    return lambda deployment, execution: deployment.files.change(path, **facts)


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (count_fewer, "rows of teragen: expected 1000, got 999"),
        (change(WRITTEN, length_bytes=99_900), "stored rows: expected 100000 bytes"),
        (change(WRITTEN, replication=1), "got 100000 bytes with replication 1"),
    ],
)
def test_what_is_wrong_is_caught(break_it: Callable[..., None], reason: str) -> None:
    workload = teragen()
    deployment, execution = run(workload)
    break_it(deployment, execution)
    verdict = workload.verify(deployment, execution)

    assert not verdict.valid and reason in verdict.reason


@pytest.mark.parametrize("text", ["dead\n", "", f"{CHECKSUM:x}\n{CHECKSUM:x}\n", "none\n"])
def test_a_row_that_changed_is_caught_by_the_sum(text: str) -> None:
    class Changed(MockDeployment):
        def run_job(self, phase: str, *words: Any, **more: Any) -> JobRun:
            done = super().run_job(phase, *words, **more)
            if phase == "terachecksum":
                self.report(SUMS, text)
            return done

    workload = teragen()
    deployment = Changed(MockTestbed(), load_cluster("local-3"), 1)
    execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
    execution.runs["teragen"] = workload.run_phase("teragen", deployment, execution)
    verdict: Verdict = workload.verify(deployment, execution)

    assert not verdict.valid
    assert "checksum of the rows read back against TeraGen's: expected 1f3a9c" in verdict.reason


def test_what_the_cluster_lacks_is_said() -> None:
    cluster = load_cluster("local-3")
    storage = {"hosts.master.roles": ["namenode"], "hosts.worker.roles": ["datanode"]}

    assert teragen(replication=3).check(cluster) == []
    assert "has 3 datanodes" in str(teragen(replication=4).check(cluster))
    assert "needs YARN" in str(teragen().check(apply_overrides(cluster, storage)))


def test_the_bytes_that_a_phase_moves() -> None:
    demand = teragen(replication=3).demands("teragen", 6)

    assert (demand.disk_write_bytes, demand.network_bytes) == (300_000, 200_000)


def test_one_size_and_a_replication() -> None:
    for wrong in ({"size": "1 MB"}, {"replication": 0}, {"rows": 0}):
        with pytest.raises(DescriptionError):
            teragen(**wrong)
