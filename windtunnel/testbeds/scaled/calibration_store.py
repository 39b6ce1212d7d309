"""Stored calibrations: a valid one is reused instead of measuring again.

``STATE/calibration/KEY.json``. The key is a hash of all limits of the plans, of the boot id of the
machine, of its kernel and of the version of Windtunnel. A resource that deviates stops its study;
within an hour, the next attempt measures only the resources that deviated. Calibrations of earlier
boots are removed.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from windtunnel import __version__, durable
from windtunnel.errors import ResultsError
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.leftovers import state_errors, state_root
from windtunnel.results.calibration import (
    CalibrationRecord,
    CalibrationResource,
    read_calibration,
)
from windtunnel.testbeds.base import Notify
from windtunnel.testbeds.scaled.calibrate import boot, calibrate

_HOLDS_S = 3600.0  # validity of an accurate resource while others deviate


def ready(plans: Sequence[FabricPlan], notify: Notify) -> CalibrationRecord:
    """A calibration of plans without deviations: the stored one, or a new one.

    Raises
    ------
    NotRealisableError
        If a resource deviates, with its name.
    """
    plans = distinct(plans)
    found = stored(plans)
    if found is not None:
        age = time.strftime("%H:%M, %d %b", time.localtime(found.measured_at))
        notify(f"stored calibration of {age}: {len(found.resources)} resources are accurate")
        return found
    earlier = _earlier(plans)
    known = _as_set(earlier) if earlier else []
    but = f" except {len(known)} that were accurate before" if known else ""
    notify(f"calibrating: all limited resources{but} are measured before the first trial")
    found = calibrate(plans, known=known)
    if earlier and known:
        at = time.strftime("%H:%M:%S", time.localtime(earlier.measured_at))
        note = (
            f"{len(known)} resources were measured at {at}, when {len(earlier.off)} others deviated"
        )
        update = {"measured_at": earlier.measured_at, "notes": [*found.notes, note]}
        found = found.model_copy(update=update)
    keep(plans, found)
    found.refuse_if_off()
    notify(
        f"calibrated in {found.took_s:.0f} s: {len(found.resources)} resources are accurate "
        "within 10 %"
    )
    for note in found.notes:
        notify(note)
    return found


def distinct(plans: Sequence[FabricPlan]) -> list[FabricPlan]:
    """The plans that differ in a calibrated property, each once; sizes are not calibrated."""
    return list({_shape(plan): plan for plan in plans}.values())


def stored(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    """The calibration of the same rates since the boot of the machine, if there is one."""
    found = _read(plans)
    return None if found is None or found.off else found


def _earlier(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    """A recent calibration with deviations, which stopped its study."""
    found = _read(plans)
    return found if found and time.time() - found.measured_at < _HOLDS_S else None


def _as_set(record: CalibrationRecord) -> list[CalibrationResource]:
    """The accurate resources whose name is unique; those of several builds can share a name."""
    times = Counter((part.kind, part.name, part.set) for part in record.resources)
    return [p for p in record.resources if p.ok and times[p.kind, p.name, p.set] == 1]


def _read(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    try:
        found = read_calibration(_file(plans))
    except ResultsError:  # there is none, or a damaged one, which is measured again
        return None
    return found if found.boot == boot() != "unknown" else None


def keep(plans: Sequence[FabricPlan], record: CalibrationRecord) -> None:
    """Store a calibration for the next study or attempt, atomically.

    Raises
    ------
    ResultsError, StorageFullError
        If the state folder cannot be written.
    """
    file = _file(plans)
    with state_errors(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        _forget_earlier_starts(file.parent)
        durable.write_text(file, record.to_json())


def _forget_earlier_starts(folder: Path) -> None:
    for file in folder.glob("*.json"):
        try:
            old = read_calibration(file).boot != boot()
        except ResultsError:
            old = True
        if old:
            file.unlink(missing_ok=True)


def _file(plans: Sequence[FabricPlan]) -> Path:
    facts = [boot(), platform.release(), __version__, *sorted(map(_shape, plans))]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]
    return state_root() / "calibration" / f"{key}.json"


def _shape(plan: FabricPlan) -> str:
    """The calibrated properties of a plan, as text."""
    hosts = tuple(
        replace(
            host,
            memory_bytes=None,
            disks=tuple(replace(disk, size_bytes=0) for disk in host.disks),
            guests=tuple(replace(guest, memory_bytes=None) for guest in host.guests),
        )
        for host in plan.hosts
    )
    return json.dumps(asdict(replace(plan, hosts=hosts)), sort_keys=True)
