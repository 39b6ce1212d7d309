"""Faults of virtual hosts: cut links, degraded disks and NICs, full disks."""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from windtunnel.engines.faults import Undo
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan
from windtunnel.hosts.fabric.virtual import VirtualHost
from windtunnel.testbeds.hadoop_faults import HadoopFaults, RunningCluster

_P = TypeVar("_P")
BALLAST = "windtunnel-ballast"
_LARGEST_PIECE = 64 << 20
_SMALLEST_PIECE = 64 << 10
_DISKS_LIMIT_S = 300.0  # NodeManagers check their disks every two minutes by default
_STEP_S = 1.0


class RunningModel(RunningCluster, Protocol):
    """The parts of a scale model that faults of the hardware need in addition.

    ``limits`` is held while limits of the fabric and ``shaped`` change: faults have own threads.
    """

    fabric: Fabric
    limits: threading.Lock
    shaped: FabricPlan
    virtual: Mapping[str, VirtualHost]

    def unshaped(self, *, cpu_only: bool = False) -> AbstractContextManager[None]:
        """Lift the limits of the hosts for a time."""


class ScaledFaults(HadoopFaults):
    """Also injects faults into links, disks and NICs; the ledger of the fabric has every limit."""

    def __init__(self, deployment: RunningModel) -> None:
        super().__init__(deployment)
        self._model = deployment
        self._disk_was_full = False
        self._cuts = Counter[str]()  # the faults in force that cut a link
        # slow parts: their rates without faults, and the factors of all faults in force
        self._slowed: dict[tuple[str, str], tuple[Any, list[float]]] = {}

    def cut(self, name: str) -> Undo:
        """Cut the link of a host or of a rack, until the last fault on it is undone."""
        pool = self._model.pool
        with self._model.limits:
            self._model.fabric.cut(name)
            self._cuts[name] += 1
            if pool:
                pool.cuts[name] = self._behind(name)

        def undo() -> None:
            with self._model.limits:
                if self._cuts[name] > 1:
                    self._cuts[name] -= 1
                    return
                self._model.fabric.mend(name)
                self._cuts[name] = 0
                if pool:
                    pool.cuts.pop(name, None)

        return undo

    def _behind(self, name: str) -> set[str]:
        """The hosts and guests behind the link of a host, a guest or a rack."""
        machines = [one for one in self._model.shaped.hosts if name in (one.name, one.rack)]
        guests = {guest.name for machine in machines for guest in machine.guests}
        return {name, *(machine.name for machine in machines), *guests}

    def slow_disk(self, host: str, disk: int, share: float) -> Undo:
        """Reduce the rates of one disk, counted from 1, to a fraction."""
        with self._model.limits:
            machine, plan = self._disk(host, disk)
            if _slower(plan, share) == plan:
                raise NotRealisableError(
                    f"disk {disk} of {host} has no rates that could be reduced",
                    remedy="add its read_rate and write_rate to the description.",
                )

            def multiply(base: DiskPlan, factor: float) -> None:
                self._set_disk(machine.name, _slower(base, factor))

            return self._slow((machine.name, plan.name), plan, share, multiply)

    def slow_nic(self, host: str, share: float) -> Undo:
        """Reduce the rate of the NIC of a host to a fraction, in both directions."""
        with self._model.limits:
            machine = self._machine(host)
            rate = machine.nic_bytes_s
            if rate is None:
                raise NotRealisableError(
                    f"the NIC of {host} has no rate that could be reduced",
                    remedy="add its rate to the description.",
                )

            def multiply(base: float, factor: float) -> None:
                self._set_nic_rate(machine.name, base * factor)

            return self._slow((machine.name, "NIC"), rate, share, multiply)

    def _slow(
        self, part: tuple[str, str], now: _P, share: float, multiply: Callable[[_P, float], None]
    ) -> Undo:
        """Reduce the rates of a part that has the rates ``now``; its undo removes this factor only.

        ``multiply`` sets its rates to a factor of those without faults. Faults of one part can end
        in any order.
        """
        base, factors = self._slowed.get(part, (now, []))
        multiply(base, math.prod([*factors, share]))
        factors.append(share)
        self._slowed[part] = base, factors

        def undo() -> None:
            with self._model.limits:
                factors.remove(share)
                multiply(base, math.prod(factors))
                if not factors:
                    del self._slowed[part]

        return undo

    def fill_disk(self, host: str, disk: int, share: float) -> Undo:
        """Fill one disk with a file that allocates space without writing data."""
        _, plan = self._disk(host, disk)
        ballast = self._model.virtual[self._node(host)].disks[plan.name] / BALLAST
        self._disk_was_full = True
        fill(ballast, share)
        return lambda: ballast.unlink(missing_ok=True)

    def restore(self, *, copies: bool) -> None:
        """Restore the cluster; daemons start without CPU quotas, because no trial measures it."""
        with self._model.unshaped(cpu_only=True):
            super().restore(copies=copies)
            if self._disk_was_full:
                self._wait_for_disks()
        self._disk_was_full = False

    def _wait_for_disks(self) -> None:
        """Wait until NodeManagers use the disk again: the next trial has the same disks."""
        limit = time.monotonic() + _DISKS_LIMIT_S
        while hosts := self._model.daemons.masters.hosts_with_unused_disks():
            if time.monotonic() > limit:
                raise DeploymentError(
                    f"the NodeManager on {', '.join(hosts)} does not use all of its disks "
                    f"{_DISKS_LIMIT_S:.0f} s after they were emptied",
                    remedy="reduce yarn.nodemanager.disk-health-checker.interval-ms, the time "
                    "between two checks of the disks.",
                )
            self._model.check_alive()
            time.sleep(_STEP_S)

    def _set_disk(self, host: str, plan: DiskPlan) -> None:
        """Change the rates of a disk, also for the time after the limits were lifted."""
        self._model.fabric.set_disk(host, plan.name, plan)
        disks = [plan if disk.name == plan.name else disk for disk in self._machine(host).disks]
        self._replace(host, disks=tuple(disks))

    def _set_nic_rate(self, host: str, rate_bytes_s: float) -> None:
        """Change the rate of a NIC, also for the time after the limits were lifted."""
        self._model.fabric.set_nic_rate(host, rate_bytes_s)
        self._replace(host, nic_bytes_s=rate_bytes_s)

    def _replace(self, host: str, **changes: Any) -> None:
        shaped = self._model.shaped
        hosts = [replace(one, **changes) if one.name == host else one for one in shaped.hosts]
        self._model.shaped = replace(shaped, hosts=tuple(hosts))

    def _machine(self, host: str) -> HostPlan:
        """The virtual host with a name, or the one with a guest of that name."""
        for machine in self._model.shaped.hosts:
            if host in (machine.name, *(guest.name for guest in machine.guests)):
                return machine
        raise NotRealisableError(
            f"there is no host '{host}'", remedy="use a host of the cluster description."
        )

    def _node(self, host: str) -> str:
        machine = self._machine(host)
        guests = [guest.name for guest in machine.guests]
        return guests[0] if guests and host == machine.name else host

    def _disk(self, host: str, disk: int) -> tuple[HostPlan, DiskPlan]:
        machine, node = self._machine(host), self._node(host)
        of_guest = next((guest.disks for guest in machine.guests if guest.name == node), ())
        disks = [plan for plan in machine.disks if not of_guest or plan.name in of_guest]
        if disk > len(disks):
            raise NotRealisableError(
                f"{node} has {len(disks)} disks and no disk {disk}",
                remedy="use the number of a data disk, counted from 1.",
            )
        return machine, disks[disk - 1]


def fill(ballast: Path, share: float, take: Callable[[int, int, int], None] | None = None) -> None:
    """Create a file that fills its file system to ``share``, without writing data.

    The allocated pieces become smaller when a piece no longer fits. Raises OSError, and
    DeploymentError if the file system is already as full.
    """
    take = take or os.posix_fallocate
    size = os.statvfs(ballast.parent)
    taken = size.f_blocks - size.f_bavail
    wanted = (int(size.f_blocks * share) - taken) * size.f_frsize
    if wanted <= 0:
        raise DeploymentError(f"the disk is already {taken / size.f_blocks:.0%} full")
    done, piece = 0, _LARGEST_PIECE
    with ballast.open("wb") as file:
        while done < wanted and piece >= _SMALLEST_PIECE:
            step = min(piece, wanted - done)
            try:
                take(file.fileno(), done, step)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                piece //= 2
            else:
                done += step


def _slower(plan: DiskPlan, share: float) -> DiskPlan:
    """A disk with a fraction of its rates."""
    return replace(
        plan,
        read_bytes_s=_times(plan.read_bytes_s, share),
        write_bytes_s=_times(plan.write_bytes_s, share),
        read_iops=_whole(plan.read_iops, share),
        write_iops=_whole(plan.write_iops, share),
    )


def _times(rate: float | None, share: float) -> float | None:
    return None if rate is None else rate * share


def _whole(rate: int | None, share: float) -> int | None:
    return None if rate is None else max(1, round(rate * share))
