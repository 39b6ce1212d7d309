"""DataNodes out of service and back, against a NameNode that notes what it reads."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop.excluded import Decommissioned, hdfs_file, hdfs_settings
from windtunnel.errors import DeploymentError


class Jvms:
    """Two workers and a master; each command notes the excluded addresses of that time."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.code: int | None = 0
        self.read: list[list[str]] = []
        self.out: set[str] = set()
        hosts = [
            SimpleNamespace(name=name, address=f"10.9.0.{number}")
            for number, name in enumerate(("master", "worker-1", "worker-2"), start=1)
        ]
        nodes = {"worker-2:9866": {"xferaddr": "10.9.0.3:9866"}}
        self.masters = SimpleNamespace(
            namenode_bean=lambda name: {"LiveNodes": json.dumps(nodes)} if name else {}
        )
        self.layout = SimpleNamespace(hosts=hosts, host_of=lambda role: hosts[0])

    def spawn_own(self, host: Any, name: str, main: str, *args: str, heap_mb: int) -> Any:
        assert (host.name, args) == ("master", ("-refreshNodes",))
        self.read.append(hdfs_file(self.shared).read_text().split())
        log = self.shared / "refresh.log"
        log.write_text("refreshNodes: Access denied, an error\n")
        return SimpleNamespace(wait=lambda limit_s: self.code, kill=lambda: None, log=log)


def test_the_namenode_reads_the_hosts_that_are_out_of_service(tmp_path: Path) -> None:
    assert hdfs_settings(tmp_path) == {"dfs.hosts.exclude": str(hdfs_file(tmp_path))}
    jvms: Any = Jvms(tmp_path)
    out = Decommissioned(jvms, tmp_path)
    out.add("worker-2")
    jvms.out = {"worker-1"}  # by a change of the model
    out.remove("worker-2")
    assert jvms.read == [["10.9.0.3:9866"], ["10.9.0.2"]]


def test_a_host_without_a_datanode(tmp_path: Path) -> None:
    jvms: Any = Jvms(tmp_path)
    with pytest.raises(DeploymentError, match="no DataNode on worker-7"):
        Decommissioned(jvms, tmp_path).add("worker-7")
    assert jvms.read == []


@pytest.mark.parametrize("code", [255, None])
def test_a_namenode_that_does_not_read_them(tmp_path: Path, code: int | None) -> None:
    jvms: Any = Jvms(tmp_path)
    jvms.code = code
    with pytest.raises(DeploymentError, match="excluded hosts: refreshNodes: Access denied"):
        Decommissioned(jvms, tmp_path).add("worker-2")
