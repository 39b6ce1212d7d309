"""Scan and report by Trino and Hive on a real cluster: right answers, nothing left behind."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import psutil
import pytest

from tests.real.conftest import LIGHT, Intruder, write_file
from tests.support import sockets
from windtunnel.cluster import Located, validate
from windtunnel.engines.hive.engine import MAIN as HIVE
from windtunnel.engines.trino import engine as trino_engine
from windtunnel.engines.trino.engine import MAIN_CLASS, Trino
from windtunnel.engines.trino.site import WORKER
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.event_index import data as event_data
from windtunnel.workloads.event_index.column_report import Report, ReportParameters
from windtunnel.workloads.event_index.data_set import DataSet
from windtunnel.workloads.event_index.engines.base import QueryEngine
from windtunnel.workloads.event_index.scan import Scan, ScanParameters
from windtunnel.workloads.expected import check_files

SIZE = {"size": "9 MB", "collections": 2, "replication": 2, "format": "orc", "codec": "zlib"}
TRINO = SIZE | {"engine": "trino", "seed": 7, "warm_up": False}
SHARED = "/windtunnel/shared/events-trino"
RECORDS = 5000

SCAN = Scan(validate(ScanParameters, Located(TRINO | {"select": "all"})))
REPORT = Report(
    validate(ReportParameters, Located(TRINO | {"only": 1, "columns": ["event_number"]}))
)


class Both(Scan):
    """A scan of all columns, then a report over one collection: one start of the servers."""

    def queries(self, who: QueryEngine) -> dict[str, str]:
        return SCAN.queries(who) | REPORT.queries(who)


class Watcher:
    """Looks at Trino's servers as long as they run: who they are, where they listen."""

    def __init__(self, deployment: LocalDeployment) -> None:
        self.deployment = deployment
        self.seen: dict[str, int] = {}
        self.listened: dict[str, set[str]] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self) -> None:
        while not self.over.wait(0.3):
            for name, pid in self.deployment.processes().items():
                if name.startswith("trino-"):
                    self.seen[name] = pid
                    self.listened.setdefault(name, set()).update(self.addresses(pid))

    def addresses(self, pid: int) -> set[str]:
        """Where a process listens; none if it has ended."""
        with contextlib.suppress(OSError):
            return {address for address, _ in sockets.listening(pid)}
        return set()

    def __enter__(self) -> Watcher:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(5)


@pytest.fixture(scope="module")
def data(deployment: LocalDeployment) -> DataSet:
    # converted by Spark without YARN: the data is the same
    parameters = SCAN.parameters.model_copy(update={"engine": "spark-local"})
    return event_data.ensure(parameters, deployment, SHARED, time.monotonic() + 300)


def test_every_column_is_read_as_it_was_made_and_no_server_is_left(
    deployment: LocalDeployment,
    data: DataSet,
    other: Intruder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(trino_engine._COLLECTOR, WORKER, ("-XX:+UseG1GC", LIGHT))
    both = Both(SCAN.parameters)
    done = Execution("/windtunnel/trials/trino", SHARED, time.monotonic() + 300)
    both.prepare(deployment, done)
    with Watcher(deployment) as watcher, other.during(deployment, MAIN_CLASS[WORKER]):
        done.runs["scan"] = both.run_phase("scan", deployment, done)
    verdict = both.verify(deployment, done)
    assert verdict.valid, verdict.reason
    addresses = {host.name: {host.address} for host in deployment.hosts}
    names = {"trino-coordinator@master", "trino-worker@worker-1", "trino-worker@worker-2"}
    assert watcher.seen.keys() == names
    for name, found in watcher.listened.items():
        assert found == addresses[name.partition("@")[2]]
    assert not any(psutil.pid_exists(pid) for pid in watcher.seen.values())
    assert not [p for p in psutil.process_iter() if MAIN_CLASS[WORKER] in words(p)]
    assert deployment.engine(Trino).processes() == {}
    metrics = done.runs["scan"].phase.metrics
    # of the second query half is pruned, which of both together is a quarter
    assert metrics["records_read"].value == RECORDS * 1.5
    assert metrics["partitions_pruned"].value == metrics["rows_skipped"].value == 0.25
    assert 0 < metrics["read_share"].value < 1.5 and metrics["cpu_time"].value > 0
    assert metrics["start_to_first_result"].value > metrics["trino_start"].value > 0


def test_hive_answers_the_same_and_leaves_nothing(
    deployment: LocalDeployment, data: DataSet, other: Intruder
) -> None:
    both = Both(SCAN.parameters.model_copy(update={"engine": "hive"}))
    done = Execution("/windtunnel/trials/hive", SHARED, time.monotonic() + 300)
    both.prepare(deployment, done)
    with other.during(deployment, HIVE):
        done.runs["scan"] = both.run_phase("scan", deployment, done)
    verdict = both.verify(deployment, done)
    assert verdict.valid, verdict.reason
    run = done.runs["scan"]
    metrics = run.phase.metrics
    assert metrics["partitions_pruned"].value == 0.25
    assert 0 < metrics["read_share"].value < 1.5 and metrics["cpu_time"].value > 0
    assert len(str(run.phase.job_id).split()) == 2 and run.tasks, "a job for each question"
    assert metrics["start_to_first_result"].value > metrics["hive_start"].value > 0
    users = deployment.files.folders("/windtunnel/hive/scratch")
    assert users and not any(map(deployment.files.folders, users)), "scratch that is left"
    assert not [p for p in psutil.process_iter() if HIVE in words(p)]


def test_files_have_the_checksums_that_spark_told_until_a_byte_is_flipped(
    deployment: LocalDeployment, data: DataSet
) -> None:
    """What a trial by Trino compares: HDFS itself tells it, without an application."""
    assert check_files("files", data.listed, deployment.files.checksums(data.path)).passed
    name = next(f["path"] for f in data.listed if f["path"].startswith("collection=data-02/"))
    spoilt = bytearray(deployment.files.read(f"{data.path}/{name}", 1 << 30))
    spoilt[len(spoilt) // 2] ^= 0x01
    write_file(deployment, f"{data.path}/{name}", bytes(spoilt), 2)
    found = check_files("files", data.listed, deployment.files.checksums(data.path))
    assert not found.passed and found.expected.startswith(f"{name}: bytes")


def words(process: psutil.Process) -> Any:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
