"""The host contract: spawn a process, open a socket, place and read files, drop caches."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class ProcessSpec:
    """A process to start.

    ``name`` is unique within a deployment and identifies the process in errors and samples;
    ``log`` receives standard output and error. ``reads`` are the user's own files that it reads:
    a process with an account of its own could not read them otherwise. ``starter`` marks a process
    that only starts others: the CPU quota of a virtual host does not apply to it. ``mounts`` marks
    the process, run as the user of this program, that mounts files for all processes of the
    deployment that start later.
    """

    name: str
    argv: Sequence[str]
    log: Path
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    reads: Sequence[Path] = ()
    starter: bool = False
    mounts: bool = False


class Process(Protocol):
    """A started process."""

    name: str
    pid: int
    log: Path

    def returncode(self) -> int | None:
        """Exit code (negative: the signal that ended it), or None while it runs."""
        ...

    def wait(self, timeout_s: float) -> int | None:
        """Exit code, or None if it still runs after ``timeout_s`` seconds."""
        ...

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        ...


class Host(Protocol):
    """One machine as an engine sees it.

    ``name`` is the host's name in the deployment, ``address`` the IP address by which the other
    hosts reach it, ``root`` a folder of its own that the deployment removes, ``logs`` a folder
    that is kept. ``machine`` is the described physical host of a guest, or the host's own name.
    ``account`` is the account of its processes. ``quota_files`` are the files to which a child of a
    starter (:class:`ProcessSpec`) writes 0 so that the CPU quota of the host applies to it; a host
    without a quota has none.
    """

    name: str
    machine: str
    address: str
    root: Path
    logs: Path

    @property
    def account(self) -> str:
        """Name of the account of its processes."""
        ...

    @property
    def quota_files(self) -> Sequence[Path]:
        """The files of the host's CPU quota; empty if it has none."""
        ...

    def open_socket(self) -> socket.socket:
        """A TCP socket of the host's network, not connected yet. Raises OSError."""
        ...

    def spawn(self, spec: ProcessSpec) -> Process:
        """Start a process that cannot outlive this program."""
        ...

    def write_text(self, path: Path, text: str) -> None:
        """Write a file; creates its folders."""
        ...

    def write_bytes(self, path: Path, data: bytes) -> None:
        """As :meth:`write_text`, with any content."""
        ...

    def drop_caches(self) -> bool:
        """Empty the page cache of this host; False if that is not permitted."""
        ...
