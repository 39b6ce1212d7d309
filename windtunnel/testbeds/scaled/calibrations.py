"""Stored calibrations: one that holds still is taken instead of measuring again.

``STATE/calibration/KEY.json``. The key is made of all that the plans shape, of this start of the
machine, of its kernel and of our version; of these, only calibrations without a part that is off
are kept. Those of earlier starts are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from windtunnel import __version__
from windtunnel.errors import ResultsError
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.remains import state_root
from windtunnel.results.calibration import CalibrationRecord, read_calibration
from windtunnel.testbeds.base import Tell
from windtunnel.testbeds.scaled.calibrate import boot, calibrate, refuse_if_off


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
    tell("calibrating the tunnel: every shaped part is measured before the first trial")
    found = calibrate(plans)
    refuse_if_off(found)
    keep(plans, found)
    tell(f"calibrated in {found.took_s:.0f} s: {len(found.resources)} parts as set, within 10 %")
    for note in found.notes:
        tell(note)
    return found


def distinct(plans: Sequence[FabricPlan]) -> list[FabricPlan]:
    """Plans that differ in something that is calibrated, each once: sizes are not."""
    return list({_shape(plan): plan for plan in plans}.values())


def stored(plans: Sequence[FabricPlan]) -> CalibrationRecord | None:
    """The calibration of the same rates since the machine's start, if there is one."""
    try:
        found = read_calibration(_file(plans))
    except ResultsError:  # none, or a damaged one: it is measured again
        return None
    return found if found.boot == boot() != "unknown" and not found.off else None


def keep(plans: Sequence[FabricPlan], record: CalibrationRecord) -> None:
    """Store a calibration for the next study, atomically.

    Raises
    ------
    ResultsError
        If the state folder cannot be written.
    """
    if record.off:
        return
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
