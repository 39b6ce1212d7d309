"""The contract of faults: what can be broken in a running cluster, and how it is put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

Part = Literal["daemons", "links", "disks", "NICs"]
Undo = Callable[[], None]
"""Puts back what was broken; may be called once. Raises DeploymentError, OSError."""


@dataclass(frozen=True)
class Copies:
    """What the file system's master says of its copies.

    ``holders`` counts the hosts it takes for alive, ``wanting`` the blocks that have fewer
    copies than they should, or none. ``serving`` is False while it waits for its holders
    (safe mode), or while a holder that was started anew has not reported to it.
    """

    holders: int
    wanting: int
    serving: bool


class Faulty(Protocol):
    """Breaks parts of a running cluster; what is broken on purpose is no crash.

    Hosts are named as in the description's nodes. All methods may be called while a job runs,
    from another thread than the job's, and raise DeploymentError or OSError where the fault
    cannot be made, NotRealisableError where the testbed has no such part.
    """

    def kill_daemon(self, role: str, host: str) -> Undo:
        """SIGKILL a daemon alone: containers of a NodeManager live on."""
        ...

    def kill_host(self, host: str) -> Undo:
        """SIGKILL all daemons of a host with all that they have started."""
        ...

    def cut(self, name: str) -> Undo:
        """Pull the cable of a host or of a rack."""
        ...

    def slow_disk(self, host: str, disk: int, share: float) -> Undo:
        """Leave a share of the rates of one disk, counted from 1."""
        ...

    def slow_nic(self, host: str, share: float) -> Undo:
        """Leave a share of the rate of a host's NIC, both directions."""
        ...

    def fill_disk(self, host: str, disk: int, share: float) -> Undo:
        """Fill one disk, counted from 1, until a share of it is taken."""
        ...

    def progress(self, since: float) -> float | None:
        """Share of a job that is done, which was asked for after ``since`` (epoch s); else None.

        A job begins when its application runs, which is the start that its history tells. Of
        a transfer no more is known than that it runs: 0.
        """
        ...

    def copies(self) -> Copies | None:
        """What the file system's master says; None where it does not answer."""
        ...

    def sure_s(self) -> float:
        """For how long the master must miss nothing before it is believed, in seconds.

        It counts its holders and its blocks at different times.
        """
        ...

    def restore(self, *, copies: bool) -> None:
        """Wait until every daemon serves and, with ``copies``, no block wants a copy.

        Called after every fault was undone. Raises DeploymentError if that does not come
        about: the deployment must then not be used again.
        """
        ...


@runtime_checkable
class Breakable(Protocol):
    """A deployment in which faults can be made."""

    @property
    def faulty(self) -> Faulty:
        """What breaks it."""
        ...
