"""PUT and GET timed by the NameNode's log; without it, said so."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop.client import DaemonClients
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.hadoop.transfer import Transfer
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import ProcessSpec

SOFTWARE = Software(Path("/java/bin/java"), "17.0.1", Path("/lib"), Path("/clib"), "3.5.0")
AUDIT = (
    "2026-11-21 20:29:{second} INFO FSNamesystem.audit: allowed=true\tugi=root (auth:SIMPLE)"
    "\tip=/10.0.0.2\tcmd={command}\tsrc={path}\tdst=null\tperm=null\tproto=rpc\n"
)
CLOSED = (
    "2026-11-21 20:29:{second} INFO hdfs.StateChange: DIR* completeFile: {path} is closed by "
    "DFSClient_NONMAPREDUCE_1\n"
)


class Host:
    """Writes to the NameNode's log what its clients would cause."""

    account = "hadoop"
    open_socket = staticmethod(socket.socket)

    def __init__(self, folder: Path, code: int = 0) -> None:
        self.name, self.address, self.root, self.logs = "client", "10.0.0.2", folder, folder
        self.code = code
        self.causes = ""
        self.commands: list[list[str]] = []
        self.folders: list[str] = []

    def make_folder(self, path: str) -> None:
        if path == "/refused":
            raise DeploymentError("Name node is in safe mode")
        self.folders.append(path)

    def spawn(self, spec: ProcessSpec) -> Any:
        self.commands.append(list(spec.argv))
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        spec.log.write_text("put: No space left on device, Exception\n" if self.code else "")
        with (self.logs / "namenode.log").open("a") as log:
            log.write(self.causes)
        return SimpleNamespace(wait=lambda limit_s: self.code, returncode=lambda: self.code)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    earlier = AUDIT.format(second="01,000", command="create", path="/t/data/part-00000._COPYING_")
    (tmp_path / "namenode.log").write_text(earlier)
    (tmp_path / "part-00000").write_bytes(b"x" * 500)
    return Host(tmp_path)


def transfers(host: Host) -> Transfer:
    layout = SimpleNamespace(
        software=SOFTWARE,
        placements=[SimpleNamespace(host=host, roles=["namenode"])],
        binding=lambda address: None,
    )
    daemons: Any = SimpleNamespace(
        layout=layout, hosts_file=Path("/h"), client_conf=Path("/c"), check_alive=lambda: None
    )
    clients = DaemonClients(daemons, host, lambda: None)  # type: ignore[arg-type]
    return Transfer(clients, host, host.make_folder, [host.logs / "namenode.log"])  # type: ignore[arg-type]


def deadline_s() -> float:
    return time.monotonic() + 10


def test_put_lasts_from_the_first_create_to_the_last_close(host: Host, tmp_path: Path) -> None:
    path = "/t/data/part-00000._COPYING_"
    host.causes = (
        AUDIT.format(second="10,000", command="create", path="/other/data/x")
        + AUDIT.format(second="10,500", command="create", path=path)
        + CLOSED.format(second="12,250", path=path)
        + CLOSED.format(second="13,250", path="/t/database/other")
    )
    found = transfers(host).put([tmp_path / "part-00000"], "/t/data", 2, 1, deadline_s())

    assert found.phase.elapsed_s == pytest.approx(1.75)
    assert found.notes == []
    assert found.phase.metrics["transferred"].value == 500
    assert "-Ddfs.replication=2" in host.commands[-1]
    assert host.folders == ["/t/data"] and len(host.commands) == 1


def test_get_lasts_from_the_first_open_to_the_end_of_the_client(host: Host, tmp_path: Path) -> None:
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    line = AUDIT.format(second="00,000", command="open", path="/t/data/part-00000")
    host.causes = line.replace("2026-11-21 20:29:00", now)
    found = transfers(host).get(["/t/data/part-00000"], tmp_path, 1, deadline_s())

    assert found.phase.finished_at >= found.phase.started_at
    assert found.phase.elapsed_s < 10
    assert found.notes == []


def test_a_log_that_does_not_tell_is_said(host: Host, tmp_path: Path) -> None:
    found = transfers(host).put([tmp_path / "part-00000"], "/t/data", 2, 1, deadline_s())

    assert found.phase.elapsed_s == found.phase.wall_s
    assert found.notes == [
        "put: the time includes the start of the client, because the NameNode's log has no times "
        "of these files"
    ]


def test_a_client_that_fails_is_an_invalid_trial(tmp_path: Path) -> None:
    (tmp_path / "namenode.log").touch()
    with pytest.raises(TrialInvalidError, match="No space left"):
        transfers(Host(tmp_path, code=1)).put([], "/t", 1, 1, deadline_s())


def test_a_folder_that_is_refused_is_an_invalid_trial(host: Host) -> None:
    with pytest.raises(TrialInvalidError, match="put failed: Name node is in safe mode"):
        transfers(host).put([], "/refused", 1, 1, deadline_s())
    assert host.commands == []
