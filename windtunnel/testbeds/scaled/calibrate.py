"""Calibration of the tunnel: every shaped part is set, measured and judged.

Only the fabric is built, without Hadoop. Plans that differ in rates alone share a fabric, which
is changed while it stands; what one of them has measured is not measured again.
"""

from __future__ import annotations

import itertools
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from windtunnel import __version__
from windtunnel.errors import NotRealisableError, StorageFullError
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan
from windtunnel.hosts.fabric.standing import standing
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.hosts.remains import state_root
from windtunnel.results.calibration import CalibrationRecord, CalibrationResource
from windtunnel.testbeds.scaled.bench import LONGER, Bench, probe_bytes
from windtunnel.testbeds.scaled.shaped import (
    Shaped,
    Stage,
    batches,
    instrumented,
    new_parts,
    walls,
)

Progress = Callable[[str, int, int], None]
"""Told what is measured next, how many parts are done, and how many there are."""

# Share of what the machine below can do that a batch may ask for: beyond it, the machine and
# not the limits would be measured.
_CARRIED = 0.5
_SPARE_BYTES = 512 << 20
_LEAST_DISK_BYTES = 384 << 20  # xfs makes none below 300 MiB; the images are sparse
_BUSY_BEFORE = 0.30
_LISTED = 8
_MBIT = 1e6 / 8
_SWEEP = ((25, 5, 0.25), (100, 20, 0.5), (400, 50, None))  # NIC Mbit/s, disk MB/s, cores


def calibrate(
    plans: Sequence[FabricPlan],
    progress: Progress = lambda what, done, total: None,
    known: Sequence[CalibrationResource] = (),
) -> CalibrationRecord:
    """Measure all that plans set; the judgement is in the record.

    Parts that are ``known`` are not measured again.

    Raises
    ------
    NotRealisableError
        If this machine can make no virtual hosts.
    StorageFullError
        If there is no room for the probes' files.
    DeploymentError
        If the fabric cannot be built, or a probe fails.
    """
    refuse_without_rights()
    began = time.time()
    busy = psutil.cpu_percent(interval=0.5) / 100
    fabrics = list(_fabrics(plans))
    total = sum(len(new) for _, new in new_parts(itertools.chain(*fabrics)))
    work = _Work(total + len(walls(1)), progress, known)
    for built in fabrics:
        work.measure(built)
    notes = [*work.notes, *_notes(plans, work.got)]
    if busy > _BUSY_BEFORE:
        notes.append(f"the machine was {busy:.0%} busy with other work: CPU quotas may read low")
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
    """What has been measured so far, over several fabrics; ``got`` by the machine below."""

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
        """Measure what is new in plans that one fabric can be shaped to."""
        size = _disk_bytes(plans)
        _see_to_room(plans)
        self._progress("building virtual hosts", len(self.found), self._total)
        first = instrumented(plans[0], size)
        with standing(first, "calibration") as fabric:
            self.notes += fabric.notes
            bench = Bench(fabric, plans[0])
            processors = psutil.cpu_count() or 1
            if not self.got:
                for part in walls(processors):
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
    """Raise NotRealisableError where this machine can make no virtual hosts."""
    lacks = [lack for lack in capabilities() if lack.fatal]
    if lacks:
        raise NotRealisableError(
            f"this machine lacks {', '.join(lack.what for lack in lacks)}",
            remedy=" ".join(lack.remedy for lack in lacks),
        )


def refuse_if_off(record: CalibrationRecord) -> None:
    """Raise NotRealisableError, naming the parts, if some are off by more than 10 %."""
    off = record.off
    if not off:
        return
    shown = [_words(resource) for resource in off[:_LISTED]]
    if len(off) > _LISTED:
        shown.append(f"and {len(off) - _LISTED} more")
    raise NotRealisableError(
        "the tunnel does not give what it is set to (more than 10 % off):\n    - "
        + "\n    - ".join([*shown, *(f"note: {note}" for note in record.notes)]),
        remedy="end other work on this machine and run the same command again, or choose a scale "
        "with a smaller rate; 'windtunnel calibrate scaled STUDY' shows all parts.",
    )


def _words(resource: CalibrationResource) -> str:
    assert resource.set is not None
    assert resource.ratio is not None
    return (
        f"{resource.kind}, {resource.name}: set {_value(resource.set, resource.unit)}, got "
        f"{_value(resource.got, resource.unit)} ({resource.ratio - 1:+.0%})"
    )


def _value(value: float, unit: str) -> str:
    if unit == "bytes/s":
        return f"{value / 1e6:.3g} MB/s"
    return f"{value:.3g} {unit}"


def boot() -> str:
    """The kernel's id of the machine's present start; "unknown" where it tells none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def sweep(plan: FabricPlan) -> list[FabricPlan]:
    """A plan, and the same with slow to fast parts of each kind, on as many hosts as there are.

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
    """Plans by the fabric that can be shaped to them; the largest, which is built, first."""
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


def _fixed(host: HostPlan, asked: HostPlan) -> tuple[object, ...]:
    """What of a host cannot be changed while it stands, as far as ``asked`` needs it."""
    names = {disk.name for disk in asked.disks}
    guests = tuple((guest.name, guest.cpu_cores, guest.disks) for guest in host.guests)
    disks = names & {disk.name for disk in host.disks}
    return host.rack, host.mtu, host.latency_s, host.controller_bytes_s is None, guests, disks


def _disks(plans: Iterable[FabricPlan]) -> Iterator[DiskPlan]:
    return (disk for plan in plans for host in plan.hosts for disk in host.disks)


def _disk_bytes(plans: Sequence[FabricPlan]) -> int:
    """Room on each disk for the longest file of a probe."""
    files = [probe_bytes(None), *map(_file_bytes, _disks(plans))]
    return max(_LEAST_DISK_BYTES, int(max(files) * 1.25) >> 20 << 20)


def _file_bytes(disk: DiskPlan) -> int:
    rates = disk.read_bytes_s, disk.write_bytes_s
    return max(probe_bytes(rate, LONGER) for rate in rates)


def _see_to_room(plans: Sequence[FabricPlan]) -> None:
    """Raise StorageFullError if the probes' files would fill the disk below."""
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
    """Where all parts at once ask for more than the machine below can do."""
    sums: dict[Stage, float] = {}
    for plan in plans:
        asked: dict[Stage, float] = {
            "network": sum(host.nic_bytes_s or 0.0 for host in plan.hosts),
            "read cold": sum(_disks_together(host, "read_bytes_s") for host in plan.hosts),
            "write direct": sum(_disks_together(host, "write_bytes_s") for host in plan.hosts),
        }
        sums |= {stage: max(rate, sums.get(stage, 0.0)) for stage, rate in asked.items()}
    nouns: dict[Stage, str] = {
        "network": "NICs",
        "read cold": "disks when read",
        "write direct": "disks when written",
    }
    for stage, rate in sums.items():
        noun, wall = nouns[stage], got.get(stage)
        if wall is not None and rate > wall:
            yield (
                f"all {noun} at once are set to {rate / 1e6:.0f} MB/s, and this machine gives "
                f"{wall / 1e6:.0f} MB/s: a trial that needs them all at once is limited by it"
            )


def _disks_together(host: HostPlan, rate_of: str) -> float:
    total: float = sum(getattr(disk, rate_of) or 0.0 for disk in host.disks)
    return min(total, host.controller_bytes_s or total)
