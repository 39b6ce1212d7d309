"""Trials straight into a journal, and a process that dies at a chosen file operation of it."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.support.mock import job_run, toy_plan
from windtunnel.probes.sampler import Sampler
from windtunnel.results.record import Trial, Verdict
from windtunnel.results.sample import Sample
from windtunnel.study.journal import Journal, open_journal
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.record import study_record


def trial_of(journal: Journal, slot: Slot, attempt: int = 1, reason: str = "") -> Trial:
    """A trial of a slot; one with a ``reason`` is invalid."""
    return Trial(
        id=f"{slot.id}-a{attempt}",
        study_id=journal.study.id,
        testbed="local",
        workload=slot.workload,
        treatment=slot.treatment,
        round=slot.round,
        position=slot.position,
        attempt=attempt,
        started_at=time.time(),
        finished_at=time.time(),
        verdict=Verdict(valid=not reason, reason=reason),
        phases=[job_run("terasort", 5.0).phase],
    )


def append(journal: Journal, slot: Slot, rows: int = 50) -> None:
    """One trial with samples and tasks, as ``run_trial`` records it."""
    trial = trial_of(journal, slot)
    sampler = Sampler(dict)
    sampler.rows = [
        Sample(float(t), "this-machine", "load_1min", "count", 1.0) for t in range(rows)
    ]
    sampler.write(journal.sample_file(trial.id), trial.id)
    journal.append(trial, job_run("terasort", 5.0).tasks)


def slots_of(plan: Plan) -> list[Slot]:
    """All slots of all rounds."""
    return [slot for r in range(plan.protocol.rounds) for slot in plan.round_slots(r + 1)]


def append_all(folder: Path, plan: Plan) -> None:
    """Bring a folder to its end, wherever it stands."""
    with open_journal(folder, study_record(plan)) as journal:
        for slot in slots_of(plan):
            if not journal.attempts(slot):
                append(journal, slot)


def append_until_killed(folder: str, moment: int) -> None:
    """Append a whole study, but die at the ``moment``-th file operation (0: never)."""
    count = 0

    def step() -> bool:
        nonlocal count
        count += 1
        return count == moment

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **named: Any) -> Any:
            if step():
                die()
            return real(*args, **named)

        return operation

    def torn(real: Callable[..., Any]) -> Callable[..., Any]:
        """Dies with half of the file on the disk."""

        def write_table(table: Any, target: Any, **named: Any) -> None:
            real(table, target, **named)
            if not isinstance(target, io.BytesIO) and step():
                os.truncate(target, Path(target).stat().st_size // 2)
                die()

        return write_table

    class TornFile:
        """A file open for writing that may die in the middle of a ``write``."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> TornFile:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: bytes) -> None:
            half = len(data) // 2
            self.file.write(data[:half])
            if step():
                self.file.flush()
                die()
            self.file.write(data[half:])

    real_open = Path.open

    def path_open(self: Path, mode: str = "r", *args: Any, **named: Any) -> Any:
        if step():
            die()
        file = real_open(self, mode, *args, **named)
        return TornFile(file) if mode == "wb" else file

    os.fsync = dying(os.fsync)
    pq.write_table = torn(dying(pq.write_table))
    Path.open = path_open  # type: ignore[method-assign]
    for name in ("replace", "mkdir"):
        setattr(Path, name, dying(getattr(Path, name)))
    append_all(Path(folder), toy_plan(rounds=2))
