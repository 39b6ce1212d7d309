"""The workload and the probe of the example: valid only if everything was listed and deleted."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from windtunnel_small_files.probe import ContextSwitches
from windtunnel_small_files.workload import SmallFiles, SmallFilesParameters

from tests.support.bare import ClientDeployment
from tests.support.mock import MockFiles, job_run
from windtunnel.cluster import Located, load_cluster, validate
from windtunnel.engines.deployment import FileStatus, JobRun
from windtunnel.probes.base import Watched
from windtunnel.workloads.base import Execution


class Client(ClientDeployment):
    """A client whose programs run here, with a file system in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "client")
        self.files = Files()

    def run_on_client(self, name: str, argv: Sequence[str], **_: Any) -> str:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def put(self, sources: Sequence[Path], folder: str, *, replication: int, **_: Any) -> JobRun:
        for source in sources:
            data = source.read_bytes()
            self.files.put(f"{folder}/{source.name}", len(data), replication, data)
        return job_run("put", 2.0)


class Files(MockFiles):
    """``loses`` that many files of each listing; ``keeps`` what is to be deleted."""

    loses = 0
    keeps = False

    def list_files(self, path: str) -> list[FileStatus]:
        return super().list_files(path)[self.loses :]

    def delete(self, path: str) -> None:
        if not self.keeps:
            super().delete(path)


def small_files(**changes: Any) -> SmallFiles:
    wanted = {"files": 30, "replication": 2, "listings": 3} | changes
    return SmallFiles(validate(SmallFilesParameters, Located(wanted)))


def run(workload: SmallFiles, client: Client, name: str = "t1") -> Execution:
    execution = Execution(f"/w/{name}", "/w/shared", time.monotonic() + 60)
    workload.prepare(client, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, client, execution)
    return execution


def test_files_that_are_listed_and_deleted_are_valid(tmp_path: Path) -> None:
    workload, client = small_files(), Client(tmp_path)
    execution = run(workload, client)
    verdict = workload.verify(client, execution)

    assert verdict.valid, verdict.reason
    assert [name for name, run in execution.runs.items() if run.phase.name == name] == [
        "create",
        "list",
        "delete",
    ]
    rate = execution.runs["create"].phase.metrics["small_file_rate"]
    assert (rate.value, rate.unit) == (15.0, "1/s")
    listing = execution.runs["list"].phase
    assert listing.metrics["small_file_rate"].value == pytest.approx(90 / listing.elapsed_s)
    workload.clean(client, execution)
    made = client.client_folder / "small-files-30-1000"
    before = made.stat().st_mtime_ns
    run(workload, client, "t2")
    assert made.stat().st_mtime_ns == before, "the files are made once"


def test_a_listing_that_lacks_a_file_is_found(tmp_path: Path) -> None:
    workload, client = small_files(), Client(tmp_path)
    client.files.loses = 1
    verdict = workload.verify(client, run(workload, client))
    assert "each listing: expected 30 files, 30000 bytes, replication 2, got 29" in verdict.reason


def test_a_file_that_stays_is_found(tmp_path: Path) -> None:
    workload, client = small_files(), Client(tmp_path)
    client.files.keeps = True
    verdict = workload.verify(client, run(workload, client))
    assert verdict.reason == "files left after the deletion: expected 0, got 30"


def test_other_bytes_are_found(tmp_path: Path) -> None:
    workload, client = small_files(), Client(tmp_path)
    execution = run(workload, client)
    told = json.loads(execution.runs["list"].output) | {"digest": "other"}
    execution.runs["list"] = replace(execution.runs["list"], output=json.dumps(told))
    assert "SHA-256 of files read back" in workload.verify(client, execution).reason


def test_what_it_needs_and_moves() -> None:
    workload = small_files()
    assert workload.data_bytes() == 30_000
    assert workload.demands("create", 3).disk_write_bytes == 60_000
    assert workload.demands("list", 3).network_bytes == 0
    assert workload.check(load_cluster("local-3")) == []
    assert "has 3 datanodes" in str(small_files(replication=4).check(load_cluster("local-3")))


def test_the_probe_counts_context_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = iter([1000, 1600])

    class Counters:
        @property
        def ctx_switches(self) -> int:
            return next(totals)

    monkeypatch.setattr("psutil.cpu_stats", Counters)
    probe = ContextSwitches(Watched(dict))
    assert list(probe.sample(10.0)) == []
    (sample,) = probe.sample(12.0)
    assert sample == (12.0, "this-machine", "context_switches", "1/s", 300.0)
