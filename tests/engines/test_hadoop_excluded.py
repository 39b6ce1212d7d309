"""DataNodes out of service and back, against a NameNode that reads the file of excluded hosts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop.excluded import Decommissioned, hdfs_file, hdfs_settings
from windtunnel.errors import DeploymentError


class Jvms:
    """Two workers and a master; the NameNode knows the DataNodes of the workers by their ports."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.code: int | None = 0
        self.reads = True
        self.answers = True
        self.read: list[list[str]] = []
        self.names: list[str] = []
        self.out: set[str] = set()
        hosts = [
            SimpleNamespace(name=name, address=f"10.9.0.{number}")
            for number, name in enumerate(("master", "worker-1", "worker-2"), start=1)
        ]
        self.layout = SimpleNamespace(hosts=hosts, host_of=lambda role: hosts[0])
        self.masters = self

    def namenode_bean(self, name: str) -> dict[str, Any]:
        assert name == "NameNodeInfo"
        addresses = {"worker-1": "10.9.0.1:31001", "worker-2": "10.9.0.1:31002"}
        excluded = self.read[-1] if self.read and self.reads else []
        nodes = {
            f"{host}:1": {
                "xferaddr": address,
                "adminState": "Decommissioned" if address in excluded else "In Service",
            }
            for host, address in addresses.items()
        }
        return {"LiveNodes": json.dumps(nodes)} if self.answers else {}

    def spawn_own(
        self, host: Any, name: str, main: str, *args: str, heap_mb: int, starter: bool
    ) -> Any:
        assert (host.name, args, starter) == ("master", ("-refreshNodes",), True)
        self.read.append(hdfs_file(self.shared).read_text().split())
        self.names.append(name)
        log = self.shared / "refresh.log"
        log.write_text("refreshNodes: Access denied, an error\n")
        return SimpleNamespace(wait=lambda limit_s: self.code, kill=lambda: None, log=log)


@pytest.fixture
def jvms(tmp_path: Path) -> Any:
    return Jvms(tmp_path)


def test_the_namenode_reads_the_hosts_that_are_out_of_service(jvms: Any, tmp_path: Path) -> None:
    assert hdfs_settings(tmp_path)["dfs.hosts.exclude"] == str(hdfs_file(tmp_path))
    out = Decommissioned(jvms, tmp_path)
    out.add("worker-2")
    jvms.out = {"worker-1"}  # by a change of the model
    out.remove("worker-2")
    assert jvms.read == [["10.9.0.1:31002"], ["10.9.0.2"]]
    assert len(set(jvms.names)) == 2, "each command has a log of its own"


def test_one_of_two_namenodes_may_be_down(jvms: Any, tmp_path: Path) -> None:
    jvms.code = 255
    Decommissioned(jvms, tmp_path).add("worker-2")
    assert jvms.read == [["10.9.0.1:31002"]]


@pytest.mark.parametrize("code", [0, 255, None])
def test_a_namenode_that_does_not_read_the_file(
    jvms: Any, tmp_path: Path, code: int | None
) -> None:
    jvms.code, jvms.reads = code, False
    with pytest.raises(DeploymentError, match=r"worker-2 is 'In Service' after .* Access denied"):
        Decommissioned(jvms, tmp_path).add("worker-2")


def test_a_host_that_the_namenode_does_not_know(jvms: Any, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="no live DataNode on worker-7"):
        Decommissioned(jvms, tmp_path).add("worker-7")
    jvms.answers = False
    with pytest.raises(DeploymentError, match="no active NameNode answers"):
        Decommissioned(jvms, tmp_path).add("worker-2")
    assert jvms.read == []
