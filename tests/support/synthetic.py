"""Results folders with known truth, for tests and benchmarks only: never a measurement.

The shape is that of a TeraSort study on one machine: phases teragen, terasort and
teravalidate; host samples at 1 Hz; task attempts on ``worker-1`` .. ``worker-N``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.results.record import (
    Before,
    Check,
    Metric,
    Phase,
    ProtocolRecord,
    StudyRecord,
    Treatment,
    Trial,
    Verdict,
)

GIB = 1024**3
START = 1_700_000_000.0
PHASES = {"teragen": 14.0, "terasort": 38.0, "teravalidate": 9.0}
SHARE = {"teragen": 0.0, "terasort": 1.0, "teravalidate": 0.0}
DATA = 256_000_000.0


@dataclass
class Plan:
    """What to make up. ``effect`` is the relative change of the terasort phase, ``noise`` the CV.

    ``seconds`` and ``series`` set the size of the sample files (0 seconds: as long as the
    trial); ``invalid`` holds the orders (from 1) of invalid trials; ``edit`` may change each
    trial before it is stored.
    """

    trials: int = 6
    levels: tuple[str, ...] = ("stock", "tuned")
    factor: str = "settings"
    effect: float = -0.31
    noise: float = 0.02
    seed: int = 1
    seconds: int = 0
    series: int = 20
    tasks: int = 40
    workers: int = 3
    invalid: tuple[int, ...] = ()
    shuffled: bool = True
    drift: float = 0.0
    extra_factors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    edit: Callable[[Trial], Trial] | None = None
    write_samples: bool = True


def study_folder(path: Path, plan: Plan) -> Path:
    """Write a results folder for ``plan`` at ``path`` and return it."""
    rng = np.random.default_rng(plan.seed)
    treatments = _treatments(plan)
    rounds = -(-plan.trials // len(treatments))
    for name in ("trials", "samples", "tasks", "provenance"):
        (path / name).mkdir(parents=True, exist_ok=True)
    study = _study(plan, treatments, rounds)
    (path / "study.json").write_text(study.model_dump_json(by_alias=True, indent=1))
    (path / "provenance" / "cafe.json").write_text(json.dumps(PROVENANCE))
    clock, made = START, 0
    for number in range(1, rounds + 1):
        order = rng.permutation(len(treatments)) if plan.shuffled else range(len(treatments))
        for position, index in enumerate(order, start=1):
            if made == plan.trials:
                return path
            made += 1
            trial = _trial(plan, treatments[int(index)], number, position, clock, rng, made)
            clock = trial.finished_at + 3
            if plan.write_samples:
                _samples(path, plan, trial, rng)
                _tasks(path, plan, trial, rng)
            kept = plan.edit(trial) if plan.edit else trial
            file = path / "trials" / f"{trial.id}.json"
            file.write_text(kept.model_dump_json(by_alias=True))
    return path


def _treatments(plan: Plan) -> list[Treatment]:
    grid: list[dict[str, str]] = [{plan.factor: level} for level in plan.levels]
    for name, levels in plan.extra_factors.items():
        grid = [{**row, name: level} for row in grid for level in levels]
    return [Treatment(id="-".join(row.values()), levels=row) for row in grid]


def _study(plan: Plan, treatments: list[Treatment], rounds: int) -> StudyRecord:
    factors = {plan.factor: list(plan.levels)}
    factors |= {name: list(levels) for name, levels in plan.extra_factors.items()}
    return StudyRecord(
        id="synthetic",
        name="synthetic study",
        question="Do the tuned settings make TeraSort faster?",
        testbed="local",
        created_at=START,
        fingerprint="f00d",
        cluster=plan.cluster,
        workloads={"terasort": {"size": "256 MB"}},
        factors=factors,
        baseline={name: levels[0] for name, levels in factors.items()},
        treatments=treatments,
        protocol=ProtocolRecord(rounds=rounds, seed=plan.seed, trial_time_limit_s=600),
        notes=["made up by tests/support/synthetic.py"],
    )


def _trial(
    plan: Plan,
    treatment: Treatment,
    number: int,
    position: int,
    clock: float,
    rng: np.random.Generator,
    order: int,
) -> Trial:
    level = plan.levels.index(treatment.levels[plan.factor])
    phases, at = [], clock + 2
    for name, base in PHASES.items():
        factor = (1 + plan.effect * SHARE[name]) ** level * (1 + plan.drift) ** (number - 1)
        elapsed = base * factor * float(np.exp(rng.normal(0, plan.noise)))
        phases.append(_phase(name, at, elapsed, factor, rng, plan))
        at += elapsed + 1.5
    invalid = order in plan.invalid
    reason = "checksum of the output differs from that of the input" if invalid else ""
    return Trial(
        id=f"t{order:05d}",
        study_id="synthetic",
        testbed="local",
        workload="terasort",
        treatment=treatment,
        parameters={"size": DATA, "output_replication": 1},
        round=number,
        position=position,
        started_at=clock,
        finished_at=at,
        verdict=Verdict(
            valid=not invalid,
            reason=reason,
            checks=[Check(name="checksum", passed=not invalid, expected="a1", got="a1")],
        ),
        phases=phases,
        before=Before(
            load_1min=1.2 + float(rng.normal(0, 0.1)),
            memory_available_bytes=9 * GIB,
            page_cache_bytes=4 * GIB,
            cpu_idle_share=0.94,
            cache_state="warm",
        ),
        samples_file=f"samples/t{order:05d}.parquet" if plan.write_samples else None,
        tasks_file=f"tasks/t{order:05d}.parquet" if plan.write_samples else None,
        provenance="cafe",
    )


def _phase(
    name: str, at: float, elapsed: float, factor: float, rng: np.random.Generator, plan: Plan
) -> Phase:
    def near(value: float, unit: str) -> Metric:
        return Metric(value=value * float(np.exp(rng.normal(0, plan.noise / 2))), unit=unit)

    metrics = {
        "client_wall": Metric(value=elapsed + 2.1, unit="s"),
        "map_time": near(elapsed * 1.6, "s"),
        "cpu_time": near(PHASES[name] * 1.1 * (0.9 if factor < 1 else 1.0), "s"),
        "gc_time": near(PHASES[name] * 0.05 * factor, "s"),
        "hdfs_bytes_read": Metric(value=0.0 if name == "teragen" else DATA, unit="bytes"),
        "hdfs_bytes_written": Metric(value=DATA if name != "teravalidate" else 0, unit="bytes"),
        "maps": Metric(value=6, unit="count"),
        "reduces": Metric(value=0 if name == "teragen" else 3, unit="count"),
        "failed_attempts": Metric(value=0, unit="count"),
        "rate": Metric(value=DATA / elapsed, unit="bytes/s"),
    }
    if name == "terasort":
        metrics |= {
            "shuffle_time": near(elapsed * 1.4 * factor, "s"),
            "merge_time": near(elapsed * 0.1, "s"),
            "reduce_time": near(elapsed * 0.6, "s"),
            "spilled_records": Metric(
                value=7_680_000 * (1.0 if factor == 1 else 2 / 3), unit="count"
            ),
            "file_bytes_written": near(DATA * 3.1 * factor, "bytes"),
            "file_bytes_read": near(DATA * 2.1 * factor, "bytes"),
            "reduce_shuffle_bytes": Metric(value=DATA * 1.04, unit="bytes"),
        }
    return Phase(
        name=name,
        job_id=f"job_1_{int(at)}",
        started_at=at,
        finished_at=at + elapsed,
        elapsed_s=elapsed,
        wall_s=elapsed + 2.1,
        metrics=metrics,
    )


SERIES = {
    "cpu_user": ("ratio", 0.55),
    "cpu_system": ("ratio", 0.12),
    "cpu_iowait": ("ratio", 0.06),
    "cpu_idle": ("ratio", 0.27),
    "cpu_steal": ("ratio", 0.0),
    "load_1min": ("count", 5.0),
    "memory_used": ("bytes", 5.5 * GIB),
    "page_cache": ("bytes", 6.0 * GIB),
    "disk_read": ("bytes/s", 4e6),
    "disk_write": ("bytes/s", 9e7),
    "net_sent": ("bytes/s", 6e7),
    "net_received": ("bytes/s", 6e7),
}


def _samples(path: Path, plan: Plan, trial: Trial, rng: np.random.Generator) -> None:
    seconds = plan.seconds or int(trial.finished_at - trial.started_at)
    names = list(SERIES.items())[: plan.series]
    daemons = max(0, plan.series - len(names))
    names += [(f"daemon_cpu:nodemanager-{i}", ("cores", 0.2)) for i in range(daemons)]
    t = trial.started_at + np.arange(seconds, dtype=float)
    busy = np.full(seconds, 0.08)
    for phase in trial.phases:
        busy[(t >= phase.started_at) & (t <= phase.finished_at)] = 1.0
    columns: dict[str, list[Any]] = {k: [] for k in ("t", "metric", "unit", "value")}
    for name, (unit, level) in names:
        idle = name in ("memory_used", "page_cache", "load_1min")
        shape = np.linspace(0.7, 1.1, seconds) if idle else busy
        noise = np.abs(1 + rng.normal(0, 0.02 if idle else 0.25, seconds))
        value = np.minimum(level * shape * noise, 1.0 if unit == "ratio" else np.inf)
        columns["t"].append(t)
        columns["value"].append(value)
        columns["metric"] += [name] * seconds
        columns["unit"] += [unit] * seconds
    rows = len(columns["metric"])
    table = pa.table(
        {
            "trial": pa.array([trial.id] * rows),
            "t": np.concatenate(columns["t"]),
            "host": pa.array(["this-machine"] * rows),
            "metric": pa.array(columns["metric"]),
            "unit": pa.array(columns["unit"]),
            "value": np.concatenate(columns["value"]),
        }
    )
    pq.write_table(table, path / "samples" / f"{trial.id}.parquet")


def _tasks(path: Path, plan: Plan, trial: Trial, rng: np.random.Generator) -> None:
    rows: list[dict[str, Any]] = []
    for phase in trial.phases:
        count = plan.tasks if phase.name == "terasort" else max(2, plan.tasks // 3)
        maps = max(1, int(count * 0.8))
        lanes = plan.workers * 2
        waves = -(-maps // lanes)
        length = phase.elapsed_s * 0.6 / waves
        for i in range(count):
            kind = "MAP" if i < maps else "REDUCE"
            start = phase.started_at + 0.5 + (i // lanes) * length
            end = start + length * float(rng.uniform(0.7, 0.98))
            if kind == "REDUCE":
                start = phase.started_at + phase.elapsed_s * 0.4
                end = phase.finished_at - float(rng.uniform(0, 2))
            failed = kind == "MAP" and i == 3 and trial.position == 1
            rows.append(
                {
                    "trial": trial.id,
                    "phase": phase.name,
                    "task": f"task_{phase.name}_{kind[0].lower()}_{i:06d}",
                    "attempt": f"attempt_{phase.name}_{kind[0].lower()}_{i:06d}_0",
                    "type": kind,
                    "status": "FAILED" if failed else "SUCCEEDED",
                    "host": f"worker-{i % plan.workers + 1}",
                    "started_at": start,
                    "finished_at": end,
                    "shuffle_finished_at": start + (end - start) * 0.6 if kind != "MAP" else None,
                    "sort_finished_at": start + (end - start) * 0.65 if kind != "MAP" else None,
                    "locality": "NODE_LOCAL" if kind == "MAP" else None,
                }
            )
    pq.write_table(pa.Table.from_pylist(rows), path / "tasks" / f"{trial.id}.parquet")


PROVENANCE = {
    "windtunnel": {"version": "0.1.0", "commit": "0123abc"},
    "hadoop": {"version": "3.5.0", "jars": {"hadoop-common-3.5.0.jar": "9f2c" * 16}},
    "java": {"version": "21.0.4", "vendor": "made up"},
    "machine": {"kernel": "6.1.0", "cpu": "made-up CPU", "cores": 2, "memory_bytes": 24 * GIB},
    "settings": {"mapreduce.task.io.sort.mb": "256", "dfs.replication": "1"},
}
