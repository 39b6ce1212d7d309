"""The testbed ``local``: real daemons on this machine, without limits and without privileges."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.containers import MASTER_MB, MOST_MB, NODE_MB
from windtunnel.cluster.setting_values import LEAST_MB, OWN_LEAST_MIB
from windtunnel.cluster.settings import Value, default_of
from windtunnel.engines.hadoop import loopback
from windtunnel.engines.hadoop.layout import (
    MAIN_CLASS,
    Layout,
    Placement,
    Surroundings,
    container_memory_mb,
    plan_layout,
)
from windtunnel.errors import DeploymentError
from windtunnel.hosts.local import DROP_CACHES, LocalHost
from windtunnel.testbeds.base import Realisation, StudyRequest, TestbedOptions
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment
from windtunnel.testbeds.hadoop_software import Installed
from windtunnel.testbeds.hadoop_testbed import HadoopTestbed, client_only, impossible_with_hadoop

__all__ = ["LocalDeployment", "LocalTestbed", "client_only"]

_SHARED = re.compile(r"hosts\.[^.]+\.(cpu|nics)(\..*)?")
_SHARED_BY_HADOOP = re.compile(r"hosts\.[^.]+\.(cpu|memory|nics)(\..*)?")


class LocalOptions(TestbedOptions):
    """The testbed ``local`` has no options."""

    kind: Literal["local"] = "local"


class LocalDeployment(HadoopDeployment):
    """A Hadoop cluster on this machine."""

    testbed: ClassVar[str] = "local"

    def place(self) -> list[Placement]:
        """Hosts with their own loopback addresses, in the order of the description."""
        scratch = self.registration.scratch
        network = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(254) + 1}"
        placements: list[Placement] = []
        for class_name, host_class in self.cluster.hosts.items():
            for number in range(1, host_class.count + 1):
                name = class_name if host_class.count == 1 else f"{class_name}-{number}"
                # Only Linux has all of 127/8 on its loopback interface.
                last = len(placements) + 1 if sys.platform == "linux" else 1
                address = f"{network}.{last}" if sys.platform == "linux" else "127.0.0.1"
                host = LocalHost(name, address, scratch / name, self.logs / name, self.supervisor)
                data = [disk for disk in host_class.disks or () if disk.use == "data"]
                disks = sum(disk.count for disk in data) or 1
                roles = [r for r in host_class.roles_of(number - 1) if r in MAIN_CLASS]
                containers = self.registration.folder / "logs" / name / "containers"
                placements.append(Placement(host, roles, containers, disks))
        return placements

    def plan(self, placements: Sequence[Placement]) -> Layout:
        """Settings for hosts that share this machine and its loopback interface."""
        return plan_layout(
            self.cluster,
            self.software,
            placements,
            Surroundings(
                cores=psutil.cpu_count() or 1,
                memory_bytes=psutil.virtual_memory().total,
                hosts_file=self.hosts_file,
                # all hosts are this machine, so nobody else may reach their ports
                loopback_jar=loopback.place(self.shared),
                only_user=self._only_user(),
                more=self.storage.settings(),
                shared=self.shared,
            ),
        )

    def _only_user(self) -> int | None:
        """The user whose connections the daemons accept; None if no other user reaches them."""
        if not self.isolation.guarded:
            return None
        confinement = self.isolation.confinement
        return confinement.account.uid if confinement else os.getuid()

    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Rewrite the settings if only those of clients differ.

        Those of all hosts are written, too: daemons of engines that start later are clients.

        Raises
        ------
        DeploymentError
            If other settings differ, too; the caller then starts a new deployment.
        """
        if not client_only(self.cluster, cluster):
            raise DeploymentError("the difference requires a new deployment")
        if self.cluster == cluster:
            return []
        self.close_engines()
        self.cluster = self.layout.cluster = cluster
        self.daemons.write_settings()
        return ["job settings changed"]


class LocalTestbed(HadoopTestbed[LocalDeployment]):
    """Real daemons on this machine."""

    name = "local"
    about = "real daemons on this machine, without limits on disks, network and CPU"
    options_type = LocalOptions
    fits_model = True
    one_machine = True
    calibration_study = "calibration"

    def check(self, cluster: Cluster) -> Realisation:
        """Check which parts of the description this machine does not support."""
        impossible, unrealised = impossible_with_hadoop(cluster), []
        for name, host_class in cluster.hosts.items():
            if host_class.vms:
                impossible.append(f"hosts.{name}.vms: this testbed has no virtual machines")
            if host_class.disks or host_class.nics or host_class.cpu or host_class.memory:
                unrealised.append(
                    f"hosts.{name}: all hosts share the CPU, memory, disks and NICs of this machine"
                )
        if cluster.storage.file_system is not None:
            unrealised.append("storage.file_system: data is on the file system of this machine")
        if cluster.storage.external:
            unrealised.append(
                "storage.external: the network between storage and compute hosts is the loopback "
                "interface, without limits"
            )
        if cluster.network is not None:
            unrealised.append("network: all hosts use the loopback interface, without limits")
        unrealised += self.pool_notes(cluster, {**self.own_settings(cluster), **cluster.settings})
        return self.isolated(cluster, Realisation(impossible, unrealised))

    def own_settings(self, cluster: Cluster) -> dict[str, Value]:
        """The memory of a NodeManager, and the limits and defaults of containers, MiB."""
        memory = container_memory_mb(
            psutil.cpu_count() or 1,
            psutil.virtual_memory().total,
            max(1, len(cluster.nodes_with("nodemanager"))),
        )
        master = default_of(MASTER_MB, cluster.software.hadoop)
        return {
            NODE_MB: memory,
            MOST_MB: memory,
            LEAST_MB: OWN_LEAST_MIB,
            **({} if master is None else {MASTER_MB: master}),
        }

    def admit(self, request: StudyRequest) -> Realisation:
        """Refuse containers that are too large, and a factor that varies only shared hardware.

        The number of disks determines the data folders, and the memory of its hosts can limit an
        engine other than Hadoop.
        """
        unused = _SHARED if request.engines else _SHARED_BY_HADOOP
        found = super().admit(request)
        return Realisation(
            [
                *found.impossible,
                *(
                    f"{', '.join(paths)} {'has' if len(paths) == 1 else 'have'} no effect on the "
                    f"testbed '{self.name}', whose hosts share this machine; use a testbed "
                    "that limits or models hosts"
                    for paths in request.factors.values()
                    if paths and all(unused.fullmatch(path) for path in paths)
                ),
            ],
            found.unrealised,
        )

    def can_drop_caches(self) -> bool:
        """Whether the page cache of the machine can be emptied, as root on Linux."""
        return os.access(DROP_CACHES, os.W_OK)

    def cache_bytes(self) -> int:
        """The memory of this machine, which all hosts share."""
        return psutil.virtual_memory().total

    def new_deployment(self, cluster: Cluster, installed: Installed, logs: Path) -> LocalDeployment:
        """A deployment that has not been opened yet."""
        return LocalDeployment(cluster, installed, logs, self.isolation(cluster), self.notify)
