"""The hosts that HDFS and YARN exclude: files that the masters read at each ``-refreshNodes``.

The NameNode decommissions the DataNodes of an excluded host: it copies their blocks to other hosts
and does not count their replicas, while the DataNodes continue to run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from windtunnel.engines.hadoop.client import numbered, why
from windtunnel.engines.storage_system import Jvms
from windtunnel.errors import DeploymentError

HDFS_ADMIN: Final = "org.apache.hadoop.hdfs.tools.DFSAdmin"
YARN_ADMIN: Final = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
REFRESH: Final = "-refreshNodes"
_HEAP_MB: Final = 96
_LIMIT_S: Final = 60.0
_IN_SERVICE: Final = "In Service"
CHECK_INTERVAL: Final = ("dfs.namenode.decommission.interval", "1s")
"""How often the NameNode looks for excluded hosts on Windtunnel's clusters (Hadoop: every 30 s)."""


def hdfs_file(shared: Path) -> Path:
    """The file with the addresses that HDFS excludes, below the folder that all hosts read."""
    return shared / "dfs.exclude"


def yarn_file(shared: Path) -> Path:
    """The file with the hosts that YARN excludes, below the folder that all hosts read."""
    return shared / "yarn.exclude"


def hdfs_settings(shared: Path) -> dict[str, str]:
    """Create the file of HDFS; returns the properties that HDFS needs to read it."""
    name, value = CHECK_INTERVAL
    return {"dfs.hosts.exclude": _created(hdfs_file(shared)), name: value}


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
        self._addresses[host] = str(self._node(host)["xferaddr"])
        self._refresh(host, in_service=False)

    def remove(self, host: str) -> None:
        """Put a host into service again; raises DeploymentError."""
        self._addresses.pop(host, None)
        self._refresh(host, in_service=True)

    def _node(self, host: str) -> dict[str, Any]:
        """What the active NameNode reports about the DataNode of a host."""
        bean = self._jvms.masters.namenode_bean("NameNodeInfo")
        if "LiveNodes" not in bean:
            raise DeploymentError("no active NameNode answers")
        nodes = json.loads(bean["LiveNodes"])
        found = {name.partition(":")[0]: node for name, node in nodes.items()}
        if host not in found:
            raise DeploymentError(f"the NameNode has no live DataNode on {host}")
        return dict(found[host])

    def _refresh(self, host: str, *, in_service: bool) -> None:
        """Write the file, have all NameNodes read it, and check the state of a host.

        The command fails if one of several NameNodes is down, so that its exit code proves nothing.
        """
        out = [one.address for one in self._jvms.layout.hosts if one.name in self._jvms.out]
        write_hosts(self._file, [*out, *self._addresses.values()])
        master = self._jvms.layout.host_of("namenode")
        name = f"{numbered('refresh-nodes')}@{master.name}"
        process = self._jvms.spawn_own(
            master, name, HDFS_ADMIN, REFRESH, heap_mb=_HEAP_MB, starter=True
        )
        if process.wait(_LIMIT_S) is None:
            process.kill()
        state = str(self._node(host)["adminState"])
        if (state == _IN_SERVICE) is not in_service:
            raise DeploymentError(
                f"the DataNode on {host} is '{state}' after the NameNode was ordered to read the "
                f"excluded hosts: {why(process.log)}",
                remedy="see the log; settings.dfs.hosts.exclude must not be set.",
                log=process.log,
            )
