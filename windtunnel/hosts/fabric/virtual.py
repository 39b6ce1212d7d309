"""A virtual host: a name, an address and limits of its own on this machine."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.errors import NotRealisableError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric import syscalls
from windtunnel.hosts.fabric.disks import Disk
from windtunnel.hosts.fabric.groups import Group
from windtunnel.hosts.fabric.network import Network
from windtunnel.hosts.local import LocalProcess, SupervisorClient

# no step forks: the program that is started keeps the process id that the supervisor knows
_ENTER = """\
#!/bin/sh
# enter the virtual host {name} and become the program that is asked for
for group in {groups}; do echo $$ > "$group" || exit 126; done
exec {nsenter} --net={namespace} {unshare} --uts --mount --propagation slave /bin/sh -c '
"$1" "$2" && "$3" --bind "$4" /etc/hosts || exit 126
shift 4; exec "$@"' enter {hostname} {name} {mount} {hosts} "$@"
"""


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
    ) -> None:
        self.name = name
        self.machine = machine
        self.address = network.addresses[name]
        self.root = scratch / name
        self.logs = logs / name
        self.enter = self.root / "enter.sh"
        own = name if name != machine else ""
        self.disks = {disk: standing.mount / own for disk, standing in disks.items()}
        self._standing = disks
        self._group = group
        self._network = network
        self._supervisor = supervisor
        for folder in (self.root, self.logs, *self.disks.values()):
            folder.mkdir(parents=True, exist_ok=True)

    def prepare(self, hosts_file: Path) -> None:
        """Write the script that takes a process into this host. Raises NotRealisableError."""
        words = {tool: find_tool(tool) for tool in ("nsenter", "unshare", "mount", "hostname")}
        words |= {"namespace": str(self._network.namespace(self.name)), "hosts": str(hosts_file)}
        quoted = {key: shlex.quote(word) for key, word in words.items()}
        groups = " ".join(shlex.quote(str(path)) for path in self._group.entrances())
        self.write_text(self.enter, _ENTER.format(name=self.name, groups=groups, **quoted))
        self.enter.chmod(0o755)

    def spawn(self, spec: ProcessSpec) -> LocalProcess:
        """Start a process inside this host; it and what it starts cannot leave it."""
        argv: Sequence[str] = [str(self.enter), *spec.argv]
        return self._supervisor.spawn(replace(spec, argv=argv))

    def write_text(self, path: Path, text: str) -> None:
        """Write a file, with its folders."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

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


def find_tool(name: str) -> str:
    """Path of a program of the base system. Raises NotRealisableError."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise NotRealisableError(
            f"the program {name} is not installed, which virtual hosts need",
            remedy="install util-linux and hostname.",
        )
    return path
