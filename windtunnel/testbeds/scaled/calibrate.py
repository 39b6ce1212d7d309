"""Calibration: it sets, measures and judges every limited resource.

Only the fabric is built, without Hadoop. Plans that differ only in rates share a fabric, whose
limits are changed from plan to plan. A resource with the same limit is measured once.
"""

from __future__ import annotations

import itertools
import platform
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from windtunnel import __version__
from windtunnel.errors import NotRealisableError, StorageFullError
from windtunnel.hosts.fabric.lifetime import standing
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.hosts.leftovers import state_root
from windtunnel.results.calibration import CalibrationRecord, CalibrationResource
from windtunnel.testbeds.base import Progress
from windtunnel.testbeds.scaled.probing import LONGER, Bench, probe_bytes
from windtunnel.testbeds.scaled.shaped import (
    Shaped,
    Stage,
    batches,
    instrumented,
    machine_limits,
    new_parts,
)

# Fraction of the capacity of the host machine that a batch may use. Above it, the measurement would
# show the host machine and not the limits.
_CARRIED = 0.5
_SPARE_BYTES = 512 << 20
_LEAST_DISK_BYTES = 384 << 20  # xfs requires 300 MiB; the images are sparse
_BUSY_BEFORE = 0.30
_MBIT = 1e6 / 8
_SWEEP = ((25, 5, 0.25), (100, 20, 0.5), (400, 50, None))  # NIC Mbit/s, disk MB/s, cores


def calibrate(
    plans: Sequence[FabricPlan],
    progress: Progress = lambda what, done, total: None,
    known: Sequence[CalibrationResource] = (),
) -> CalibrationRecord:
    """Measure all resources that the plans limit; the record contains the result.

    Resources that are ``known`` are not measured again.

    Raises
    ------
    NotRealisableError
        If this machine does not support virtual hosts.
    StorageFullError
        If there is no space for the files of the probes.
    DeploymentError
        If the fabric cannot be built, or a probe fails.
    """
    refuse_without_rights()
    began = time.time()
    busy = psutil.cpu_percent(interval=0.5) / 100
    fabrics = list(_fabrics(plans))
    total = sum(len(new) for _, new in new_parts(itertools.chain(*fabrics)))
    work = _Work(total + len(machine_limits(1)), progress, known)
    for built in fabrics:
        work.measure(built)
    notes = [*work.notes, *_notes(plans, work.got)]
    if busy > _BUSY_BEFORE:
        notes.append(
            f"the machine was {busy:.0%} busy with other work, so that the measured CPU quotas "
            "can be too low"
        )
    return CalibrationRecord(
        measured_at=began,
        took_s=time.time() - began,
        boot=boot(),
        kernel=platform.release(),
        windtunnel=__version__,
        resources=[
            CalibrationResource.of(part.kind, part.name, part.set, part.unit, measured)
            for part, measured in work.found.items()
        ],
        notes=list(dict.fromkeys(notes)),
    )


class _Work:
    """The measurements so far, of several fabrics; ``got`` are those of the host machine."""

    def __init__(
        self, total: int, progress: Progress, known: Sequence[CalibrationResource]
    ) -> None:
        self.found: dict[Shaped, list[float]] = {}
        self._known = {(one.kind, one.name, one.set): one.measured for one in known}
        self.got: dict[Stage, float] = {}
        self.notes: list[str] = []
        self._seen: set[tuple[object, ...]] = set()
        self._total = total
        self._progress = progress

    def measure(self, plans: Sequence[FabricPlan]) -> None:
        """Measure the new resources of plans that can use the same fabric."""
        size = _disk_bytes(plans)
        _check_space(plans)
        self._progress("building virtual hosts", len(self.found), self._total)
        first = instrumented(plans[0], size)
        with standing(first, "calibration") as fabric:
            self.notes += fabric.notes
            bench = Bench(fabric, plans[0])
            processors = psutil.cpu_count() or 1
            if not self.got:
                for part in machine_limits(processors):
                    self._note(bench.measure(part.stage, [part]))
                    self.got[part.stage] = self.found[part][0]
            for plan, parts in new_parts(plans):
                bench.change(plan)
                new = [part for part in parts if part.key not in self._seen]
                named = {part: self._known.get((part.kind, part.name, part.set)) for part in new}
                self._note({part: measured for part, measured in named.items() if measured})
                todo = [part for part in new if not named[part]]
                carried = {stage: rate * _CARRIED for stage, rate in self.got.items()}
                carried["CPU"] = processors * _CARRIED
                for stage, batch in batches(todo, carried):
                    self._progress(stage, len(self.found), self._total)
                    self._note(bench.measure(stage, batch))

    def _note(self, measured: dict[Shaped, list[float]]) -> None:
        self.found |= measured
        self._seen |= {part.key for part in measured}


def refuse_without_rights() -> None:
    """Raise NotRealisableError if this machine does not support virtual hosts."""
    lacks = [lack for lack in capabilities() if lack.fatal]
    if lacks:
        raise NotRealisableError(
            f"this machine lacks {', '.join(lack.what for lack in lacks)}",
            remedy=" ".join(lack.remedy for lack in lacks),
        )


def boot() -> str:
    """The id of the current boot; "unknown" if the kernel does not report one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def sweep(plan: FabricPlan) -> list[FabricPlan]:
    """A plan, and the same plan with slow to fast resources of each kind, on all its hosts.

    NIC 25, 100, 400 Mbit/s; disk 5, 20, 50 MB/s; CPU 0.25, 0.5 cores.
    """
    names = [host.name for host in plan.hosts if host.disks and host.cpu_cores]
    found = [plan]
    for first in range(0, len(_SWEEP), len(names)):
        levels = dict(zip(names, _SWEEP[first:], strict=False))
        hosts = tuple(
            _swept(host, *levels[host.name]) if host.name in levels else host for host in plan.hosts
        )
        found.append(replace(plan, hosts=hosts))
    return found


def _swept(host: HostPlan, mbit: float, mbytes: float, cores: float | None) -> HostPlan:
    rate = mbytes * 1e6
    disk = replace(host.disks[0], read_bytes_s=rate, write_bytes_s=rate)
    return replace(
        host,
        nic_bytes_s=mbit * _MBIT,
        cpu_cores=cores or host.cpu_cores,
        disks=(disk, *host.disks[1:]),
    )


def _fabrics(plans: Iterable[FabricPlan]) -> Iterator[list[FabricPlan]]:
    """Plans grouped by fabric; the largest plan of a group, which is built, comes first."""
    found: list[list[FabricPlan]] = []
    for plan in sorted(plans, key=lambda plan: -sum(1 + len(h.disks) for h in plan.hosts)):
        home = next((group for group in found if _can_become(group[0], plan)), None)
        if home is None:
            found.append([plan])
        elif plan not in home:
            home.append(plan)
    yield from found


def _can_become(built: FabricPlan, plan: FabricPlan) -> bool:
    hosts = {host.name: host for host in built.hosts}
    racks = {rack.name for rack in built.racks}
    return (
        built.file_system == plan.file_system
        and {rack.name for rack in plan.racks} <= racks
        and all(
            host.name in hosts and _fixed(hosts[host.name], host) == _fixed(host, host)
            for host in plan.hosts
        )
    )


def _fixed(host: HostPlan, wanted: HostPlan) -> tuple[object, ...]:
    """The properties of a host that cannot be changed, as far as ``wanted`` needs them."""
    names = {disk.name for disk in wanted.disks}
    guests = tuple((guest.name, guest.cpu_cores, guest.disks) for guest in host.guests)
    disks = names & {disk.name for disk in host.disks}
    return host.rack, host.mtu, host.latency_s, host.controller_bytes_s is None, guests, disks


def _disks(plans: Iterable[FabricPlan]) -> Iterator[DiskPlan]:
    return (disk for plan in plans for host in plan.hosts for disk in host.disks)


def _disk_bytes(plans: Sequence[FabricPlan]) -> int:
    """Space on each disk for the longest file of a probe."""
    files = [probe_bytes(None), *map(_file_bytes, _disks(plans))]
    return max(_LEAST_DISK_BYTES, int(max(files) * 1.25) >> 20 << 20)


def _file_bytes(disk: DiskPlan) -> int:
    rates = disk.read_bytes_s, disk.write_bytes_s
    return max(probe_bytes(rate, LONGER) for rate in rates)


def _check_space(plans: Sequence[FabricPlan]) -> None:
    """Raise StorageFullError if the files of the probes would fill the disk of the machine."""
    most = max(sum(map(_file_bytes, _disks([plan]))) for plan in plans)
    needed = most // LONGER + _SPARE_BYTES
    there = next(path for path in (state_root(), *state_root().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise StorageFullError(
            f"calibration writes {needed >> 20} MiB, and only {free >> 20} MiB are free",
            remedy="free some space, or set WINDTUNNEL_STATE to a folder on a larger disk.",
        )


def _notes(plans: Iterable[FabricPlan], got: dict[Stage, float]) -> Iterator[str]:
    """Notes on resources whose limits together exceed the capacity of the host machine."""
    sums: dict[Stage, float] = {}
    for plan in plans:
        limits: dict[Stage, float] = {
            "network": sum(host.nic_bytes_s or 0.0 for host in plan.hosts),
            "read cold": sum(_disks_together(host, "read_bytes_s") for host in plan.hosts),
            "write direct": sum(_disks_together(host, "write_bytes_s") for host in plan.hosts),
        }
        sums |= {stage: max(rate, sums.get(stage, 0.0)) for stage, rate in limits.items()}
    nouns: dict[Stage, str] = {
        "network": "NICs",
        "read cold": "disks when read",
        "write direct": "disks when written",
    }
    for stage, rate in sums.items():
        noun, capacity = nouns[stage], got.get(stage)
        if capacity is not None and rate > capacity:
            yield (
                f"all {noun} together are set to {rate / 1e6:.0f} MB/s, but this machine provides "
                f"{capacity / 1e6:.0f} MB/s, which limits a trial that uses all at the same time"
            )


def _disks_together(host: HostPlan, rate_of: str) -> float:
    total: float = sum(getattr(disk, rate_of) or 0.0 for disk in host.disks)
    return min(total, host.controller_bytes_s or total)
