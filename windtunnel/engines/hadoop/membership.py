"""Take workers out of service and back: graceful decommission, as by an administrator.

A DataNode is decommissioned when other hosts have enough replicas of all its blocks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.engines.hadoop.client import client_command
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.excluded import (
    HDFS_ADMIN,
    REFRESH,
    YARN_ADMIN,
    hdfs_file,
    write_hosts,
    yarn_file,
    yarn_settings,
)
from windtunnel.engines.hadoop.transfer import Transfer
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host

_LIMIT_S = 180.0
_STEP_S = 0.25


class Membership:
    """The members of the cluster.

    Parameters
    ----------
    shared:
        Folder for the two files; :meth:`settings` refers to them.
    """

    def __init__(self, daemons: Daemons, files: WebHdfs, clients: Transfer, shared: Path) -> None:
        self._daemons = daemons
        self._files = files
        self._clients = clients
        self._shared = shared
        self._lowered: dict[str, int] = {}

    @staticmethod
    def settings(shared: Path) -> dict[str, str]:
        """The properties that a layout needs in addition to those of HDFS."""
        return yarn_settings(shared)

    def take_out(self, hosts: Sequence[Host]) -> None:
        """Decommission the workers of some hosts and stop them.

        The replication factor of each file is lowered to at most the number of DataNodes that
        remain: with more replicas the decommission would not end. :meth:`bring_back` restores it.

        Raises
        ------
        DeploymentError
            If it does not end within three minutes.
        """
        names = [host.name for host in hosts]
        self._daemons.out.update(names)
        managers = self._daemons.release([f"nodemanager@{name}" for name in names])
        self._refresh()
        most = self._datanodes()
        # after the refresh: before it, HDFS could delete any replica of an over-replicated file
        for path, replicas in list(_replications(self._files, "/")):
            if replicas > most:
                self._files.set_replication(path, most)
                self._lowered.setdefault(path, replicas)
        self._wait(lambda: self._left_hdfs(names), f"the decommission of {', '.join(names)}")
        self._wait(lambda: self._left_yarn(names), f"{', '.join(names)} leaving YARN")
        for process in managers:
            process.kill()
            process.wait(10)
        self._daemons.stop([f"datanode@{name}" for name in names])

    def bring_back(self, hosts: Sequence[Host], ready: Callable[[dict[str, float]], None]) -> None:
        """Start the workers of some hosts again and wait until they serve.

        ``ready`` waits for daemons; it receives their names and start times (epoch seconds).
        """
        self._daemons.out.difference_update(host.name for host in hosts)
        self._refresh()
        names = [f"{role}@{host.name}" for host in hosts for role in ROLES.workers(HADOOP)]
        ready(self._daemons.restart_all([n for n in names if self._daemons.plays(n)]))
        most = self._datanodes()
        for path, replicas in self._lowered.items():
            self._files.set_replication(path, min(replicas, most))
        self._lowered = {path: n for path, n in self._lowered.items() if n > most}
        self.wait_replicated()

    def _datanodes(self) -> int:
        """Number of DataNodes in service."""
        placed = self._daemons.layout.placements
        return sum("datanode" in p.roles and p.host.name not in self._daemons.out for p in placed)

    def wait_replicated(self) -> None:
        """Wait until all blocks are fully replicated. Raises DeploymentError if one has none."""
        self._wait(self._is_replicated, "the full replication of all blocks")

    def _is_replicated(self) -> bool:
        found = self._jmx("FSNamesystem")
        missing = found.get("MissingBlocks", 0)
        if missing:
            raise DeploymentError(f"blocks without any replica: {missing}")
        counts = ("UnderReplicatedBlocks", "PendingReplicationBlocks", "PendingDeletionBlocks")
        return bool(found) and not any(found.get(name, 0) for name in counts)

    def _refresh(self) -> None:
        """Write the files of excluded hosts and have the masters read them."""
        out = [p.host for p in self._daemons.layout.placements if p.host.name in self._daemons.out]
        write_hosts(hdfs_file(self._shared), [host.address for host in out])
        write_hosts(yarn_file(self._shared), [host.name for host in out])
        deadline_s = time.monotonic() + _LIMIT_S
        for program, admin in (("hdfs", HDFS_ADMIN), ("yarn", YARN_ADMIN)):
            command = client_command(self._daemons, self._clients.host, admin, [REFRESH])
            try:
                self._clients.run(f"{program}-refresh", command, deadline_s)
            except TrialInvalidError as error:
                raise DeploymentError(f"the cluster's members: {error.message}") from error

    def _left_hdfs(self, names: Sequence[str]) -> bool:
        nodes = json.loads(self._jmx("NameNodeInfo").get("LiveNodes", "{}"))
        states = {name.partition(":")[0]: node.get("adminState") for name, node in nodes.items()}
        return bool(nodes) and all(states.get(name) in (None, "Decommissioned") for name in names)

    def _left_yarn(self, names: Sequence[str]) -> bool:
        nodes = self._daemons.masters.yarn_nodes()
        running = {node["nodeHostName"] for node in nodes if node["state"] == "RUNNING"}
        return not running & set(names)

    def _jmx(self, name: str) -> dict[str, Any]:
        return self._daemons.masters.namenode_bean(name)

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while not done():
            self._daemons.check_alive()
            if time.monotonic() > deadline:
                raise DeploymentError(f"timed out after {_LIMIT_S:.0f} s waiting for {what}")
            time.sleep(_STEP_S)


def _replications(files: WebHdfs, folder: str) -> Iterator[tuple[str, int]]:
    """Path and replication factor of every file below a folder."""
    at = folder.rstrip("/")
    for file in files.list_files(at or "/"):
        yield file.path.replace("//", "/"), file.replication
    for below in files.folders(at or "/"):
        yield from _replications(files, below.replace("//", "/"))
