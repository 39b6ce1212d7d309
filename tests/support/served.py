"""Results of a key-value store with known truth: rates, latencies, a course with a hole in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.synthetic import Plan, study_folder
from windtunnel.results.folder import read_results
from windtunnel.results.record import FaultRecord, Metric, Phase, Trial

SECONDS = 40
RATE = 100.0
FAULT_S, BACK_S = 15.0, 24.0
PERCENTILES = {"p50": 2.0, "p95": 5.0, "p99": 9.0, "p99.9": 40.0, "max": 90.0, "mean": 2.5}


def rate_of(level: str) -> float:
    """Operations per second: as many as threads can do, up to ten times one thread's."""
    return RATE * min(int(level), 10) if level.isdigit() else RATE


def served(trial: Trial) -> Trial:
    """A trial of ``keyvalue``; the level ``unreachable`` asks for ten times the rate."""
    level = next(iter(trial.treatment.levels.values()))
    rate = rate_of(level)
    parameters: dict[str, object] = {"workload": "A"}
    metrics = {"throughput": Metric(value=rate, unit="ops/s")}
    if level.isdigit():
        parameters["threads"] = int(level)
    elif level != "unlimited":
        target = rate * {"unreachable": 10, "more": 5}.get(level, 1)
        parameters["target_rate"] = target
        metrics["target_share"] = Metric(value=rate / target, unit="ratio")
        metrics["saturated"] = Metric(value=float(rate < target), unit="ratio")
    for operation, times in (("read", 1.0), ("update", 2.0)):
        for label, value in PERCENTILES.items():
            metrics[f"{operation}_{label}"] = Metric(value=value * times, unit="ms")
        metrics[f"{operation}_service_p99"] = Metric(value=3.0, unit="ms")
    load = {"throughput": Metric(value=2000, unit="ops/s")}
    load["data_to_cache"] = Metric(value=2.5, unit="ratio")
    phases = [
        _phase("load", trial.started_at, 20.0, load),
        _phase("run", trial.started_at + 22, float(SECONDS), metrics),
    ]
    faults = [daemon_killed(phases[1])] if level == "killed" else []
    return trial.model_copy(
        update={
            "workload": "keyvalue",
            "parameters": parameters,
            "phases": phases,
            "faults": faults,
            "finished_at": phases[1].finished_at,
        }
    )


def _phase(name: str, at: float, elapsed: float, metrics: dict[str, Metric]) -> Phase:
    return Phase(
        name=name,
        started_at=at,
        finished_at=at + elapsed,
        elapsed_s=elapsed,
        wall_s=elapsed + 2,
        metrics=metrics,
    )


def daemon_killed(phase: Phase) -> FaultRecord:
    """A daemon killed in a phase, to its end."""
    return FaultRecord(
        kind="kill-daemon",
        target="the regionserver on worker-2",
        text="the regionserver on worker-2 killed 15 s into run, to the end",
        phase="run",
        after_s=FAULT_S,
        at=phase.started_at + FAULT_S,
    )


def folder(path: Path, plan: Plan) -> Path:
    """A results folder of ``plan``; a level ``killed`` has no operations from 15 to 24 s."""
    study_folder(path, replace(plan, edit=served, write_samples=True, series=4, tasks=4))
    for trial in read_results(path).trials:
        run = trial.phases[1]
        rows = []
        for second in range(1, SECONDS + 1):
            away = bool(trial.faults) and FAULT_S < second <= BACK_S
            rate = 0.0 if away else rate_of(next(iter(trial.treatment.levels.values())))
            rows.append((run.started_at + second, rate))
        table = pa.table(
            {
                "trial": [trial.id] * len(rows),
                "t": [t for t, _ in rows],
                "host": ["master"] * len(rows),
                "metric": ["kv_throughput"] * len(rows),
                "unit": ["ops/s"] * len(rows),
                "value": [value for _, value in rows],
            }
        )
        pq.write_table(table, path / "samples" / f"{trial.id}.parquet")
    return path
