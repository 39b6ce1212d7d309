"""Stored calibrations: one that holds still is taken instead of measuring again.

``STATE/calibration/KEY.json``. The key is made of all that the plans shape, of this start of the
machine, of its kernel and of our version. One with a part that is off refuses its study; within an
hour the next attempt measures only what was off. Those of earlier starts are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from windtunnel import __version__
from windtunnel.errors import ResultsError
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.remains import state_root
from windtunnel.results.calibration import (
    CalibrationRecord,
    CalibrationResource,
    read_calibration,
)
from windtunnel.testbeds.base import Tell
from windtunnel.testbeds.scaled.calibrate import boot, calibrate, refuse_if_off

_HOLDS_S = 3600.0  # how long a part that was as set is believed while others are off


def ready(plans: Sequence[FabricPlan], tell: Tell) -> CalibrationRecord:
    """A calibration of plans in which nothing is off: the stored one, or a new one.

    Raises
    ------
    NotRealisableError
        If a part is off, with its name.
    """
    plans = distinct(plans)
    found = stored(plans)
    if found is not None:
        age = time.strftime("%H:%M, %d %b", time.localtime(found.measured_at))
        tell(f"calibration of the same rates, of {age}: {len(found.resources)} parts as set")
        return found
    earlier = _earlier(plans)
    known = _as_set(earlier) if earlier else []
    but = f" but {len(known)} that were as set just now" if known else ""
    tell(f"calibrating the tunnel: every shaped part{but} is measured before the first trial")
    found = calibrate(plans, known=known)
    if earlier and known:
        at = time.strftime("%H:%M:%S", time.localtime(earlier.measured_at))
        note = f"{len(known)} parts are those of {at}, when {len(earlier.off)} others were off"
        told = {"measured_at": earlier.measured_at, "notes": [*found.notes, note]}
        found = found.model_copy(update=told)
    keep(plans, found)
    refuse_if_off(found)
    tell(f"calibrated in {found.took_s:.0f} s: {len(found.resources)} parts as set, within 10 %")
    for note in found.notes:
        tell(note)
    return found


def distinct(plans: Sequence[FabricPlan]) -> list[FabricPlan]:
    """Plans that differ in something that is calibrated, each once: sizes are not."""
    return list({_shape(plan): plan for plan in plans}.values())


def stored(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    """The calibration of the same rates since the machine's start, if there is one."""
    found = _read(plans)
    return None if found is None or found.off else found


def _earlier(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    """One that refused its study a short time ago."""
    found = _read(plans)
    return found if found and time.time() - found.measured_at < _HOLDS_S else None


def _as_set(record: CalibrationRecord) -> list[CalibrationResource]:
    """The parts that were as set; those of several builds have one name, and are not told apart."""
    times = Counter((part.kind, part.name, part.set) for part in record.resources)
    return [p for p in record.resources if p.ok and times[p.kind, p.name, p.set] == 1]


def _read(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    try:
        found = read_calibration(_file(plans))
    except ResultsError:  # none, or a damaged one: it is measured again
        return None
    return found if found.boot == boot() != "unknown" else None


def keep(plans: Sequence[FabricPlan], record: CalibrationRecord) -> None:
    """Store a calibration for the next study or attempt, atomically.

    Raises
    ------
    ResultsError
        If the state folder cannot be written.
    """
    file = _file(plans)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _forget_earlier_starts(file.parent)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".new")
        with os.fdopen(handle, "w") as new:
            new.write(record.to_json())
        Path(name).replace(file)
    except OSError as error:
        raise ResultsError(
            f"the state folder {file.parent} cannot be written: {error.strerror}",
            remedy="free some space, or set WINDTUNNEL_STATE to a folder that you may write.",
        ) from error


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
    """All of a plan that is calibrated, as text."""
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
