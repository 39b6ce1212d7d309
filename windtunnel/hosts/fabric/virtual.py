"""A virtual host: a name, an address and limits of its own on this machine."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.hosts import syscalls
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric.disks import Disk
from windtunnel.hosts.fabric.groups import Group
from windtunnel.hosts.fabric.network import Network
from windtunnel.hosts.isolation.folders import write_below
from windtunnel.hosts.isolation.inside import Place
from windtunnel.hosts.local import LocalProcess, SupervisorClient


@dataclass(frozen=True)
class Counters:
    """What a virtual host has used since it was built; guests without a wire share none.

    CPU and throttled time in seconds (throttled: summed over CPUs), memory and page cache in
    bytes now, disks as bytes (read, written) by name, NIC as bytes in and out.
    """

    cpu_s: float
    throttled_s: float
    memory_bytes: int
    cached_bytes: int
    disks: Mapping[str, tuple[int, int]]
    received_bytes: int
    sent_bytes: int


class VirtualHost:
    """A host of the fabric; made by ``Fabric.build``.

    ``disks`` gives the folder of each disk by name; guests of one host have folders of their
    own on the host's disks. ``machine`` is the name of the host that carries it: its own, or
    of a guest that of the host it runs on.
    """

    def __init__(
        self,
        name: str,
        machine: str,
        scratch: Path,
        logs: Path,
        disks: Mapping[str, Disk],
        group: Group,
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
        own = name if name != machine else ""
        self.disks = {disk: standing.mount / own for disk, standing in disks.items()}
        self._standing = disks
        self._group = group
        self._network = network
        self._supervisor = supervisor
        for folder in (self.root, self.logs, *self.disks.values()):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def account(self) -> str:
        """Name of the account that its processes run as."""
        return self._supervisor.isolation.account

    def open_socket(self) -> socket.socket:
        """A TCP socket of the network that joins all hosts, not connected yet. Raises OSError."""
        return self._supervisor.open_socket()

    def spawn(self, spec: ProcessSpec) -> LocalProcess:
        """Start a process inside this host; it and what it starts cannot leave it."""
        return self._supervisor.spawn(spec, self.place)

    def write_text(self, path: Path, text: str) -> None:
        """Write a file below the hosts' folders or those of their logs; no link is followed."""
        roots = (self.root.parent, self.logs.parent)
        write_below(next(root for root in roots if path.is_relative_to(root)), path, text)

    def drop_caches(self) -> bool:
        """Write what is dirty on this host's disks, then give its page cache back."""
        try:
            for disk in self._standing.values():
                syscalls.sync_file_system(disk.mount)
            self._group.drop_caches()
        except OSError:
            return False
        return True

    def counters(self) -> Counters:
        """What it has used so far; a guest's disks are its host's. Raises OSError."""
        received, sent = self._network.counters(self.name)
        return Counters(
            cpu_s=self._group.cpu_s(),
            throttled_s=self._group.throttled_s(),
            memory_bytes=self._group.memory_bytes(),
            cached_bytes=self._group.cached_bytes(),
            disks={name: disk.counters() for name, disk in self._standing.items()},
            received_bytes=received,
            sent_bytes=sent,
        )
