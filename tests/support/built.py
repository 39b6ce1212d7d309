"""Results folders of single phases whose tasks and host samples are chosen one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.results.folder import read_results
from windtunnel.results.record import (
    Metric,
    Phase,
    ProtocolRecord,
    StudyRecord,
    Treatment,
    Trial,
    Verdict,
)
from windtunnel.results.tasks import TASKS_SCHEMA

BEGAN = 1_700_000_000.0
MACHINE = {"cpu_threads": 2, "memory_bytes": 16e9}
UNITS = {"memory_used": "bytes", "disk_read": "bytes/s", "disk_write": "bytes/s"}
UNITS |= {"net_sent": "bytes/s", "net_received": "bytes/s"}


@dataclass
class Built:
    """One trial of a single phase. ``tasks`` hold seconds since the phase began.

    ``of_trial`` are the metrics of the trial as a whole, and ``overrides`` those of its level.
    ``samples`` maps host to metric to its constant value, or to one value a second.
    """

    elapsed: float = 20.0
    level: str = "stock"
    tasks: Sequence[Mapping[str, Any]] = ()
    samples: Mapping[str, Mapping[str, float | Sequence[float]]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    valid: bool = True
    overrides: Mapping[str, Any] = field(default_factory=dict)
    of_trial: Mapping[str, float] = field(default_factory=dict)


def task(kind: str, number: int, start: float, end: float, **facts: Any) -> dict[str, Any]:
    """A successful attempt of a task."""
    name = f"task_{kind[0].lower()}_{number:06d}"
    row = {"task": name, "attempt": f"{name}_0", "type": kind, "status": "SUCCEEDED"}
    return {**row, "host": "worker-1", "started_at": start, "finished_at": end, **facts}


def built(
    path: Path,
    trials: Sequence[Built],
    *,
    cluster: Mapping[str, Any] | None = None,
    testbed: str = "local",
    phase: str = "sort",
    software: Mapping[str, Any] | None = None,
) -> Analysis:
    """Write the folder and analyse it; ``software`` is a part of the provenance."""
    for name in ("trials", "samples", "tasks", "provenance"):
        (path / name).mkdir(parents=True, exist_ok=True)
    levels = list(dict.fromkeys(trial.level for trial in trials))
    overrides = {trial.level: dict(trial.overrides) for trial in trials}
    study = StudyRecord(
        id="built",
        name="built",
        testbed=testbed,
        created_at=BEGAN,
        fingerprint="f00d",
        cluster=dict(cluster or {}),
        factors={"case": levels},
        baseline={"case": levels[0]},
        treatments=[
            Treatment(id=level, levels={"case": level}, overrides=overrides[level])
            for level in levels
        ],
        protocol=ProtocolRecord(rounds=len(trials), seed=1, trial_time_limit_s=60),
    )
    (path / "study.json").write_text(study.model_dump_json(by_alias=True))
    facts = {"machine": _whole(MACHINE), "software": software or {}}
    (path / "provenance" / "cafe.json").write_text(json.dumps(facts))
    for number, trial in enumerate(trials, start=1):
        _write(path, trial, f"t{number}", BEGAN + 1000 * number, number, (testbed, phase))
    return analyse(read_results(path))


def _whole(facts: Mapping[str, float]) -> dict[str, int]:
    return {name: int(value) for name, value in facts.items()}


def _write(
    path: Path, trial: Built, name: str, at: float, number: int, where: tuple[str, str]
) -> None:
    testbed, phase = where
    if trial.tasks:
        rows = [{"trial": name, "phase": phase, **_moved(row, at)} for row in trial.tasks]
        table = pa.Table.from_pylist(rows, TASKS_SCHEMA)
        pq.write_table(table, path / "tasks" / f"{name}.parquet")
    if trial.samples:
        table = pa.Table.from_pylist(list(_sampled(trial, name, at)))
        pq.write_table(table, path / "samples" / f"{name}.parquet")
    record = Trial(
        id=name,
        study_id="built",
        testbed=testbed,
        workload="work",
        treatment=Treatment(id=trial.level, levels={"case": trial.level}),
        round=number,
        position=1,
        started_at=at - 2,
        finished_at=at + trial.elapsed + 2,
        verdict=Verdict(valid=trial.valid, reason="" if trial.valid else "made up"),
        phases=[
            Phase(
                name=phase,
                started_at=at,
                finished_at=at + trial.elapsed,
                elapsed_s=trial.elapsed,
                wall_s=trial.elapsed,
                metrics={k: Metric(value=v, unit="s") for k, v in trial.metrics.items()},
            )
        ],
        metrics={k: Metric(value=v, unit="x") for k, v in trial.of_trial.items()},
        samples_file=f"samples/{name}.parquet" if trial.samples else None,
        tasks_file=f"tasks/{name}.parquet" if trial.tasks else None,
        provenance="cafe",
    )
    (path / "trials" / f"{name}.json").write_text(record.model_dump_json(by_alias=True))


def _moved(row: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Instants instead of seconds since the phase began."""
    return {k: v + at if k.endswith("_at") and v is not None else v for k, v in row.items()}


def _sampled(trial: Built, name: str, at: float) -> list[dict[str, Any]]:
    """Samples each second from two before the phase to two behind it, idle outside."""
    rows = []
    seconds = int(trial.elapsed)
    for host, metrics in trial.samples.items():
        for metric, value in metrics.items():
            series = [value] * seconds if isinstance(value, int | float) else list(value)
            outside = 1.0 if metric == "cpu_idle" else 0.0
            for place, number in enumerate([outside, outside, *series, outside, outside]):
                t = at + place - 1  # the sample at second 1 speaks of the first second
                unit = UNITS.get(metric, "ratio")
                rows.append(
                    {"trial": name, "t": t, "host": host, "metric": metric, "unit": unit}
                    | {"value": float(number)}
                )
    return rows
