"""The hosts that HDFS and YARN exclude: files that the masters read at each ``-refreshNodes``.

The NameNode decommissions the DataNodes of an excluded host: it copies their blocks to other hosts
and does not count their replicas, while the DataNodes continue to run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from windtunnel.engines.hadoop.client import why
from windtunnel.engines.storage_system import Jvms
from windtunnel.errors import DeploymentError

HDFS_ADMIN: Final = "org.apache.hadoop.hdfs.tools.DFSAdmin"
YARN_ADMIN: Final = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
REFRESH: Final = "-refreshNodes"
_HEAP_MB: Final = 96
_LIMIT_S: Final = 60.0


def hdfs_file(shared: Path) -> Path:
    """The file with the addresses that HDFS excludes, below the folder that all hosts read."""
    return shared / "dfs.exclude"


def yarn_file(shared: Path) -> Path:
    """The file with the hosts that YARN excludes, below the folder that all hosts read."""
    return shared / "yarn.exclude"


def hdfs_settings(shared: Path) -> dict[str, str]:
    """Create the file of HDFS; returns the property that refers to it."""
    return {"dfs.hosts.exclude": _created(hdfs_file(shared))}


def yarn_settings(shared: Path) -> dict[str, str]:
    """Create the file of YARN; returns the property that refers to it."""
    return {"yarn.resourcemanager.nodes.exclude-path": _created(yarn_file(shared))}


def write_hosts(file: Path, lines: list[str]) -> None:
    """Replace the content of one of the files."""
    file.write_text("".join(f"{line}\n" for line in lines))


def _created(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return str(file)


class Decommissioned:
    """The hosts whose DataNodes a fault has taken out of service.

    Parameters
    ----------
    shared:
        Folder with the file of HDFS.
    """

    def __init__(self, jvms: Jvms, shared: Path) -> None:
        self._jvms = jvms
        self._file = hdfs_file(shared)
        self._addresses: dict[str, str] = {}

    def add(self, host: str) -> None:
        """Take a host out of service; raises DeploymentError."""
        # where all hosts share a network, the NameNode sees one IP address with several ports
        found = json.loads(self._jvms.masters.namenode_bean("NameNodeInfo").get("LiveNodes", "{}"))
        nodes = {name.partition(":")[0]: node["xferaddr"] for name, node in found.items()}
        if host not in nodes:
            raise DeploymentError(f"the NameNode has no DataNode on {host}")
        self._addresses[host] = nodes[host]
        self._refresh()

    def remove(self, host: str) -> None:
        """Put a host into service again; raises DeploymentError."""
        self._addresses.pop(host, None)
        self._refresh()

    def _refresh(self) -> None:
        """Write the file and have all NameNodes read it."""
        out = [host.address for host in self._jvms.layout.hosts if host.name in self._jvms.out]
        write_hosts(self._file, [*out, *self._addresses.values()])
        host = self._jvms.layout.host_of("namenode")
        name = f"refresh-nodes@{host.name}"
        process = self._jvms.spawn_own(host, name, HDFS_ADMIN, REFRESH, heap_mb=_HEAP_MB)
        code = process.wait(_LIMIT_S)
        if code is None:
            process.kill()
        if code != 0:
            raise DeploymentError(
                f"the NameNode did not read the excluded hosts: {why(process.log)}",
                remedy="see the log.",
                log=process.log,
            )
