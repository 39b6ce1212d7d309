"""Running daemons by name: common code for the daemons of Hadoop and of other engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path

from windtunnel.cluster.roles import ROLES
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Process

_TAIL_LINES = 12
_TAIL_BYTES = 1 << 16


class Running(ABC):
    """Daemons of one kind of software; ``running`` maps ``ROLE@HOST`` to the process."""

    def __init__(self) -> None:
        self.running: dict[str, Process] = {}

    @abstractmethod
    def restart(self, name: str) -> None:
        """Restart a daemon that has ended, under its old name."""

    def check_alive(self) -> None:
        """Raise DeploymentError with the daemon's name and the tail of its log if one has ended."""
        refuse_dead(self.running)

    def processes(self) -> Mapping[str, int]:
        """Process id of each daemon by name."""
        return {name: process.pid for name, process in list(self.running.items())}

    def release(self, names: Iterable[str]) -> list[Process]:
        """Stop monitoring some daemons, so that they may end; returns those that ran."""
        found = (self.running.pop(name, None) for name in list(names))
        return [process for process in found if process is not None]

    def release_all(self) -> list[Process]:
        """Stop monitoring all daemons; returns them in the order in which they must stop."""
        return self.release(ROLES.in_stop_order(list(self.running)))


def tail(path: Path, lines: int = _TAIL_LINES) -> str:
    """The last lines of a log; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def refuse_dead(running: Mapping[str, Process]) -> None:
    """Raise DeploymentError, with the tail of its log, if a ``ROLE@HOST`` has ended."""
    for name, process in list(running.items()):  # a fault may remove one meanwhile
        code = process.returncode()
        if code is not None:
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            role, host = name.split("@")
            raise DeploymentError(
                f"the {role} on {host} has died ({how})",
                remedy="see its log; the next deployment starts with new daemons.",
                log=process.log,
                tail=tail(process.log),
            )
