"""Calibration of the tunnel: what each shaped part of a scale model was set to, and what it gave.

``calibration/HASH.json`` of a results folder, one file for each calibration that its trials
relied on; the same record is kept in the state folder for the next study.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from pydantic import ConfigDict, Field, ValidationError

from windtunnel.errors import ResultsError
from windtunnel.results.record import Record

CALIBRATION_SCHEMA = "windtunnel.calibration/1"
CALIBRATION_FOLDER = "calibration"
WITHIN = 0.10
"""A part that gives this share more or less than it is set to is off."""


class CalibrationResource(Record):
    """One part: what it is ``set`` to (None: unlimited, never judged), and what it ``got``.

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
        """The judgement of a part by its measurements."""
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


class CalibrationRecord(Record):
    """Set against got of every shaped part, on one machine between two of its starts.

    ``boot`` is the kernel's id of the machine's start, ``took_s`` what measuring took in
    seconds; ``notes`` say where the machine below is the limit.
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
        """What gives more than 10 % more or less than it is set to."""
        return [resource for resource in self.resources if resource.ok is False]

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
    try:
        found = CalibrationRecord.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ResultsError(
            f"{file} cannot be read: {str(error).splitlines()[0]}",
            remedy="restore the file from a copy, or move it out of the folder.",
        ) from error
    if found.schema_ != CALIBRATION_SCHEMA:
        raise ResultsError(
            f"{file} has schema {found.schema_!r}; this version reads {CALIBRATION_SCHEMA!r}",
            remedy="read it with the version of Windtunnel that wrote it.",
        )
    return found


def read_calibrations(folder: Path) -> list[CalibrationRecord]:
    """The calibrations of a results folder, oldest first. Raises ResultsError."""
    files = sorted((folder / CALIBRATION_FOLDER).glob("*.json"))
    return sorted((read_calibration(file) for file in files), key=lambda found: found.measured_at)
