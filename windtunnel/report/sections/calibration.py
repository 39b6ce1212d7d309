"""Section "Calibration": the measured rates of the limited resources of a scale model."""

from __future__ import annotations

import time

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.subjects.calibration import COLUMNS, HINT, lines, summary
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.results.calibration import CalibrationRecord, read_calibrations


def section(analysis: Analysis) -> Section | None:
    """The set and the measured values of each calibration; None without a calibration."""
    found = analysis.once(_calibrations)
    if not found:
        return None
    return Section(
        id="calibration",
        title="Calibration",
        lead="Each limited resource of the model was measured before the first trial. If a "
        "resource differs from its set value by more than 10 %, no trial starts",
        said=[note for record in found for note in record.notes],
        tables=[_table(record) for record in found],
        group="trust",
        data=[record.model_dump(mode="json", by_alias=True) for record in found],
    )


def _calibrations(analysis: Analysis) -> list[CalibrationRecord]:
    return read_calibrations(analysis.results.path)


def _table(record: CalibrationRecord) -> Table:
    rows = lines(record)
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.measured_at))
    numeric = set(COLUMNS[1:-1])
    return Table(
        f"Set and measured values, {at}: {summary(record)}",
        [Column(name, name in numeric) for name in COLUMNS],
        [line.words() for line in rows],
        strong=frozenset(place for place, line in enumerate(rows) if line.off),
        hint=f"{HINT}.",
    )
