"""The fabric: all virtual hosts of a deployment, which are built, changed live, and undone."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.hosts import syscalls
from windtunnel.hosts.fabric.disks import Disks
from windtunnel.hosts.fabric.groups import Group, find_trees, make_groups
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.fabric.network import Network, ends
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, GuestPlan, HostPlan
from windtunnel.hosts.fabric.undo import undo
from windtunnel.hosts.fabric.virtual import VirtualHost
from windtunnel.hosts.isolation.confine import ETC
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")  # host names, and parts of paths and commands
_START = ".start"  # group of a host whose processes have no CPU quota
_LOOPBACK = "127.0.0.1 localhost\n"


class Fabric:
    """Virtual hosts on this machine, for one deployment.

    Parameters
    ----------
    registration:
        The deployment; its scratch folder holds disks and hosts, its folder the ledger.
    supervisor:
        Starts the processes; it has the registration's scratch folder, so that it undoes the
        fabric when this program dies.
    logs:
        Folder that is kept, with one folder per host.
    """

    def __init__(
        self, registration: Registration, supervisor: SupervisorClient, logs: Path
    ) -> None:
        self.hosts: dict[str, VirtualHost] = {}
        self.plan = FabricPlan((), ())
        self.etc = registration.folder / ETC
        self._registration = registration
        self._supervisor = supervisor
        self._logs = logs
        self._ledger = Ledger(registration.folder)
        self._trees = find_trees()
        self._groups: dict[str, Group] = {}
        self._starts: dict[str, Group] = {}
        self._cpu_factor = 1.0
        self._cpu_lock = threading.Lock()  # the speed of the cores is followed in a thread
        scratch = registration.scratch
        self._namespaces = registration.folder / "namespaces"
        self._network = Network(supervisor.network, self._namespaces, self._ledger)
        self._disks = Disks(scratch, self._trees, self._groups.__getitem__, self._ledger)

    @property
    def notes(self) -> list[str]:
        """Requests of the plan that this machine cannot provide; the fabric exists without them."""
        return [*self._network.notes, *self._disks.notes]

    def build(self, plan: FabricPlan) -> Mapping[str, VirtualHost]:
        """Build all hosts; returns them by name (for hosts with guests, it returns the guests).

        Raises
        ------
        NotRealisableError
            If the plan is inconsistent, or this machine lacks something.
        DeploymentError
            If the kernel refuses a step. In both cases the completed steps are undone.
        """
        check_plan(plan)
        from pyroute2.netlink.exceptions import NetlinkError

        self.plan = plan
        try:
            self._share_mounts()
            self._build_groups()
            self._network.build(plan)
            self._disks.build(plan.hosts, plan.file_system)
            self._build_hosts()
        except (OSError, NetlinkError) as error:
            self._give_up()
            raise DeploymentError(
                f"the virtual hosts cannot be built: {error}",
                remedy="'windtunnel doctor' reports what the machine lacks for virtual hosts.",
            ) from error
        except BaseException:
            self._give_up()
            raise
        return self.hosts

    def _give_up(self) -> None:
        """Undo a failed fabric; the supervisor tries again at its end to undo what remains."""
        with contextlib.suppress(DeploymentError):
            self.close()

    def close(self) -> None:
        """End all processes inside and undo all changes; raises DeploymentError if some remain."""
        self._network.close()
        problems = undo(self._registration.folder)
        if problems:
            raise DeploymentError(
                "changes of the machine could not be undone: " + "; ".join(problems),
                remedy="run 'windtunnel clean' after the program has ended.",
            )

    def set_nic_rate(self, host: str, rate_bytes_s: float | None) -> None:
        """Set the rate of a host's NIC, both directions, in bytes/s; None removes the limit."""
        self._network.set_nic_rate(host, rate_bytes_s)

    def set_uplink_rate(self, rack: str, rate_bytes_s: float | None) -> None:
        """Set the rate of a rack's uplink, both directions, in bytes/s; None removes the limit."""
        self._network.set_uplink_rate(rack, rate_bytes_s)

    def set_mtu(self, host: str, mtu: int) -> None:
        """Set the MTU of a host and of its guests."""
        for end in ends(self._host(host)):
            self._network.set_mtu(end, mtu)

    def cut(self, name: str) -> None:
        """Disconnect a host, a guest or a rack."""
        self._network.cut(name)

    def mend(self, name: str) -> None:
        """Reconnect a host, a guest or a rack."""
        self._network.mend(name)

    def set_disk(self, host: str, disk: str, rates: DiskPlan) -> None:
        """Set the rates of a disk to those of a plan; its name and size do not change."""
        self._disks.set_rate(host, disk, rates)

    def slow_disk(self, host: str, disk: str, factor: float) -> DiskPlan:
        """Multiply a disk's rates; returns its previous plan, for :meth:`set_disk`."""
        before = self._disks.of(host)[disk].plan
        slow = replace(
            before,
            read_bytes_s=before.read_bytes_s and before.read_bytes_s * factor,
            write_bytes_s=before.write_bytes_s and before.write_bytes_s * factor,
        )
        self._disks.set_rate(host, disk, slow)
        return before

    def set_controller_rate(self, host: str, rate_bytes_s: float | None) -> None:
        """Set the common limit of a host's disks, per direction. Raises NotRealisableError."""
        self._disks.set_controller_rate(host, rate_bytes_s)

    def set_cpu(self, host: str, cores: float | None) -> None:
        """Set the CPU quota of a host; guests keep theirs, limited to it.

        The periods of the hosts start one after the other, so that as few as possible work at the
        same time (docs/decisions/0098). The call takes up to one period.
        """
        plan = self._host(host)
        quotas = {guest.name: _least(guest.cpu_cores, cores) for guest in plan.guests}
        group = self._groups[host]
        limited = [one.name for one in self.plan.hosts if one.cpu_cores is not None]
        start = limited.index(host) / len(limited) if host in limited else None
        with self._cpu_lock:
            # Version 1 always refuses a guest's quota above its host's, which is small for a moment
            # when its periods start.
            for name in quotas:
                self._groups[name].set_cpu(None)
            group.set_cpu(cores, start, self._cpu_factor)
            for name, quota in quotas.items():
                self._groups[name].set_cpu(quota, factor=self._cpu_factor)

    def set_guest_cpu(self, guest: str, cores: float | None) -> None:
        """Set the CPU quota of a guest; :meth:`set_cpu` of its host restores the planned quota."""
        with self._cpu_lock:
            self._groups[guest].set_cpu(cores, factor=self._cpu_factor)

    def scale_cpu(self, factor: float) -> None:
        """Multiply all CPU quotas by a factor, those in force and those that are set later.

        Raises OSError.
        """
        with self._cpu_lock:
            grows = factor > self._cpu_factor
            # a guest's quota may never exceed its host's
            hosts = [host.name for host in self.plan.hosts]
            guests = [guest.name for host in self.plan.hosts for guest in host.guests]
            for name in [*hosts, *guests] if grows else [*guests, *hosts]:
                self._groups[name].scale_cpu(factor)
            self._cpu_factor = factor

    def set_memory(self, name: str, limit_bytes: int | None) -> None:
        """Set the memory limit of a host or a guest, for processes and page cache together."""
        self._groups[name].set_memory(limit_bytes)

    def _host(self, name: str) -> HostPlan:
        return next(host for host in self.plan.hosts if host.name == name)

    def _share_mounts(self) -> None:
        """Make unmounts below some folders apply to the copies of all mounts.

        Every process of a virtual host, also of other deployments, has such copies, which
        would hold namespaces and loop devices during its lifetime.
        """
        for folder in (self._registration.scratch, self._namespaces):
            folder.mkdir(exist_ok=True)
            self._ledger.note({"kind": "mount", "path": str(folder)})
            syscalls.mount(str(folder), folder, flags=syscalls.MS_BIND)
            syscalls.mount("none", folder, flags=syscalls.MS_SHARED)

    def _build_groups(self) -> None:
        top = self._registration.id
        paths = {}
        for host in self.plan.hosts:
            paths[host.name] = f"{top}/{host.name}"
            for guest in host.guests:
                paths[guest.name] = f"{top}/{host.name}/{guest.name}"
        starts = {name: f"{top}/{name}{_START}" for name in paths}
        names = [top, *paths.values(), *starts.values()]
        made = make_groups(self._trees, names, self._ledger)
        self._groups.update({name: made[path] for name, path in paths.items()})
        self._starts = {name: made[path] for name, path in starts.items()}
        if confinement := self._supervisor.isolation.confinement:
            account = confinement.account
            for group in self._groups.values():
                group.open_quota(account.uid, account.gid)
        for host in self.plan.hosts:
            members: list[HostPlan | GuestPlan] = [host, *host.guests]
            for member in members:
                group = self._groups[member.name]
                if member.cpuset:
                    group.set_cpuset(member.cpuset)
                group.set_memory(member.memory_bytes)
            self.set_cpu(host.name, host.cpu_cores)

    def _build_hosts(self) -> None:
        for host in self.plan.hosts:
            disks = self._disks.of(host.name)
            chosen = {guest.name: guest.disks or tuple(disks) for guest in host.guests}
            for name, mine in (chosen or {host.name: tuple(disks)}).items():
                self.hosts[name] = VirtualHost(
                    name=name,
                    machine=host.name,
                    scratch=self._registration.scratch,
                    logs=self._logs,
                    disks={disk: disks[disk] for disk in mine},
                    group=self._groups[name],
                    start=self._starts[name],
                    network=self._network,
                    supervisor=self._supervisor,
                    etc=self.etc,
                )
        lines = [f"{host.address} {host.name}\n" for host in self.hosts.values()]
        self.etc.mkdir(exist_ok=True)
        (self.etc / "hosts").write_text("".join([_LOOPBACK, *lines]))
        (self.etc / "hosts").chmod(0o644)  # for processes of other accounts than root
        self.etc.chmod(0o755)


def check_plan(plan: FabricPlan) -> None:
    """Check names and references of a plan. Raises NotRealisableError."""
    hosts = [host.name for host in plan.hosts]
    guests = [guest.name for host in plan.hosts for guest in host.guests]
    racks = [rack.name for rack in plan.racks]
    names = hosts + guests + racks
    disks = [disk.name for host in plan.hosts for disk in host.disks]
    for name in [*names, *disks]:
        if not _NAME.fullmatch(name):
            _refuse(
                f"'{name}' is not a valid name of a host, guest, rack or disk: use a-z, 0-9 and '-'"
            )
    if len(set(names)) < len(names):
        _refuse("two hosts, guests or racks have the same name")
    for host in plan.hosts:
        if host.rack not in racks:
            _refuse(f"host {host.name} is in rack {host.rack}, which the plan does not have")
        own = [disk.name for disk in host.disks]
        if len(set(own)) < len(own):
            _refuse(f"two disks of host {host.name} have the same name")
        for guest in host.guests:
            for missing in set(guest.disks) - set(own):
                _refuse(f"guest {guest.name} uses disk {missing}, which host {host.name} lacks")


def _refuse(message: str) -> None:
    raise NotRealisableError(message, remedy="fix the description of the cluster.")


def _least(one: float | None, other: float | None) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None
