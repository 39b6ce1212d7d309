"""The journal: an append-only results folder that survives ``kill -9`` at any moment.

A trial counts once its JSON file exists under its final name. That file is written last,
under another name, flushed to disk and renamed; so are samples and tasks, which it points
to, before it. What an interrupted trial left is removed when the folder is opened again.
A slot of the plan has one id, so no trial can count twice.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.errors import ResultsError, StorageFullError
from windtunnel.results.calibration import CALIBRATION_FOLDER, CalibrationRecord
from windtunnel.results.decision import DECISION_FILE, DecisionRecord, read_decision
from windtunnel.results.folder import read_results, read_study
from windtunnel.results.record import StudyRecord, Trial
from windtunnel.study.model import scale_record
from windtunnel.study.plan import Plan, Slot

# What a run that was killed as it made the folder leaves beside no study.json.
_UNFINISHED = {".lock", "study.yaml", "study.yaml.new", "study.json.new"}

TASKS_SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("phase", pa.string()),
        ("task", pa.string()),
        ("attempt", pa.string()),
        ("type", pa.string()),
        ("status", pa.string()),
        ("host", pa.string()),
        ("started_at", pa.float64()),
        ("finished_at", pa.float64()),
        ("map_finished_at", pa.float64()),
        ("shuffle_finished_at", pa.float64()),
        ("sort_finished_at", pa.float64()),
        ("locality", pa.string()),
        ("speculative", pa.bool_()),
        ("input_records", pa.float64()),
        ("input_bytes", pa.float64()),
        ("output_records", pa.float64()),
        ("output_bytes", pa.float64()),
        ("spilled_records", pa.float64()),
        ("cpu_time", pa.float64()),
        ("gc_time", pa.float64()),
    ],
    metadata={"schema": "windtunnel.tasks/1"},
)


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn the system's write errors into errors that tell what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFullError(
                f"no space is left in {folder}",
                remedy="free some space and run the same command again: it goes on "
                "where it stopped.",
            ) from error
        raise ResultsError(
            f"{folder} cannot be written: {error.strerror or error}",
            remedy="give a folder that you may write to with --results DIR.",
        ) from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is whole or absent, whatever happens (fsync, rename, fsync)."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


class Journal:
    """A results folder, open for one study; see :func:`open_journal`."""

    def __init__(self, path: Path, study: StudyRecord) -> None:
        self.path = path
        self.study = study
        self._trials: dict[str, list[Trial]] = {}
        self.decision = read_decision(path)
        for trial in read_results(path).trials:
            self._remember(trial)

    def decide(self, decision: DecisionRecord) -> None:
        """Record the decision on the number of rounds: once, durable when this returns."""
        assert self.decision is None, "a study decides once"
        with storage_errors(self.path):
            text = decision.model_dump_json(by_alias=True, indent=1)
            write_atomically(self.path / DECISION_FILE, text.encode())
        self.decision = decision

    @property
    def logs(self) -> Path:
        """Folder for the logs of daemons and clients."""
        return self.path / "logs"

    def attempts(self, slot: Slot) -> list[Trial]:
        """The recorded trials of a slot, in order of their attempts."""
        return self._trials.get(slot.id, [])

    def trials(self) -> list[Trial]:
        """Every recorded trial."""
        return [trial for attempts in self._trials.values() for trial in attempts]

    def _remember(self, trial: Trial) -> None:
        attempts = self._trials.setdefault(trial.id.removesuffix(f"-a{trial.attempt}"), [])
        attempts.append(trial)
        attempts.sort(key=lambda one: one.attempt)

    def sample_file(self, trial_id: str) -> Path:
        """Where to write the samples of a trial; :meth:`append` gives them their final name."""
        return self.path / "samples" / f"{trial_id}.parquet.new"

    def append(self, trial: Trial, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Record a trial: durable when this returns, absent if it does not return.

        Raises
        ------
        StorageFullError, ResultsError
            If it cannot be written.
        """
        with storage_errors(self.path):
            if tasks:
                file = self.path / "tasks" / f"{trial.id}.parquet"
                rows = [{"trial": trial.id, **row} for row in tasks]
                data = io.BytesIO()
                pq.write_table(pa.Table.from_pylist(rows, TASKS_SCHEMA), data, compression="zstd")
                write_atomically(file, data.getvalue())
                trial = trial.model_copy(update={"tasks_file": f"tasks/{file.name}"})
            samples = self.sample_file(trial.id)
            if samples.is_file():
                _sync_file(samples)
                file = samples.replace(samples.with_suffix(""))
                _sync_folder(file.parent)
                trial = trial.model_copy(update={"samples_file": f"samples/{file.name}"})
            text = trial.model_dump_json(by_alias=True, indent=1)
            write_atomically(self.path / "trials" / f"{trial.id}.json", text.encode())
        self._remember(trial)

    def store_provenance(self, facts: Mapping[str, Any]) -> str:
        """Store a provenance once; returns the hash that trials point to."""
        return self._store("provenance", json.dumps(facts, sort_keys=True, indent=1))

    def store_calibration(self, record: CalibrationRecord) -> None:
        """Store once what the testbed was found to give, before the trials that rely on it."""
        self._store(CALIBRATION_FOLDER, record.to_json())

    def _store(self, folder: str, text: str) -> str:
        """Write a file that is named by the hash of its text, once; returns the hash."""
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        file = self.path / folder / f"{key}.json"
        if not file.is_file():
            with storage_errors(self.path):
                file.parent.mkdir(exist_ok=True)
                write_atomically(file, text.encode())
        return key


@contextmanager
def open_journal(path: Path, plan: Plan, notes: Sequence[str] = ()) -> Iterator[Journal]:
    """Open a results folder for a plan: a new one, or one that holds part of this study.

    Raises
    ------
    ResultsError
        If the folder holds another study, is in use, or cannot be written.
    StorageFullError
        If there is no space.
    """
    with storage_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        strangers = [e.name for e in path.iterdir() if e.name not in _UNFINISHED]
    if strangers and not (path / "study.json").is_file():
        raise ResultsError(
            f"{path} holds other files and no study ({', '.join(sorted(strangers)[:3])} ...)",
            remedy="give a new or empty folder with --results DIR.",
        )
    with storage_errors(path):
        lock = filelock.FileLock(path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ResultsError(
                f"another run is writing to {path}",
                remedy="wait until it has ended, or give another folder with --results DIR.",
            ) from None
    try:
        with storage_errors(path):
            study = _study(path, plan, notes)
            for name in ("trials", "samples", "tasks", "provenance", "logs"):
                (path / name).mkdir(exist_ok=True)
            read_results(path)  # a damaged trial is named before anything runs
            read_decision(path)
            _sweep(path)
        yield Journal(path, study)
    finally:
        lock.release()


def _sweep(path: Path) -> None:
    """Put away what belongs to no recorded trial.

    A run was killed before its trial could count, or somebody moved the trial's file away.
    """
    for name in (".", "trials", "samples", "tasks", "provenance", CALIBRATION_FOLDER):
        for file in (path / name).glob("*.new"):
            file.unlink()
    for name in ("samples", "tasks"):
        for file in (path / name).glob("*.parquet"):
            if not (path / "trials" / f"{file.stem}.json").is_file():
                (path / "orphans" / name).mkdir(parents=True, exist_ok=True)
                file.replace(path / "orphans" / name / file.name)


def _study(path: Path, plan: Plan, notes: Sequence[str]) -> StudyRecord:
    if (path / "study.json").is_file():
        study = read_study(path)
        if study.fingerprint != plan.fingerprint:
            raise ResultsError(
                f"{path} holds another study: '{study.name}' with another plan "
                f"({study.fingerprint[:8]}, this one is {plan.fingerprint[:8]})",
                remedy="give another folder with --results DIR, or undo the changes to the "
                "study file (the one that was run is study.yaml in the folder).",
            )
        return study
    study = _new_study(plan, notes)
    write_atomically(path / "study.yaml", plan.source_text.encode())
    write_atomically(path / "study.json", study.model_dump_json(by_alias=True, indent=1).encode())
    return study


def _new_study(plan: Plan, notes: Sequence[str]) -> StudyRecord:
    now = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return StudyRecord(
        id=f"{plan.name}-{stamp}-{plan.fingerprint[:6]}",
        name=plan.name,
        question=plan.question,
        testbed=plan.testbed,
        created_at=now,
        fingerprint=plan.fingerprint,
        source_text=plan.source_text,
        cluster=plan.base.model_dump(mode="json"),
        workloads={name: dict(given) for name, given in plan.workloads.items()},
        factors={name: list(labels) for name, labels in plan.factors.items()},
        baseline=dict(plan.baseline),
        treatments=plan.treatments,
        design=plan.design,
        protocol=plan.protocol.to_record(),
        notes=list(notes),
        scale=scale_record(plan),
    )
