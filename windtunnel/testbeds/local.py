"""The testbed ``local``: real daemons on this machine, unshaped, no privileges needed."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.hadoop import loopback
from windtunnel.engines.hadoop.layout import MAIN_CLASS, Layout, Placement, plan_layout
from windtunnel.engines.hadoop.software import Software
from windtunnel.errors import DeploymentError
from windtunnel.hosts.local import DROP_CACHES, LocalHost
from windtunnel.testbeds.base import Realisation
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment
from windtunnel.testbeds.hadoop_testbed import HadoopTestbed, client_only, impossible_with_hadoop

__all__ = ["LocalDeployment", "LocalTestbed", "client_only"]


class LocalDeployment(HadoopDeployment):
    """A Hadoop cluster of this machine."""

    testbed: ClassVar[str] = "local"

    def place(self) -> list[Placement]:
        """Hosts with loopback addresses of their own, in the order of the description."""
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
            cores=psutil.cpu_count() or 1,
            memory_bytes=psutil.virtual_memory().total,
            hosts_file=self.hosts_file,
            # all hosts are this machine: nobody else is to reach their ports
            loopback_jar=loopback.place(self.shared),
            only_user=os.getuid() if self.isolation.guarded else None,
        )


class LocalTestbed(HadoopTestbed[LocalDeployment]):
    """Real daemons on this machine."""

    name = "local"

    def check(self, cluster: Cluster) -> Realisation:
        """What of the description this machine can and cannot realise."""
        impossible, unrealised = impossible_with_hadoop(cluster), []
        for name, host_class in cluster.hosts.items():
            if host_class.vms:
                impossible.append(f"hosts.{name}.vms: virtual machines need the testbed 'scaled'")
            if host_class.disks or host_class.nics or host_class.cpu:
                unrealised.append(
                    f"hosts.{name}: CPU, disks and NICs are this machine's, shared by all hosts"
                )
        if cluster.storage.file_system is not None:
            unrealised.append("storage.file_system: data lies on this machine's file system")
        if cluster.network is not None:
            unrealised.append("network: all hosts talk over the loopback interface, unshaped")
        return self.isolated(Realisation(impossible, unrealised))

    def can_drop_caches(self) -> bool:
        """Whether the machine's page cache can be emptied: root on Linux."""
        return os.access(DROP_CACHES, os.W_OK)

    def cache_bytes(self) -> int:
        """All memory of this machine, which all hosts share."""
        return psutil.virtual_memory().total

    def new_deployment(self, cluster: Cluster, software: Software, logs: Path) -> LocalDeployment:
        """A deployment that has not been opened yet."""
        return LocalDeployment(cluster, software, logs, self.isolation)

    def reconfigure(self, deployment: Deployment, cluster: Cluster) -> list[str]:
        """Rewrite the clients' settings if only those differ.

        Raises
        ------
        DeploymentError
            If more differs: the caller then deploys anew.
        """
        assert isinstance(deployment, LocalDeployment)
        if not client_only(deployment.cluster, cluster):
            raise DeploymentError("the difference needs a new deployment")
        if deployment.cluster == cluster:
            return []
        deployment.close_engines()
        deployment.cluster = deployment.layout.cluster = cluster
        deployment.daemons.write_client_settings()
        return ["job settings changed"]
