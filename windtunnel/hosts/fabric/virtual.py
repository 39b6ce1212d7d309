"""A virtual host on this machine, with its own name, address and limits."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.hosts import syscalls
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric.disks import Disk
from windtunnel.hosts.fabric.groups import Group
from windtunnel.hosts.fabric.network import Network
from windtunnel.hosts.isolation.confine import Place
from windtunnel.hosts.isolation.folders import write_below
from windtunnel.hosts.local import LocalProcess, SupervisorClient


@dataclass(frozen=True)
class Counters:
    """The resources that a virtual host has used since it was built.

    CPU and throttled time are in seconds (throttled: summed over CPUs), memory and page cache are
    the present bytes, disks are bytes (read, written) by name, the NIC is bytes in and out.
    """

    cpu_s: float
    throttled_s: float
    memory_bytes: int
    cached_bytes: int
    disks: Mapping[str, tuple[int, int]]
    received_bytes: int
    sent_bytes: int


class VirtualHost:
    """A host of the fabric; ``Fabric.build`` creates it.

    ``disks`` maps each disk's name to its folder; guests have folders of their own on the host's
    disks. ``machine`` is its own name or, for a guest, the name of the host that it runs on.
    """

    def __init__(
        self,
        name: str,
        machine: str,
        scratch: Path,
        logs: Path,
        disks: Mapping[str, Disk],
        group: Group,
        start: Group,
        network: Network,
        supervisor: SupervisorClient,
        etc: Path,
    ) -> None:
        self.name = name
        self.machine = machine
        self.address = network.addresses[name]
        self.root = scratch / name
        self.logs = logs / name
        self.place = Place(name, group.entrances(), network.namespace(name), etc)
        self._starter = replace(self.place, groups=group.starter_entrances(start))
        own = name if name != machine else ""
        self.disks = {name: disk.mount / own for name, disk in disks.items()}
        self._host_disks = disks
        self._group = group
        self._network = network
        self._supervisor = supervisor
        for folder in (self.root, self.logs, *self.disks.values()):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def account(self) -> str:
        """Name of the account of its processes."""
        return self._supervisor.isolation.account

    @property
    def quota_files(self) -> Sequence[Path]:
        """The files of its CPU quota."""
        return self._group.quota_files()

    def open_socket(self) -> socket.socket:
        """A TCP socket of the network of all hosts, not connected yet. Raises OSError."""
        return self._supervisor.open_socket()

    def spawn(self, spec: ProcessSpec) -> LocalProcess:
        """Start a process inside this host; neither it nor its children can leave it."""
        return self._supervisor.spawn(spec, self._starter if spec.starter else self.place)

    def write_text(self, path: Path, text: str) -> None:
        """Write a file below the hosts' folders or log folders; no link is followed."""
        self.write_bytes(path, text.encode())

    def write_bytes(self, path: Path, data: bytes) -> None:
        """As :meth:`write_text`, with any content."""
        roots = (self.root.parent, self.logs.parent)
        write_below(next(root for root in roots if path.is_relative_to(root)), path, data)

    def drop_caches(self) -> bool:
        """Write dirty pages to this host's disks, then drop its page cache."""
        try:
            for disk in self._host_disks.values():
                syscalls.sync_file_system(disk.mount)
            self._group.drop_caches()
        except OSError:
            return False
        return True

    def counters(self) -> Counters:
        """Resources used so far; a guest's disks are those of its host. Raises OSError."""
        received, sent = self._network.counters(self.name)
        return Counters(
            cpu_s=self._group.cpu_s(),
            throttled_s=self._group.throttled_s(),
            memory_bytes=self._group.memory_bytes(),
            cached_bytes=self._group.cached_bytes(),
            disks={name: disk.counters() for name, disk in self._host_disks.items()},
            received_bytes=received,
            sent_bytes=sent,
        )
