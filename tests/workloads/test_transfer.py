"""PUT and GET: the same data every time, and a verdict from what came back."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.bare import BareDeployment, ClientDeployment
from tests.support.mock import job_run
from windtunnel.cluster import Located, load_cluster, validate
from windtunnel.engines.deployment import FileStatus, JobRun
from windtunnel.errors import DescriptionError, TrialInvalidError
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import Execution
from windtunnel.workloads.client import make_data
from windtunnel.workloads.transfer import Transfer, TransferParameters


def transfer(**changes: Any) -> Transfer:
    wanted = {"size": "300 kB", "files": 3, "replication": 2} | changes
    return Transfer(validate(TransferParameters, Located(wanted)))


class Client(ClientDeployment):
    """A deployment whose file system is a folder; programs run here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "client")
        self.hdfs = folder / "hdfs"
        self.spoil = False
        self.copies = 0

    def _place(self, path: str) -> Path:
        return self.hdfs / path.lstrip("/")

    def put(self, sources: Sequence[Path], folder: str, *, replication: int, **_: Any) -> JobRun:
        self._place(folder).mkdir(parents=True)
        for source in sources:
            (self._place(folder) / source.name).write_bytes(source.read_bytes())
        self.copies = replication
        return job_run("put", 2.0)

    def get(self, sources: Sequence[str], folder: Path, **_: Any) -> JobRun:
        folder.mkdir(parents=True)
        for source in sources:
            data = self._place(source).read_bytes()
            name = source.rpartition("/")[2]
            (folder / name).write_bytes(data[:-1] + b"?" if self.spoil else data)
        return job_run("get", 1.0)

    def run_on_client(self, name: str, argv: Sequence[str], **_: Any) -> str:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def list_files(self, path: str) -> list[FileStatus]:
        places = sorted(self._place(path).iterdir())
        return [FileStatus(str(p), p.stat().st_size, self.copies) for p in places]

    def delete(self, path: str) -> None:
        make_data.main(["remove", str(self._place(path))])


def run(workload: Transfer, client: Client, name: str = "t1") -> Execution:
    execution = Execution(f"/w/{name}", "/w/shared", time.monotonic() + 60)
    deployment: Any = client
    workload.prepare(deployment, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, deployment, execution)
    return execution


def test_what_comes_back_as_it_was_is_valid(tmp_path: Path) -> None:
    client: Any = Client(tmp_path)
    verdict = transfer().verify(client, run(transfer(), client))

    assert verdict.valid, verdict.reason
    assert len(verdict.checks) == 3


def test_one_wrong_byte_is_found(tmp_path: Path) -> None:
    client: Any = Client(tmp_path)
    client.spoil = True
    verdict = transfer().verify(client, run(transfer(), client))

    assert not verdict.valid
    assert verdict.reason.startswith("SHA-256 of what came back: expected")


def test_a_wrong_number_of_copies_is_found(tmp_path: Path) -> None:
    client: Any = Client(tmp_path)
    execution = run(transfer(), client)
    client.copies = 1

    assert "got 300000 bytes with replication 1" in transfer().verify(client, execution).reason


def test_a_file_that_did_not_come_back_is_found(tmp_path: Path) -> None:
    client: Any = Client(tmp_path)
    execution = run(transfer(), client)
    next(client.client_folder.glob("back*/part-00001")).unlink()

    assert "files that came back: expected 3, got 2" in transfer().verify(client, execution).reason


def test_the_made_files_serve_later_trials_and_the_rest_is_removed(tmp_path: Path) -> None:
    client: Any = Client(tmp_path)
    transfer().clean(client, run(transfer(), client))
    (made,) = client.client_folder.iterdir()
    stamp = (made / "part-00000").stat().st_mtime_ns

    run(transfer(), client, "t2")
    assert (made / "part-00000").stat().st_mtime_ns == stamp
    assert not client._place("/w/t1").exists()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(0, 3_000_000))
def test_data_is_the_same_at_every_call(
    tmp_path_factory: pytest.TempPathFactory, files: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("made")
    make_data.make(folder / "one", files, size)
    make_data.make(folder / "two", files, size)

    assert make_data.digests(folder / "one") == make_data.digests(folder / "two")
    contents = [path.read_bytes() for path in sorted((folder / "one").iterdir())]
    assert [len(data) for data in contents] == [size] * files
    assert size < 16 or len({hashlib.sha256(data).digest() for data in contents}) == files


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"size": "2 B"}, "at least one byte per file"),
        ({"streams": 4}, "streams cannot be more than files"),
        ({"files": 0}, "more than 0"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        transfer(**changes)


def test_more_copies_than_datanodes_are_refused() -> None:
    assert transfer().check(load_cluster("local-3")) == []
    (problem,) = transfer(replication=4).check(load_cluster("local-3"))
    assert problem == "workloads.transfer.replication is 4, but the cluster has 3 datanodes"


def test_bytes_on_the_wire_and_on_disks() -> None:
    put, get = (transfer().demands(phase, 3) for phase in ("put", "get"))
    assert (put.disk_write_bytes, put.network_bytes) == (600_000, 600_000)
    assert (get.disk_read_bytes, get.network_bytes) == (300_000, 300_000)


def test_a_testbed_without_a_client_is_said_so() -> None:
    execution = Execution("/w/t", "/w/shared", time.monotonic() + 60)
    with pytest.raises(TrialInvalidError, match="no client"):
        transfer().run_phase("put", BareDeployment(), execution)
    assert find_workload("transfer") is Transfer
