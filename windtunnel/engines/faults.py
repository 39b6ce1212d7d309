"""The contract of faults: which parts of a running cluster can fail, and how they are restored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from windtunnel.errors import NotRealisableError

Part = Literal["daemons", "links", "disks", "NICs"]
Undo = Callable[[], None]
"""Undoes a fault; may be called once. Raises DeploymentError, OSError."""


@dataclass(frozen=True)
class Copies:
    """What the file system's master reports about its replicas.

    ``holders`` counts the hosts in service that it considers alive, ``wanting`` the
    under-replicated and missing blocks; replicas on hosts that leave do not count. ``serving`` is
    False while it waits for these hosts (safe mode), or while a restarted host has not reported to
    it.
    """

    holders: int
    wanting: int
    serving: bool


class Faulty(ABC):
    """Injects faults into a running cluster; an injected fault does not count as a crash.

    Hosts are named as in the description's nodes. All methods may be called while a job runs,
    from another thread than the job's. They raise DeploymentError or OSError if the fault cannot
    be injected, NotRealisableError if the testbed does not support it. Daemons can be killed on
    every testbed; faults of hardware are optional: a testbed that does not support one inherits
    the refusal.
    """

    @abstractmethod
    def refusal(self, part: Part) -> NotRealisableError:
        """The error for a part into which the testbed cannot inject a fault."""

    @abstractmethod
    def kill_daemon(self, role: str, host: str) -> Undo:
        """Send SIGKILL to one daemon; the containers of a NodeManager continue to run."""

    @abstractmethod
    def kill_host(self, host: str) -> Undo:
        """Send SIGKILL to all daemons of a host and to all processes that they started."""

    @abstractmethod
    def decommission(self, host: str) -> Undo:
        """Take the storage of a host out of service: its data is copied while its daemon runs."""

    @abstractmethod
    def moves_data_back(self) -> bool:
        """Whether the storage moves data to a host that is in service again."""

    def cut(self, name: str) -> Undo:
        """Disconnect a host or a rack from the network."""
        raise self.refusal("links")

    def slow_disk(self, host: str, disk: int, share: float) -> Undo:
        """Reduce the rates of one disk, counted from 1, to the fraction ``share``."""
        raise self.refusal("disks")

    def slow_nic(self, host: str, share: float) -> Undo:
        """Reduce the rate of a host's NIC, in both directions, to the fraction ``share``."""
        raise self.refusal("NICs")

    def fill_disk(self, host: str, disk: int, share: float) -> Undo:
        """Fill one disk, counted from 1, until the fraction ``share`` of it is in use."""
        raise self.refusal("disks")

    @abstractmethod
    def progress(self, since: float) -> float | None:
        """Completed fraction of a job submitted after ``since`` (epoch s); None if none runs.

        A job begins when its application runs: the job history records the same start. The
        progress of a transfer is not known: it is 0 while the transfer runs.
        """

    @abstractmethod
    def copies(self) -> Copies | None:
        """What the file system's master reports; None if it does not answer."""

    @abstractmethod
    def sure_s(self) -> float:
        """Seconds without a missing replica until the report of the master counts.

        The master counts its hosts and its blocks at different times.
        """

    @abstractmethod
    def restore(self, *, copies: bool) -> None:
        """Wait until every daemon serves and, with ``copies``, all blocks are fully replicated.

        Called after every fault was undone. Raises DeploymentError if this state is not
        reached: the deployment must then not be used again.
        """
