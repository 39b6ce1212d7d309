"""A Hadoop cluster on virtual hosts: every daemon, container and client runs inside its host."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.hadoop.layout import (
    MAIN_CLASS,
    Layout,
    Placement,
    Surroundings,
    plan_layout,
)
from windtunnel.engines.hadoop.membership import Membership
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.fabric.virtual import VirtualHost
from windtunnel.hosts.isolation.confine import Place
from windtunnel.hosts.isolation.policy import Isolation
from windtunnel.probes.virtual import VirtualHosts
from windtunnel.results.metrics import numbers
from windtunnel.testbeds.base import Notify
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment
from windtunnel.testbeds.hadoop_software import Installed
from windtunnel.testbeds.scaled.core_probe import CoreSpeed
from windtunnel.testbeds.scaled.faults import ScaledFaults
from windtunnel.testbeds.scaled.live_limits import shape, unlimited
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.scale_model import scaled
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.topology import racks, script

if TYPE_CHECKING:
    from windtunnel.results.record import Metric, Phase
    from windtunnel.results.sample import Source


class ScaledDeployment(HadoopDeployment):
    """A cluster of the scale model.

    ``cluster`` is the full-size description, ``model`` the description that Hadoop's settings
    follow, ``shaped`` the current limits of the virtual hosts, ``built`` the model for which the
    hosts were built. ``limits`` is held while ``shaped`` and the limits change.
    """

    testbed: ClassVar[str] = "scaled"
    own_networks: ClassVar[bool] = True
    # the supervisor also removes the fabric when the last process has ended
    parts: ClassVar[tuple[str, ...]] = ("cores", *HadoopDeployment.parts, "fabric")

    def __init__(
        self,
        cluster: Cluster,
        installed: Installed,
        logs: Path,
        isolation: Isolation,
        notify: Notify,
        scale: Scale,
    ) -> None:
        self.scale = scale
        self.limits = threading.Lock()
        self.model = self.built = scaled(cluster, scale)
        self.shaped = fabric_plan(cluster, scale)
        super().__init__(cluster, installed, logs, isolation, notify)
        self.faulty = ScaledFaults(self)

    def start(self) -> None:
        """Build the fabric, start the daemons, wait until they are ready."""
        super().start()
        shape(self.fabric, unlimited(self.shaped), self.shaped)
        self.membership = Membership(self.daemons, self.files, self.transfers, self.shared)
        for note in self.fabric.notes:
            self.notify(note)

    def place(self) -> list[Placement]:
        """The virtual hosts, or their guests, in the order of the description."""
        self.fabric = Fabric(self.registration, self.supervisor, self.logs)
        self.virtual = self.fabric.build(self.shaped)
        self.cores = CoreSpeed(self.scale.core_probe_ms, self.fabric.scale_cpu, self.notify)
        # daemons start without limits
        shape(self.fabric, self.shaped, unlimited(self.shaped))
        return self.placements(self.model, self.shaped)

    @property
    def described(self) -> Cluster:
        """The model."""
        return self.model

    @contextmanager
    def unshaped(self, *, cpu_only: bool = False) -> Iterator[None]:
        """Lift the limits of CPU, NICs, uplinks and disks for work that no trial measures.

        At its end, written data is flushed to the disks, and the limits are those of ``shaped``.
        """
        with self.limits:
            lifted = unlimited(self.shaped, cpu_only=cpu_only)
            shape(self.fabric, self.shaped, lifted)
        try:
            yield
        except BaseException:
            with suppress(DeploymentError):  # missing hosts are a consequence of the first error
                self._limit(lifted)
            raise
        if not cpu_only:
            os.sync()  # at the rates of the model, the flush would slow down the next phase
        self._limit(lifted)

    def _limit(self, lifted: FabricPlan) -> None:
        """Set the limits of ``shaped`` again, which a fault may change at the same time."""
        with self.limits:
            shape(self.fabric, lifted, self.shaped)

    def before_phase(self) -> None:
        """As for all clusters of Hadoop; then the speed of the cores is measured."""
        try:
            super().before_phase()
        finally:  # with some faults, the phase runs although its preparation has failed
            self.cores.begin()

    def phase_metrics(self, phase: Phase) -> Mapping[str, Metric]:
        """Those of all clusters of Hadoop, and those of the core probe."""
        means = self.cores.end(phase.started_at, phase.finished_at)
        return {**super().phase_metrics(phase), **numbers(means)}

    def placements(self, model: Cluster, plan: FabricPlan) -> list[Placement]:
        """Roles and disks of the nodes of a description, on the existing hosts."""
        disks, cpus = disks_by_node(plan), psutil.cpu_count() or 1
        placed = []
        for node in model.nodes():
            host = self.virtual[node.name]
            roles = [role for role in node.roles if role in MAIN_CLASS]
            containers = self.registration.folder / "logs" / node.name / "containers"
            folders = [host.disks[name] for name in disks[node.name]]
            cores = quota_cores(plan, node.name)
            placement = Placement(
                host,
                roles,
                containers,
                max(len(folders), 1),
                data_folders=folders,
                processors=None if cores is None else min(math.ceil(cores), cpus),
            )
            placed.append(placement)
        return placed

    def plan(self, placements: Sequence[Placement]) -> Layout:
        """Settings for hosts with their own addresses, disks and limits."""
        return self.layout_of(self.model, placements)

    def layout_of(self, model: Cluster, placements: Sequence[Placement]) -> Layout:
        """Settings of a model on some of the existing hosts."""
        return plan_layout(
            model,
            self.software,
            placements,
            Surroundings(
                cores=psutil.cpu_count() or 1,
                memory_bytes=psutil.virtual_memory().total,
                hosts_file=self.hosts_file,
                own_networks=True,
                more={
                    **Membership.settings(self.shared),
                    **self._topology(model),
                    **self.storage.settings(),
                },
                shared=self.shared,
            ),
        )

    def _topology(self, model: Cluster) -> dict[str, str]:
        """The setting with the script of the topology, which contains all existing hosts."""
        rack_of = racks(self.built.model_copy(update={"storage": model.storage}))
        if not rack_of:
            return {}
        file = self.shared / f"topology-{model.storage.topology or 'default'}.sh"
        if not file.exists():
            addresses = {name: host.address for name, host in self.virtual.items()}
            file.write_text(script(rack_of, addresses))
            file.chmod(0o755)
        return {"net.topology.script.file.name": str(file)}

    @property
    def client(self) -> Host:
        """The first host with the role ``client``, or the first host if there is none."""
        clients = self.model.nodes_with("client")
        return self.virtual[clients[0].name] if clients else self.hosts[0]

    @property
    def entrance(self) -> Place:
        """The namespaces of the client host, which a process enters."""
        host = self.client
        assert isinstance(host, VirtualHost)
        return host.place

    @property
    def client_folder(self) -> Path:
        """A folder on the first disk of the client; without disks, on that of this machine."""
        host = self.client
        assert isinstance(host, VirtualHost)
        first = next(iter(host.disks.values()), host.root)
        return first / "client"

    def sources(self) -> Sequence[Source]:
        """The counters of each virtual host, for the sampler."""
        hosts = list(self.virtual.values())
        return [VirtualHosts(hosts, self._cores_in_force)]

    def _cores_in_force(self, name: str) -> float | None:
        cores = quota_cores(self.shaped, name)
        return None if cores is None else cores * self.cores.factor


def quota_cores(plan: FabricPlan, name: str) -> float | None:
    """The CPU quota of a host or guest in cores; that of a guest is at most that of its host."""
    for host in plan.hosts:
        own = {guest.name: guest.cpu_cores for guest in host.guests} | {host.name: None}
        if name in own:
            known = [c for c in (own[name], host.cpu_cores) if c is not None]
            return min(known) if known else None
    return None


def disks_by_node(plan: FabricPlan) -> Mapping[str, Sequence[str]]:
    """The names of the disks of each host or guest."""
    found: dict[str, Sequence[str]] = {}
    for host in plan.hosts:
        names = [disk.name for disk in host.disks]
        found[host.name] = names
        found |= {guest.name: guest.disks or names for guest in host.guests}
    return found
