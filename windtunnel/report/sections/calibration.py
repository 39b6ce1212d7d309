"""Section "Tunnel calibration": what the shaped parts of a scale model were found to give."""

from __future__ import annotations

import time

from windtunnel.analysis import Analysis
from windtunnel.analysis.calibration import COLUMNS, HINT, lines, summary
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.results.calibration import CalibrationRecord, read_calibrations


def section(analysis: Analysis) -> Section | None:
    """Set against got, of each calibration that the trials relied on; None without any."""
    found = analysis.once(_calibrations)
    if not found:
        return None
    return Section(
        id="calibration",
        title="Tunnel calibration",
        lead="Before the first trial every shaped part of the model was measured against what it "
        "is set to; more than 10 % off, and no trial would have started",
        said=[note for record in found for note in record.notes],
        tables=[_table(record) for record in found],
        data=[record.model_dump(mode="json", by_alias=True) for record in found],
    )


def _calibrations(analysis: Analysis) -> list[CalibrationRecord]:
    return read_calibrations(analysis.results.path)


def _table(record: CalibrationRecord) -> Table:
    rows = lines(record)
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.measured_at))
    numeric = {"set", "got", "got/set"}
    return Table(
        f"Set against got, {at}: {summary(record)}",
        [Column(name, name in numeric) for name in COLUMNS],
        [line.words() for line in rows],
        strong=frozenset(place for place, line in enumerate(rows) if line.off),
        hint=f"{HINT}.",
    )
