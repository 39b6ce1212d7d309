"""Converts a table and its map into a study record and trials of kind ``published``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from windtunnel.analysis.observations import TOTAL
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.cluster.quantity import QuantityError
from windtunnel.errors import DescriptionError
from windtunnel.published.cells import Commas, is_missing, plain
from windtunnel.published.mapping import Map, levels_of
from windtunnel.published.table import Row, Table
from windtunnel.published.units import metric, moment, zone
from windtunnel.results import trial_metrics
from windtunnel.results.power import PowerRecord
from windtunnel.results.record import (
    Check,
    DesignRecord,
    Metric,
    Phase,
    ProtocolRecord,
    StudyRecord,
    Treatment,
    Trial,
    Verdict,
)

TESTBED = "published"
ELAPSED = trial_metrics.ELAPSED.name
MOST_ROUNDS = 100_000
_WORKLOAD = "workloads."
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


@dataclass(frozen=True)
class Built:
    """The content of a results folder before it is written."""

    study: StudyRecord
    trials: list[Trial]
    power: PowerRecord | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """File name -> text of the map, the tables and ``review.yaml``, for the review."""


def build(
    mapped: Map, table: Table | None, cluster: Cluster | None, origin: str, text: str = ""
) -> Built:
    """The study and trials of a table; without a table, a study without trials.

    ``origin`` is the name of the study if the map has none, ``text`` is the text of the map.

    Raises
    ------
    DescriptionError
        With file, line and column of the first invalid cell.
    """
    lines = [] if table is None else read_lines(mapped, table)
    treatments = _treatments(mapped, lines)
    if cluster is not None:
        _check_overrides(cluster, treatments)
    created = _created(mapped, lines)
    study = StudyRecord(
        id=hashlib.sha256(f"{mapped.name}{origin}{text}".encode()).hexdigest()[:16],
        name=mapped.name or origin,
        question=mapped.question,
        kind="published",
        testbed=TESTBED,
        created_at=created,
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        source_text=text,
        cluster={} if cluster is None else cluster.model_dump(mode="json", exclude_none=True),
        workloads=_workloads(mapped, lines),
        factors=_factors(mapped, treatments),
        baseline={n: f.baseline for n, f in mapped.factors.items() if f.baseline is not None},
        treatments=list(treatments.values()),
        design=DesignRecord(kind="one-factor-at-a-time" if mapped.treatments else "as given"),
        protocol=_protocol(mapped, lines),
        notes=[*mapped.notes, *([] if table is None else _notes(mapped, table, lines))],
        sources=list(mapped.sources),
    )
    return Built(study, _trials(study, lines, treatments))


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
        workload = mapped.workload.of(row)
        if not workload:
            raise row.error("the workload is empty", mapped.workload.used[0], "fill the cell.")
        phase = mapped.phase.of(row) if mapped.phase else ""
        if phase.casefold() == TOTAL:
            raise row.error(
                f"'{phase}' is the name of the sum of the phases",
                next(iter(mapped.phase.used), None) if mapped.phase else None,
                "remove the rows of the total from the file; it is computed from the phases.",
            )
        slot = (workload, treatment, phase)
        counts[slot] = counts.get(slot, 0) + 1
        number = _round(mapped, row) if mapped.round else counts[slot]
        if (*slot, number) in seen:
            earlier = seen[(*slot, number)].line
            raise row.error(
                f"this is run {number} of {treatment} / {workload} / {phase or 'total'}, "
                f"which is already on line {earlier}",
                mapped.round.used[0] if mapped.round and mapped.round.used else None,
                "give each run its own number, or remove the column of runs from the map.",
            )
        seen[(*slot, number)] = row
        begin, end = (_moment(row, c, where) for c in (mapped.start, mapped.finish))
        if begin is not None and end is not None and end < begin and ELAPSED not in metrics:
            raise row.error(
                f"the end '{row[mapped.finish or '']}' is before the start "
                f"'{row[mapped.start or '']}'",
                mapped.finish,
                "correct the times, or map a column with the elapsed time as the metric "
                f"'{ELAPSED}': the review then reports such rows.",
            )
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


def _notes(mapped: Map, table: Table, lines: Sequence[Line]) -> Iterator[str]:
    """What was read in another way than it is printed: missing numbers, ends before their start."""
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
    if not text.isascii() or not text.isdigit() or not 0 <= int(text[:9]) <= MOST_ROUNDS:
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


def _treatment_id(mapped: Map, row: Row, levels: Mapping[str, str]) -> str:
    if mapped.treatment is not None:
        name = mapped.treatment.of(row)
        if not name:
            raise row.error("the treatment is empty", mapped.treatment.used[0], "fill the cell.")
        return name
    return ", ".join(levels.values()) or "as given"


def _treatments(mapped: Map, lines: Sequence[Line]) -> dict[str, Treatment]:
    listed = {name: tuple(levels.items()) for name, levels in mapped.treatments.items()}
    seen = {line.treatment: line.levels for line in lines}
    return {
        name: Treatment(id=name, levels=dict(levels), overrides=_overrides(mapped, dict(levels)))
        for name, levels in {**listed, **seen}.items()
    }


def _overrides(mapped: Map, levels: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, level in levels.items():
        factor = mapped.factors.get(name)
        found.update(factor.values_of(level) if factor else {})
    return found


def _check_overrides(cluster: Cluster, treatments: Mapping[str, Treatment]) -> None:
    for treatment in treatments.values():
        try:
            apply_overrides(cluster, _of_cluster(treatment.overrides))
        except DescriptionError as error:
            error.message += f" (treatment '{treatment.id}')"
            raise


def _of_cluster(overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {path: v for path, v in overrides.items() if not path.startswith(_WORKLOAD)}


def _factors(mapped: Map, treatments: Mapping[str, Treatment]) -> dict[str, list[str]]:
    """Levels in the order of the map, then in the order of the rows."""
    found: dict[str, list[str]] = {name: list(f.levels) for name, f in mapped.factors.items()}
    for treatment in treatments.values():
        for name, level in treatment.levels.items():
            found.setdefault(name, [])
            if level not in found[name]:
                found[name].append(level)
    return found


def _workloads(mapped: Map, lines: Sequence[Line]) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys([*mapped.workloads, *(line.workload for line in lines)])
    return {name: dict(mapped.workloads.get(name, {})) for name in names}


def _created(mapped: Map, lines: Sequence[Line]) -> float:
    """The day of publication, else the first start, else the epoch; never the current time."""
    if mapped.published is not None:
        day = mapped.published
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return min((line.started_at for line in lines if line.started_at is not None), default=0.0)


def _protocol(mapped: Map, lines: Sequence[Line]) -> ProtocolRecord:
    conduct = mapped.protocol
    return ProtocolRecord(
        rounds=max((line.round for line in lines), default=0),
        seed=0,
        warmup=conduct.warmup,
        variation_limit=conduct.variation_limit,
        trial_time_limit_s=0.0,  # no trial is run
        retry_invalid=0,
        cache=conduct.cache,
        retest=conduct.retest,
    )


def _trials(
    study: StudyRecord, lines: Sequence[Line], treatments: Mapping[str, Treatment]
) -> list[Trial]:
    slots: dict[tuple[str, str, int], list[Line]] = {}
    for line in lines:
        slots.setdefault((line.treatment, line.workload, line.round), []).append(line)
    numbers = {name: number for number, name in enumerate(treatments, start=1)}
    places: dict[int, int] = {}
    trials = []
    for (treatment, workload, number), group in slots.items():
        places[number] = places.get(number, 0) + 1
        slug = f"{numbers[treatment]:03d}-{list(study.workloads).index(workload) + 1:02d}"
        trials.append(
            _trial(study, group, treatments[treatment], f"{slug}-r{number:02d}", places[number])
        )
    return trials


def _trial(
    study: StudyRecord, group: Sequence[Line], treatment: Treatment, name: str, place: int
) -> Trial:
    """One trial from the rows of its slot. Rows without time stamps start at the publication.

    The end of a phase is its start plus its elapsed time, which has more digits than the stamps.
    """
    clock = study.created_at
    phases: list[Phase] = []
    own: dict[str, Metric] = {}
    for line in group:
        elapsed = line.metrics.get(ELAPSED)
        length = 0.0 if elapsed is None else elapsed.value
        begin = clock if line.started_at is None else line.started_at
        clock = begin + length
        if not line.phase:
            if ELAPSED in line.metrics and any(one.phase for one in group):
                raise line.row.error(
                    "this run has an elapsed time without a phase and others with a phase",
                    remedy="remove the row of the total; it is computed from the phases.",
                )
            own.update(line.metrics)
            continue
        metrics = {n: m for n, m in line.metrics.items() if n != ELAPSED}
        phases.append(
            Phase(
                name=line.phase,
                started_at=begin,
                finished_at=clock,
                elapsed_s=length,
                wall_s=length,
                metrics=metrics,
            )
        )
    starts = [line.started_at for line in group if line.started_at is not None]
    workload = group[0].workload
    parameters = dict(study.workloads[workload])
    prefix = f"{_WORKLOAD}{workload}."
    parameters |= {
        path.removeprefix(prefix): value
        for path, value in treatment.overrides.items()
        if path.startswith(prefix)
    }
    return Trial(
        id=name,
        study_id=study.id,
        kind="published",
        testbed=TESTBED,
        workload=workload,
        treatment=treatment,
        parameters=parameters,
        round=group[0].round,
        position=place,
        started_at=min(starts, default=study.created_at),
        finished_at=clock,
        verdict=Verdict(valid=True, checks=[_source_check(group)]),
        phases=phases,
        metrics=own,
    )


def _source_check(group: Sequence[Line]) -> Check:
    """A check with the source of the numbers; the output cannot be verified afterwards."""
    first = group[0].row
    where = first.cells.get("source") or f"{first.file.rsplit('/', 1)[-1]}:{first.line}"
    return Check(name="published", passed=True, got=f"as printed, output not verified: {where}")
