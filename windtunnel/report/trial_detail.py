"""Details of one trial: host samples and task attempts, reduced to what the page draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.analysis.names import names_of
from windtunnel.report.timeline_selection import Choice
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

POINTS = 240
"""Points per time series: samples are averaged over equal intervals down to this number."""
HOSTS_SHOWN = 8
TASKS_SHOWN = 1500
SERIES = (
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "cpu_steal",
    "disk_read",
    "disk_write",
    "net_sent",
    "net_received",
    "memory_used",
    "page_cache",
)


@dataclass(frozen=True)
class PhaseUse:
    """Means over one phase on one host; None if the sampler has no such time series.

    CPU is the utilisation of all cores, rates are in bytes/s, ``memory`` is the peak in bytes.
    """

    host: str
    phase: str
    cpu: float | None
    iowait: float | None
    disk_read: float | None
    disk_write: float | None
    net_sent: float | None
    net_received: float | None
    memory: float | None


@dataclass(frozen=True)
class TaskUse:
    """Task attempts of one phase on one host. Durations are seconds."""

    phase: str
    host: str
    maps: int
    reduces: int
    failed: int
    median: float
    longest: float


@dataclass(frozen=True)
class Inside:
    """One trial's data for the chart (``data``, plain and small), its tables and notes."""

    id: str
    label: str
    data: dict[str, Any]
    phases: list[PhaseUse] = field(default_factory=list)
    tasks: list[TaskUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def look_inside(results: Results, choices: list[Choice]) -> list[Inside]:
    """Read the samples and tasks of the chosen trials.

    For a file that cannot be read there is a note instead of a chart.
    """
    trials = {trial.id: trial for trial in results.trials}
    names = names_of(results)
    with duckdb.connect(":memory:", config={"threads": 2, "memory_limit": "256MB"}) as db:
        return [
            _inside(db, results, trials[choice.trial.id], _label(choice, names))
            for choice in choices
        ]


def _inside(db: duckdb.DuckDBPyConnection, results: Results, trial: Trial, label: str) -> Inside:
    span = max(trial.finished_at - trial.started_at, 1.0)
    step = max(1.0, span / POINTS)
    data: dict[str, Any] = {
        "id": trial.id,
        "span": round(span, 1),
        "step": step,
        "phases": [
            [p.name, round(p.started_at - trial.started_at, 1), round(p.elapsed_s, 1)]
            for p in trial.phases
        ],
        "hosts": {},
        "lanes": [],
    }
    inside = Inside(id=trial.id, label=label, data=data)
    for path, read in (
        (results.samples_path(trial), _samples),
        (results.tasks_path(trial), _tasks),
    ):
        if path is None:
            continue
        try:
            read(db, path, trial, inside)
        except duckdb.Error as error:
            inside.notes.append(f"{path.name} cannot be read: {str(error).splitlines()[0]}")
    if not data["hosts"]:
        inside.notes.append("no host samples were recorded for this trial")
    if not data["lanes"]:
        inside.notes.append("no task attempts were recorded for this trial")
    return inside


def _label(choice: Choice, names: Mapping[str, str]) -> str:
    trial = choice.trial
    words = [f"round {trial.round}", names[trial.treatment], trial.workload]
    words += [trial.verdict] if trial.verdict != "valid" else []
    words += [choice.why] if choice.why and choice.why != trial.verdict else []
    return f"{trial.id}: {', '.join(words)}"


def _samples(db: duckdb.DuckDBPyConnection, path: Path, trial: Trial, inside: Inside) -> None:
    step = inside.data["step"]
    marks = ", ".join("?" for _ in SERIES)
    rows = db.execute(
        f"""SELECT host, metric, CAST(floor((t - ?) / ?) AS INTEGER) AS slot, avg(value)
        FROM read_parquet(?) WHERE metric IN ({marks}) AND t BETWEEN ? AND ?
        GROUP BY host, metric, slot ORDER BY host, metric, slot""",
        [trial.started_at, step, str(path), *SERIES, trial.started_at, trial.finished_at],
    ).fetchall()
    hosts = list(dict.fromkeys(row[0] for row in rows))
    if len(hosts) > HOSTS_SHOWN:
        inside.notes.append(f"{HOSTS_SHOWN} of {len(hosts)} hosts are drawn")
    for (host, metric), group in groupby(rows, key=lambda row: (row[0], row[1])):
        if host in hosts[:HOSTS_SHOWN]:
            points = [[slot, _short(value)] for _, _, slot, value in group]
            inside.data["hosts"].setdefault(host, {})[metric] = points
    inside.phases.extend(_phase_use(db, path, trial, hosts[:HOSTS_SHOWN]))


def _phase_use(
    db: duckdb.DuckDBPyConnection, path: Path, trial: Trial, hosts: list[str]
) -> list[PhaseUse]:
    uses = []
    for phase in trial.phases:
        rows = db.execute(
            """SELECT host, metric, avg(value), max(value) FROM read_parquet(?)
            WHERE t BETWEEN ? AND ? GROUP BY host, metric""",
            [str(path), phase.started_at, phase.finished_at],
        ).fetchall()
        mean = {(host, metric): value for host, metric, value, _ in rows}
        peak = {(host, metric): value for host, metric, _, value in rows}
        for host in hosts:
            busy = [mean.get((host, m)) for m in ("cpu_user", "cpu_system")]
            known = [value for value in busy if value is not None]
            uses.append(
                PhaseUse(
                    host=host,
                    phase=phase.name,
                    cpu=sum(known) if known else None,
                    iowait=mean.get((host, "cpu_iowait")),
                    disk_read=mean.get((host, "disk_read")),
                    disk_write=mean.get((host, "disk_write")),
                    net_sent=mean.get((host, "net_sent")),
                    net_received=mean.get((host, "net_received")),
                    memory=peak.get((host, "memory_used")),
                )
            )
    return uses


def _tasks(db: duckdb.DuckDBPyConnection, path: Path, trial: Trial, inside: Inside) -> None:
    rows = db.execute(
        """SELECT host, started_at, finished_at, type, status, shuffle_finished_at, phase
        FROM read_parquet(?) WHERE started_at IS NOT NULL
        ORDER BY host, started_at, finished_at""",
        [str(path)],
    ).fetchall()
    if len(rows) > TASKS_SHOWN:
        inside.notes.append(f"the {TASKS_SHOWN} longest of {len(rows)} task attempts are drawn")
        kept = sorted(rows, key=lambda row: -((row[2] or row[1]) - row[1]))[:TASKS_SHOWN]
        drawn = sorted(kept, key=lambda row: (row[0] or "", row[1]))
    else:
        drawn = rows
    for host, group in groupby(drawn, key=lambda row: row[0] or "unknown host"):
        inside.data["lanes"].append([host, _pack(list(group), trial)])
    inside.tasks.extend(_task_use(db, path))


def _pack(rows: list[tuple[Any, ...]], trial: Trial) -> list[list[Any]]:
    """Bars [lane, start, duration, kind, shuffle], each in the first free lane.

    Kind is 0 (map), 1 (reduce) or 2 (failed or killed). Times are seconds since the trial's start.
    """
    free: list[float] = []
    bars = []
    for _, start, finish, kind, status, shuffled, _ in rows:
        end = finish if finish is not None else trial.finished_at
        lane = next((i for i, until in enumerate(free) if until <= start), len(free))
        if lane == len(free):
            free.append(end)
        else:
            free[lane] = end
        code = 2 if status != "SUCCEEDED" else (0 if kind == "MAP" else 1)
        shuffle = round(shuffled - start, 1) if shuffled is not None else 0
        bars.append(
            [lane, round(start - trial.started_at, 1), round(end - start, 1), code, shuffle]
        )
    return bars


def _task_use(db: duckdb.DuckDBPyConnection, path: Path) -> list[TaskUse]:
    rows = db.execute(
        """SELECT phase, coalesce(host, 'unknown host'), count(*) FILTER (type = 'MAP'),
        count(*) FILTER (type = 'REDUCE'), count(*) FILTER (status <> 'SUCCEEDED'),
        coalesce(median(finished_at - started_at), 0), coalesce(max(finished_at - started_at), 0)
        FROM read_parquet(?) GROUP BY ALL ORDER BY min(started_at), 2""",
        [str(path)],
    ).fetchall()
    order = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: (order.index(row[0]), row[1]))
    return [TaskUse(*row) for row in rows]


def _short(value: float | None) -> float | None:
    """Three significant digits: more are not visible and make the page larger."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.3g}")
    return int(short) if short.is_integer() else short
