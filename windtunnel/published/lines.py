"""The lines of an imported table: each row with a number, parsed by the roles of its map."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from windtunnel.analysis.observations import TOTAL
from windtunnel.cluster.quantity import QuantityError
from windtunnel.errors import DescriptionError
from windtunnel.published.cells import Commas, is_missing, plain
from windtunnel.published.mapping import Map, levels_of
from windtunnel.published.table import Row, Table
from windtunnel.published.units import metric, moment, zone
from windtunnel.results import trial_metrics
from windtunnel.results.record import Metric

ELAPSED = trial_metrics.ELAPSED.name
_MOST_ROUNDS = 100_000
_CORRECT = "correct the cell; leave it empty, or write n/a, if the number is unknown."
_COMMA = (
    "write the number without a separator of thousands and with a decimal point: the table does "
    "not show what the comma separates."
)
_LISTED = 5
"""Lines that a note lists."""


@dataclass(frozen=True)
class Line:
    """One parsed row: its treatment, workload, phase, run, and numbers."""

    row: Row
    workload: str
    phase: str
    round: int
    levels: tuple[tuple[str, str], ...]
    treatment: str
    started_at: float | None
    finished_at: float | None
    metrics: Mapping[str, Metric]


def read_lines(mapped: Map, table: Table) -> list[Line]:
    """All rows with a number, parsed; rows of the same slot are numbered as rounds."""
    for column in mapped.used_columns():
        table.require(column)
    where = zone(mapped.utc_offset_h)
    seen: dict[tuple[str, str, str, int], Row] = {}
    counts: dict[tuple[str, str, str], int] = {}
    lines = []
    for row in table.rows:
        metrics = _metrics(mapped, row, table.commas)
        if not metrics:
            continue
        levels = levels_of(mapped, row)
        treatment = _treatment_id(mapped, row, levels)
        workload, phase = _workload(mapped, row), _phase(mapped, row)
        slot = (workload, treatment, phase)
        counts[slot] = counts.get(slot, 0) + 1
        number = _round(mapped, row) if mapped.round else counts[slot]
        if (*slot, number) in seen:
            raise _twice(mapped, row, slot, number, seen[(*slot, number)].line)
        seen[(*slot, number)] = row
        begin, end = (_moment(row, c, where) for c in (mapped.start, mapped.finish))
        _check_order(mapped, row, begin, end, timed=ELAPSED in metrics)
        found = _spanned(row, metrics, begin, end, bool(phase))
        key = tuple(levels.items())
        lines.append(Line(row, workload, phase, number, key, treatment, begin, end, found))
    if not lines:
        raise DescriptionError(
            "no row has a number in the columns of the metrics",
            file=table.name,
            remedy="check the names of the columns in the map.",
        )
    return lines


def _treatment_id(mapped: Map, row: Row, levels: Mapping[str, str]) -> str:
    if mapped.treatment is not None:
        name = mapped.treatment.of(row)
        if not name:
            raise row.error("the treatment is empty", mapped.treatment.used[0], "fill the cell.")
        return name
    return ", ".join(levels.values()) or "as given"


def _workload(mapped: Map, row: Row) -> str:
    workload = mapped.workload.of(row)
    if not workload:
        raise row.error("the workload is empty", mapped.workload.used[0], "fill the cell.")
    return workload


def _phase(mapped: Map, row: Row) -> str:
    phase = mapped.phase.of(row) if mapped.phase else ""
    if phase.casefold() == TOTAL:
        raise row.error(
            f"'{phase}' is the name of the sum of the phases",
            next(iter(mapped.phase.used), None) if mapped.phase else None,
            "remove the rows of the total from the file; it is computed from the phases.",
        )
    return phase


def _twice(
    mapped: Map, row: Row, slot: tuple[str, str, str], number: int, earlier: int
) -> DescriptionError:
    workload, treatment, phase = slot
    return row.error(
        f"this is run {number} of {treatment} / {workload} / {phase or 'total'}, "
        f"which is already on line {earlier}",
        mapped.round.used[0] if mapped.round and mapped.round.used else None,
        "give each run its own number, or remove the column of runs from the map.",
    )


def _check_order(
    mapped: Map, row: Row, begin: float | None, end: float | None, *, timed: bool
) -> None:
    """Refuse an end before the start; with an elapsed time (``timed``), the review reports it."""
    if begin is not None and end is not None and end < begin and not timed:
        raise row.error(
            f"the end '{row[mapped.finish or '']}' is before the start '{row[mapped.start or '']}'",
            mapped.finish,
            "correct the times, or map a column with the elapsed time as the metric "
            f"'{ELAPSED}': the review then reports such rows.",
        )


def _spanned(
    row: Row, metrics: dict[str, Metric], begin: float | None, end: float | None, phase: bool
) -> dict[str, Metric]:
    """Elapsed time from the time stamps if no column has it; a phase requires it."""
    elapsed = metrics.get(ELAPSED)
    if elapsed is not None and elapsed.unit != "s":
        raise row.error(
            f"'{ELAPSED}' must be a duration, not in '{elapsed.unit}'",
            remedy="set a unit of time in the map (s, min, h).",
        )
    if elapsed is None and begin is not None and end is not None:
        return {**metrics, ELAPSED: trial_metrics.ELAPSED.of(end - begin)}
    if elapsed is None and phase:
        raise row.error(
            "a phase requires an elapsed time",
            remedy=f"map a column as the metric '{ELAPSED}', or both start and finish.",
        )
    return metrics


def _metrics(mapped: Map, row: Row, commas: Commas) -> dict[str, Metric]:
    found = {}
    for name, number in mapped.metrics.items():
        cell = row[number.column]
        if is_missing(cell):
            continue
        try:
            found[name] = metric(plain(cell, commas), number.unit_of(row))
        except QuantityError as error:
            remedy = _COMMA if re.match(r"[-+]?\d[\d.]*,\d", cell) else _CORRECT
            raise row.error(str(error), number.column, remedy) from None
    return found


def notes(mapped: Map, table: Table, lines: Sequence[Line]) -> Iterator[str]:
    """What was read in another way than printed: missing numbers, ends before their start."""
    numbers = [number.column for number in mapped.metrics.values()]
    for column in dict.fromkeys([*numbers, *(c for c in (mapped.start, mapped.finish) if c)]):
        marked = [row for row in table.rows if row[column] and is_missing(row[column])]
        if marked:
            marks = ", ".join(dict.fromkeys(f"'{row[column]}'" for row in marked))
            yield f"{_places(marked)}: {column} has no value ({marks})."
    used = {line.row.line for line in lines}
    without = [row for row in table.rows if row.line not in used]
    if any(row[column] for row in without for column in numbers):
        yield f"{_places(without)}: omitted, because no metric has a number."
    late = [
        line.row
        for line in lines
        if line.started_at is not None
        and line.finished_at is not None
        and line.finished_at < line.started_at
    ]
    if late:
        yield f"{_places(late)}: {mapped.finish} is before {mapped.start}."


def _places(rows: Sequence[Row]) -> str:
    """``runs.csv, lines 3, 8 and 12``."""
    numbers = [str(row.line) for row in rows[:_LISTED]]
    if len(rows) > _LISTED:
        numbers.append(f"{len(rows) - _LISTED} more")
    listed = " and ".join([*([", ".join(numbers[:-1])] if numbers[:-1] else []), numbers[-1]])
    return f"{rows[0].file.rsplit('/', 1)[-1]}, line{'s' if len(rows) > 1 else ''} {listed}"


def _round(mapped: Map, row: Row) -> int:
    assert mapped.round is not None
    text = mapped.round.of(row)
    if not text.isascii() or not text.isdigit() or not 0 <= int(text[:9]) <= _MOST_ROUNDS:
        raise row.error(
            f"'{text}' is not the number of a run",
            mapped.round.used[0] if mapped.round.used else None,
            "number the runs 1, 2, 3 ...; 0 is a warm-up.",
        )
    return int(text)


def _moment(row: Row, column: str | None, where: tzinfo) -> float | None:
    if column is None or is_missing(row[column]):
        return None
    try:
        return moment(row[column], where)
    except QuantityError as error:
        raise row.error(str(error), column, _CORRECT) from None
