"""Control groups of a fabric, versions 1 and 2 behind one class.

Each virtual host has a group ``wt-ID/HOST``; its guests have groups below it, so that the host's
limits apply to their sum. A second group, ``wt-ID/HOST.start``, has no CPU quota: processes that
only start others run in it (``ProcessSpec.starter``). Version 1 has one tree per controller,
version 2 one tree for all.
In version 2 the host's group limits the disks. In version 1 the root group limits them, because
a rule in another group would not apply to data that the kernel writes back later.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.hosts.fabric.ledger import Ledger

# Whenever a quota stops a group, its caches become cold: a group that works for 3 ms at a time
# needs a third more CPU time for the same work, one that works for 25 ms needs 5 % more
# (docs/decisions/0093). Longer periods would stop daemons for longer.
_WORKS_US = 25_000
_PERIOD_LEAST_US, _PERIOD_MOST_US = 50_000, 400_000
_LEAST_QUOTA_US = 1000  # the kernel's own limit
_CPU = ("cpu", "cpuacct")
_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory")
_DROP_PASSES = 5


def period_us(cores: float | None) -> int:
    """The period of a CPU quota in microseconds: shorter for more cores; None is no quota."""
    if cores is None:
        return _PERIOD_LEAST_US
    return min(max(round(_WORKS_US / cores), _PERIOD_LEAST_US), _PERIOD_MOST_US)


@dataclass(frozen=True)
class Trees:
    """Where controllers are mounted: ``v1`` by controller, ``v2`` with its controllers."""

    v1: Mapping[str, Path]
    v2: Path | None = None
    v2_controllers: frozenset[str] = frozenset()

    def missing(self) -> list[str]:
        """Required controllers that neither version has."""
        needed = ("cpu", "cpuset", "memory")
        missing = [name for name in needed if name not in {*self.v1, *self.unified}]
        disks = "blkio" in self.v1 or "io" in self.unified
        return missing if disks else [*missing, "blkio (version 1) or io (version 2)"]

    @property
    def unified(self) -> frozenset[str]:
        """Controllers of version 2; empty if there is no such tree."""
        return self.v2_controllers if self.v2 else frozenset()


def find_trees(mounts: Path = Path("/proc/self/mounts")) -> Trees:
    """The trees of this machine."""
    v1: dict[str, Path] = {}
    v2, controllers = None, frozenset[str]()
    for line in mounts.read_text().splitlines():
        _, where, kind, options, *_ = line.split(" ")
        if kind == "cgroup":
            for option in options.split(","):
                if option in (*_CONTROLLERS, "blkio"):
                    v1.setdefault(option, Path(where))
        elif kind == "cgroup2" and v2 is None:
            v2 = Path(where)
            with contextlib.suppress(OSError):
                controllers = frozenset((v2 / "cgroup.controllers").read_text().split())
    return Trees(v1, v2, controllers)


class Group:
    """The group of one host or guest."""

    def __init__(self, trees: Trees, name: str) -> None:
        self.name = name
        self._trees = trees
        # cores, period and present quota, both in microseconds
        self._limit: tuple[float, int, int] | None = None

    def folders(self) -> list[Path]:
        """Its folders, one per tree."""
        roots = [root for control, root in self._trees.v1.items() if control in _CONTROLLERS]
        if self._trees.unified:
            assert self._trees.v2 is not None
            roots.append(self._trees.v2)
        return [root / self.name for root in dict.fromkeys(roots)]

    def entrances(self) -> list[Path]:
        """The files to which a process writes its id to become a member.

        In version 1 the process also joins the root of blkio, which has the disks' rules.
        """
        blkio = self._trees.v1.get("blkio")
        folders = [*self.folders(), *([blkio] if blkio else [])]
        return [folder / "cgroup.procs" for folder in folders]

    def starter_entrances(self, start: Group) -> list[Path]:
        """As :meth:`entrances`, with the CPU controllers of the group ``start``.

        In version 2, which has one tree for all controllers, the process enters ``start`` only.
        """
        if not self._trees.v1.get("cpu"):
            return start.entrances()
        own, cpu = {*self.quota_files()}, start.quota_files()
        return [*cpu, *(entrance for entrance in self.entrances() if entrance not in own)]

    def quota_files(self) -> list[Path]:
        """The files to which a process writes 0 to come under this group's CPU quota."""
        roots = [root for name in _CPU if (root := self._trees.v1.get(name))]
        if not roots and self._trees.v2:
            roots = [self._trees.v2]
        return [root / self.name / "cgroup.procs" for root in dict.fromkeys(roots)]

    def open_quota(self, user: int, group: int) -> None:
        """Let the processes of an account come under this group's CPU quota. Raises OSError.

        In version 2 they need the same right in the first common parent of both groups, which
        is the group ``wt-ID`` for hosts and for guests.
        """
        files = self.quota_files()
        if not self._trees.v1.get("cpu") and self._trees.v2:
            files.append(self._trees.v2 / self.name.split("/")[0] / "cgroup.procs")
        for file in files:
            os.chown(file, user, group)

    def set_cpu(self, cores: float | None, start: float | None = None, factor: float = 1.0) -> None:
        """Limit CPU time to this number of cores, times ``factor``. Raises OSError.

        The unused time of a period, up to one full quota, may be used later: otherwise a group
        would lose time whenever the machine pauses for a moment (steal time).

        Parameters
        ----------
        start:
            When the periods start, as a fraction of a period after a time that is the same for all
            groups with this quota; the call then takes up to one period. None: as the kernel does.
        """
        period = period_us(cores)
        quota = None if cores is None else _quota_us(cores, period, factor)
        self._set_burst(0)  # it may not exceed the quota
        if quota is not None and start is not None:
            self._start_periods(period / 1e6, start)
        self._set_quota(quota, period)
        self._set_burst(quota or 0)
        self._limit = None if cores is None or quota is None else (cores, period, quota)

    def scale_cpu(self, factor: float) -> None:
        """Multiply the limit that :meth:`set_cpu` has set; its periods continue. Raises OSError.

        The kernel gives the group a whole new quota within the present period.
        """
        if self._limit is None:
            return
        cores, period, before = self._limit
        quota = _quota_us(cores, period, factor)
        if quota < before:
            self._set_burst(quota)
        if "cpu" in self._trees.v1:
            self._write("cpu", "cpu.cfs_quota_us", quota)
        else:
            self._write("cpu", "cpu.max", f"{quota} {period}")
        self._limit = cores, period, quota

    def _start_periods(self, period_s: float, start: float) -> None:
        """Wait until a period should start, and start one.

        The kernel continues the periods of a group when its quota changes. Therefore the shortest
        period is set for a moment: one of these ends now. This has no effect on a group whose
        quota was in force less than a period ago.
        """
        time.sleep((start * period_s - time.monotonic()) % period_s)
        self._set_quota(_LEAST_QUOTA_US, _LEAST_QUOTA_US)

    def _set_burst(self, burst_us: int) -> None:
        with contextlib.suppress(OSError):  # kernels before 5.14 have none
            name = "cpu.cfs_burst_us" if "cpu" in self._trees.v1 else "cpu.max.burst"
            self._write("cpu", name, burst_us)

    def _set_quota(self, quota_us: int | None, period_us: int) -> None:
        if "cpu" not in self._trees.v1:
            self._write("cpu", "cpu.max", f"{'max' if quota_us is None else quota_us} {period_us}")
            return
        # with a new period, the old quota can exceed the parent's
        self._write("cpu", "cpu.cfs_quota_us", -1)
        self._write("cpu", "cpu.cfs_period_us", period_us)
        self._write("cpu", "cpu.cfs_quota_us", -1 if quota_us is None else quota_us)

    def set_cpuset(self, cpus: Iterable[int]) -> None:
        """Bind to these CPUs; without any, to all CPUs of the parent. Raises OSError."""
        folder = self._folder("cpuset")
        text = ",".join(str(cpu) for cpu in cpus)
        if "cpuset" not in self._trees.v1:
            (folder / "cpuset.cpus").write_text(f"{text}\n")
            return
        for name in ("cpuset.mems", "cpuset.cpus"):  # no process can join if they are empty
            inherited = (folder.parent / name).read_text().strip()
            (folder / name).write_text(text if text and name == "cpuset.cpus" else inherited)

    def set_memory(self, limit_bytes: int | None) -> None:
        """Limit processes and page cache together; no swapping. Raises OSError."""
        if "memory" in self._trees.v1:
            self._write("memory", "memory.limit_in_bytes", limit_bytes or -1)
            self._write("memory", "memory.swappiness", 0)
        else:
            self._write("memory", "memory.max", limit_bytes or "max")
            with contextlib.suppress(OSError):  # a kernel without swap has no such file
                self._write("memory", "memory.swap.max", 0)

    def drop_caches(self) -> None:
        """Drop the page cache of this group except dirty pages. Raises OSError."""
        if "memory" in self._trees.v1:
            self._write("memory", "memory.force_empty", 0)
            return
        for _ in range(_DROP_PASSES):  # memory.reclaim returns EAGAIN if it freed less
            cached = self._stat("memory", "memory.stat").get("file", 0)
            if not cached:
                return
            with contextlib.suppress(BlockingIOError):
                self._write("memory", "memory.reclaim", cached)

    def set_disk_rules(self, device: str, rules: Mapping[str, float | None]) -> None:
        """Version 2: limit a device, MAJOR:MINOR, by rbps, wbps, riops, wiops; raises OSError."""
        text = " ".join(f"{key}={'max' if v is None else int(v)}" for key, v in rules.items())
        self._write("io", "io.max", f"{device} {text}")

    def cpu_s(self) -> float:
        """CPU seconds used since the group was created."""
        if "cpuacct" in self._trees.v1:
            return int((self._folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9
        return self._stat("cpu", "cpu.stat").get("usage_usec", 0) / 1e6

    def throttled_s(self) -> float:
        """Seconds for which the quota throttled the group, summed over CPUs."""
        found = self._stat("cpu", "cpu.stat")
        if "cpu" in self._trees.v1:
            return found.get("throttled_time", 0) / 1e9
        return found.get("throttled_usec", 0) / 1e6

    def memory_bytes(self) -> int:
        """Present memory of processes and page cache."""
        name = "memory.usage_in_bytes" if "memory" in self._trees.v1 else "memory.current"
        return int((self._folder("memory") / name).read_text())

    def cached_bytes(self) -> int:
        """Present page cache."""
        found = self._stat("memory", "memory.stat")
        return found.get("total_cache", 0) if "memory" in self._trees.v1 else found.get("file", 0)

    def _folder(self, controller: str) -> Path:
        root = self._trees.v1.get(controller, self._trees.v2)
        assert root is not None
        return root / self.name

    def _write(self, controller: str, file: str, value: object) -> None:
        (self._folder(controller) / file).write_text(f"{value}\n")

    def _stat(self, controller: str, file: str) -> dict[str, int]:
        lines = (self._folder(controller) / file).read_text().splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}


def _quota_us(cores: float, period: int, factor: float) -> int:
    return max(int(cores * factor * period), _LEAST_QUOTA_US)


def make_groups(trees: Trees, names: Iterable[str], ledger: Ledger) -> dict[str, Group]:
    """Create groups, parents before children; the undo ends all their processes.

    In version 2 a group enables its controllers for its children; the ledger also records
    controllers that the root had not enabled. Raises OSError.
    """
    groups = {name: Group(trees, name) for name in names}
    wanted = sorted(trees.unified & {"cpu", "cpuset", "memory", "io"})
    if wanted:
        assert trees.v2 is not None
        switch = trees.v2 / "cgroup.subtree_control"
        new = [name for name in wanted if name not in switch.read_text().split()]
        for name in new:
            ledger.note({"kind": "value", "path": str(switch), "text": f"-{name}"})
        switch.write_text(" ".join(f"+{name}" for name in wanted))
    folders = [folder for group in groups.values() for folder in group.folders()]
    ledger.note(*({"kind": "cgroup", "path": str(folder)} for folder in folders))
    for name, group in groups.items():
        for folder in group.folders():
            folder.mkdir()
        if "cpuset" in trees.v1:
            group.set_cpuset(())
        if wanted and any(other.startswith(f"{name}/") for other in groups):
            assert trees.v2 is not None
            control = trees.v2 / name / "cgroup.subtree_control"
            control.write_text(" ".join(f"+{controller}" for controller in wanted))
    return groups
