"""The machines of a cluster, as its hosts report them by SSH."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from windtunnel.cluster.nic_speed import MBIT_BYTES, known_mbit_s
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.ssh import SshHosts
from windtunnel.inspection.devices import NOT_NICS, Machine
from windtunnel.inspection.facts import ClusterFacts
from windtunnel.inspection.monitored import add_machine

FACTS = (
    "LC_ALL=C; export LC_ALL; "
    "echo threads $(getconf _NPROCESSORS_ONLN); cat /proc/meminfo; "
    "for nic in /sys/class/net/*; do "
    "echo nic ${nic##*/} $(cat $nic/speed 2>/dev/null); done"
)
"""Program for ``sh`` that prints the facts of a host."""

_KIB = 1024
_NOT_NIC = re.compile(NOT_NICS)


def parse_facts(text: str) -> Machine:
    """The facts that :data:`FACTS` printed. What a host does not report is None."""
    threads = memory = None
    rates: list[float] = []
    for line in text.splitlines():
        match line.split():
            case ["threads", number] if number.isdigit():
                threads = int(number)
            case ["MemTotal:", kib, *_]:
                memory = int(kib) * _KIB
            # -1 and no number: not connected, or a virtual NIC without a rate
            case ["nic", name, number] if number.isdigit() and not _NOT_NIC.fullmatch(name):
                if speed := known_mbit_s(int(number)):
                    rates.append(speed * MBIT_BYTES)
    return Machine(threads, memory, tuple(sorted(rates, reverse=True)))


def in_sh(program: str) -> str:
    """A command that runs a program in ``sh``, whatever the login shell is."""
    return f"exec sh -c {shlex.quote(program)}"


def machines(hosts: SshHosts, names: Iterable[str]) -> dict[str, Machine | ClusterAccessError]:
    """What each host reports of itself, or why it does not."""
    return {
        name: answer if isinstance(answer, ClusterAccessError) else parse_facts(answer)
        for name, answer in hosts.run(names, in_sh(FACTS)).items()
    }


def read_over_ssh(hosts: SshHosts, into: ClusterFacts) -> None:
    """Add the machines of the known hosts; those that do not answer are listed in ``unread``."""
    for name, found in machines(hosts, list(into.hosts)).items():
        if isinstance(found, ClusterAccessError):
            into.unread.append(f"{found.message}; {found.remedy}")
        else:
            into.read.append(f"ssh://{name}/proc, ssh://{name}/sys/class/net")
            add_machine(into.host(name), found, f"{name} (SSH)")
