"""Calibration: the limit and the measured value of each shaped part of a scale model.

``calibration/HASH.json`` of a results folder, one file for each calibration that its trials
depend on; the state folder has the same record for the next study.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from pydantic import ConfigDict, Field

from windtunnel.errors import NotRealisableError
from windtunnel.results.reading import read_record
from windtunnel.results.record import Record

CALIBRATION_SCHEMA = "windtunnel.calibration/1"
CALIBRATION_FOLDER = "calibration"
WITHIN = 0.10
"""A part is off if its measured value differs from its limit by more than this fraction."""
_LISTED = 8  # parts that an error names


class CalibrationResource(Record):
    """One part: the limit to which it is ``set`` (None: unlimited), and the value that it ``got``.

    ``got`` is the median of ``measured``. ``unit`` is ``bytes/s``, ``cores`` or ``1/s``. ``ratio``
    is got / set, ``ok`` whether it is within 10 % of 1.
    """

    kind: str
    name: str
    set: float | None
    got: float
    unit: str
    ratio: float | None
    ok: bool | None
    measured: list[float]

    @classmethod
    def of(
        cls, kind: str, name: str, set_: float | None, unit: str, measured: Sequence[float]
    ) -> CalibrationResource:
        """The record of a part from its measurements."""
        got = median(measured)
        ratio = got / set_ if set_ else None
        ok = None if ratio is None else 1 - WITHIN <= ratio <= 1 + WITHIN
        return cls(
            kind=kind,
            name=name,
            set=set_,
            got=got,
            unit=unit,
            ratio=ratio,
            ok=ok,
            measured=list(measured),
        )

    def words(self) -> str:
        """Limit and measured value: ``NIC, worker-1: set 125 MB/s, measured ... (-15%)``."""
        set_, ratio = self.set or 0.0, self.ratio or 0.0
        return (
            f"{self.kind}, {self.name}: set {_value(set_, self.unit)}, measured "
            f"{_value(self.got, self.unit)} ({ratio - 1:+.0%})"
        )


def _value(value: float, unit: str) -> str:
    return f"{value / 1e6:.3g} MB/s" if unit == "bytes/s" else f"{value:.3g} {unit}"


class CalibrationRecord(Record):
    """Limits and measured values of all limited parts, on one machine between two boots.

    ``boot`` is the kernel's id of the boot, ``took_s`` the duration of the measurement in
    seconds; ``notes`` state the parts for which the host machine is the limit.
    """

    schema_: str = Field(default=CALIBRATION_SCHEMA, alias="schema")
    measured_at: float
    took_s: float
    boot: str
    kernel: str
    windtunnel: str
    resources: list[CalibrationResource]
    notes: list[str] = Field(default_factory=list)

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @property
    def off(self) -> list[CalibrationResource]:
        """The parts whose measured value differs by more than 10 % from their limit."""
        return [resource for resource in self.resources if resource.ok is False]

    def refuse_if_off(self) -> None:
        """Raise NotRealisableError with the names of the parts that are off by more than 10 %."""
        off = self.off
        if not off:
            return
        shown = [resource.words() for resource in off[:_LISTED]]
        if len(off) > _LISTED:
            shown.append(f"and {len(off) - _LISTED} more")
        raise NotRealisableError(
            "the measured rate of limited parts differs by more than 10 % from the limit:\n    - "
            + "\n    - ".join([*shown, *(f"note: {note}" for note in self.notes)]),
            remedy="stop other work on this machine and run the same command again, or choose a "
            "smaller rate; 'windtunnel calibrate TESTBED STUDY' shows all parts.",
        )

    def to_json(self) -> str:
        """The file's text; the same for the same record."""
        return self.model_dump_json(by_alias=True, indent=1)


def read_calibration(file: Path) -> CalibrationRecord:
    """One stored calibration.

    Raises
    ------
    ResultsError
        If the file is damaged or of another schema.
    """
    return read_record(file, CalibrationRecord, CALIBRATION_SCHEMA)


def read_calibrations(folder: Path) -> list[CalibrationRecord]:
    """The calibrations of a results folder, oldest first. Raises ResultsError."""
    files = sorted((folder / CALIBRATION_FOLDER).glob("*.json"))
    return sorted((read_calibration(file) for file in files), key=lambda found: found.measured_at)
