"""The journal: an append-only results folder that survives ``kill -9`` at any moment.

A trial counts if its JSON file exists under its final name. That file is written last: under
another name, flushed to disk and then renamed, as are the files of samples and tasks before it.
The files of an interrupted trial are removed when the folder is opened again. A slot of the plan
has one id, so no trial can count twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import filelock

from windtunnel import durable
from windtunnel.errors import ResultsError
from windtunnel.results.calibration import CALIBRATION_FOLDER, CalibrationRecord
from windtunnel.results.decision import DECISION_FILE, DecisionRecord, read_decision
from windtunnel.results.folder import read_results, read_study
from windtunnel.results.record import StudyRecord, Trial
from windtunnel.results.tasks import task_table
from windtunnel.study.plan import Slot

# Files of a run that was killed before it wrote study.json.
_UNFINISHED = {".lock", "study.yaml"}

_TRIALS = "trials"
FIT_FILE = "fit.json"


def storage_errors(folder: Path) -> AbstractContextManager[None]:
    """Convert write errors of the system to errors with a remedy."""
    return durable.storage_errors(
        f"{folder} cannot be written",
        remedy="specify a folder to which you have write permission with --results DIR.",
        space="free some space, then run the same command again to resume the study.",
    )


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
        """Record the decision on the number of rounds, once; it is durable when this returns."""
        assert self.decision is None, "a study decides once"
        with storage_errors(self.path):
            text = decision.model_dump_json(by_alias=True, indent=1)
            durable.write_text(self.path / DECISION_FILE, text)
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
        """The file for the samples of a trial; :meth:`append` gives it its final name."""
        return self.path / "samples" / f"{trial_id}.parquet{durable.UNFINISHED}"

    def append(self, trial: Trial, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Record a trial; it is durable when this returns and absent if this does not return.

        Raises
        ------
        StorageFullError, ResultsError
            If it cannot be written.
        """
        with storage_errors(self.path):
            if tasks:
                file = self.path / "tasks" / f"{trial.id}.parquet"
                durable.write_bytes(file, task_table(trial.id, tasks))
                trial = trial.model_copy(update={"tasks_file": f"tasks/{file.name}"})
            samples = self.sample_file(trial.id)
            if samples.is_file():
                file = durable.move_into_place(samples, samples.with_suffix(""))
                trial = trial.model_copy(update={"samples_file": f"samples/{file.name}"})
            text = trial.model_dump_json(by_alias=True, indent=1)
            durable.write_text(self.path / "trials" / f"{trial.id}.json", text)
        self._remember(trial)

    def store_fit(self, text: bytes) -> None:
        """Store the fit from which a study is predicted."""
        with storage_errors(self.path):
            durable.write_bytes(self.path / FIT_FILE, text)

    def store_provenance(self, facts: Mapping[str, Any]) -> str:
        """Store a provenance once; returns the hash by which trials refer to it."""
        return self._store("provenance", json.dumps(facts, sort_keys=True, indent=1))

    def store_calibration(self, record: CalibrationRecord) -> None:
        """Store a calibration once, before the trials that rely on it."""
        self._store(CALIBRATION_FOLDER, record.to_json())

    def _store(self, folder: str, text: str) -> str:
        """Write a file once, under the hash of its text; returns the hash."""
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        file = self.path / folder / f"{key}.json"
        if not file.is_file():
            with storage_errors(self.path):
                file.parent.mkdir(exist_ok=True)
                durable.write_text(file, text)
        return key


@contextmanager
def open_journal(path: Path, study: StudyRecord) -> Iterator[Journal]:
    """Open a results folder for a study: a new folder, or one with trials of this study.

    Raises
    ------
    ResultsError
        If the folder contains another study, is in use, or cannot be written.
    StorageFullError
        If no space is left.
    """
    with storage_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        names = [entry.name for entry in path.iterdir() if entry.name not in _UNFINISHED]
        unfinished = re.compile(rf"\..*{re.escape(durable.UNFINISHED)}")
        strangers = [
            name
            for name in names
            if not unfinished.fullmatch(name) and not (name == _TRIALS and _is_empty(path / name))
        ]
    if strangers and not (path / "study.json").is_file():
        raise ResultsError(
            f"{path} contains other files and no study ({', '.join(sorted(strangers)[:3])} ...)",
            remedy="specify a new or empty folder with --results DIR.",
        )
    file = path / "study.yaml"
    with storage_errors(path):
        own = file.read_bytes() if file.is_file() else study.source_text.encode()
    if own != study.source_text.encode() and not (path / "study.json").is_file():
        raise ResultsError(
            f"{file} is not the file of this study, and the folder contains no results",
            remedy="specify a new or empty folder with --results DIR, or remove the file.",
        )
    with storage_errors(path):
        lock = filelock.FileLock(path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ResultsError(
                f"another run is writing to {path}",
                remedy="wait until it has ended, or specify another folder with --results DIR.",
            ) from None
    try:
        with storage_errors(path):
            (path / _TRIALS).mkdir(exist_ok=True)  # first: a folder with a study has it
            study = _stored(path, study)
            for name in ("samples", "tasks", "provenance", "logs"):
                (path / name).mkdir(exist_ok=True)
            read_results(path)  # reports a damaged trial before anything runs
            read_decision(path)
            _sweep(path)
        yield Journal(path, study)
    finally:
        lock.release()


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _sweep(path: Path) -> None:
    """Remove unfinished files, and move files without a recorded trial to ``orphans``.

    They exist if a run was killed before it recorded the trial, or if somebody moved the record.
    """
    for name in (".", "trials", "samples", "tasks", "provenance", CALIBRATION_FOLDER):
        for file in (path / name).glob(f".*{durable.UNFINISHED}"):
            file.unlink()
    for name in ("samples", "tasks"):
        for file in (path / name).glob(f"*.parquet{durable.UNFINISHED}"):
            file.unlink()
        for file in (path / name).glob("*.parquet"):
            if not (path / "trials" / f"{file.stem}.json").is_file():
                (path / "orphans" / name).mkdir(parents=True, exist_ok=True)
                file.replace(path / "orphans" / name / file.name)


def _stored(path: Path, study: StudyRecord) -> StudyRecord:
    """The record in the folder if its plan is the same; in a new folder, ``study``, stored."""
    if (path / "study.json").is_file():
        found = read_study(path)
        if found.fingerprint != study.fingerprint:
            raise ResultsError(
                f"{path} contains another study: '{found.name}' with another plan "
                f"({found.fingerprint[:8]}, this one is {study.fingerprint[:8]})",
                remedy="specify another folder with --results DIR, or undo the changes to the "
                "study file (study.yaml in the folder is the file that was run).",
            )
        return found
    durable.write_bytes(path / "study.yaml", study.source_text.encode())
    durable.write_bytes(
        path / "study.json", study.model_dump_json(by_alias=True, indent=1).encode()
    )
    return study
