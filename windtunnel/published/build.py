"""Converts a table and its map into a study record and trials of kind ``published``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.errors import DescriptionError
from windtunnel.published.lines import ELAPSED, Line, notes, read_lines
from windtunnel.published.mapping import Map
from windtunnel.published.table import Table
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
_WORKLOAD = "workloads."


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
        notes=[*mapped.notes, *([] if table is None else notes(mapped, table, lines))],
        sources=list(mapped.sources),
    )
    return Built(study, _trials(study, lines, treatments))


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
        rounds_known=mapped.round is not None,
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
    clock = study.created_at  # of rows without time stamps: they follow the row above
    ends: list[float] = []
    phases: list[Phase] = []
    own: dict[str, Metric] = {}
    for line in group:
        elapsed = line.metrics.get(ELAPSED)
        length = 0.0 if elapsed is None else elapsed.value
        begin = clock if line.started_at is None else line.started_at
        clock = begin + length
        ends.append(clock)
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
        finished_at=max(ends),
        verdict=Verdict(valid=True, checks=[_source_check(group)]),
        phases=phases,
        metrics=own,
    )


def _source_check(group: Sequence[Line]) -> Check:
    """A check with the source of the numbers; the output cannot be verified afterwards."""
    first = group[0].row
    where = first.cells.get("source") or f"{first.file.rsplit('/', 1)[-1]}:{first.line}"
    return Check(name="published", passed=True, got=f"as printed, output not verified: {where}")
