"""Reading a results folder. Writing is the journal's (``windtunnel/study/journal.py``).

Layout::

    DIR/
      study.json               the question, resolved (StudyRecord)
      study.yaml               the question as the user wrote it
      trials/ID.json           one trial each (Trial), written atomically
      samples/ID.parquet       host samples of that trial at 1 Hz
      tasks/ID.parquet         task attempts of that trial
      provenance/HASH.json     versions, jars, machine, settings; shared by trials
      logs/                    the daemons' and clients' logs
      calibration/HASH.json    set against got of a scale model's parts (calibration.py)
      decision.json            the number of rounds, if a pilot decided it (decision.py)
      report.html              the report, if one was made

``samples`` columns: ``trial``, ``t`` (epoch s), ``host``, ``metric``, ``unit``, ``value``.
``tasks`` columns: ``trial``, ``phase``, ``task``, ``attempt``, ``type`` (MAP, REDUCE),
``status``, ``host``, ``started_at``, ``finished_at``, ``map_finished_at``,
``shuffle_finished_at``, ``sort_finished_at`` (epoch s, null where they do not apply),
``locality``, ``speculative``; and what the attempt counted (null where the history does not
tell, older folders lack the columns): ``input_records``, ``input_bytes`` (from HDFS, or a
reducer's shuffle), ``output_records``, ``output_bytes`` (a map's, before compression),
``spilled_records``, ``cpu_time`` and ``gc_time`` (s).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from windtunnel.errors import ResultsError
from windtunnel.results.record import STUDY_SCHEMA, TRIAL_SCHEMA, StudyRecord, Trial

_R = TypeVar("_R", StudyRecord, Trial)


@dataclass(frozen=True)
class Results:
    """A study with its trials, in the order in which they ran."""

    path: Path
    study: StudyRecord
    trials: list[Trial]

    def samples_path(self, trial: Trial) -> Path | None:
        """Parquet file of the trial's host samples, or None where there is none."""
        return self._beside(trial.samples_file)

    def tasks_path(self, trial: Trial) -> Path | None:
        """Parquet file of the trial's task attempts, or None where there is none."""
        return self._beside(trial.tasks_file)

    def provenance(self, trial: Trial) -> dict[str, object]:
        """The provenance that the trial points to; empty where none was stored."""
        path = self._beside(f"provenance/{trial.provenance}.json" if trial.provenance else None)
        if path is None:
            return {}
        try:
            loaded: dict[str, object] = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise ResultsError(
                f"{path} cannot be read: {error}",
                remedy="restore the file from a copy, or move it out of the folder.",
            ) from error
        return loaded

    def _beside(self, name: str | None) -> Path | None:
        if name is None:
            return None
        path = self.path / name
        return path if path.is_file() else None


def read_study(path: Path) -> StudyRecord:
    """The study of a results folder.

    Raises
    ------
    ResultsError
        If ``path`` is no results folder, or of a schema that this version does not know.
    """
    file = path / "study.json"
    if not path.is_dir():
        raise ResultsError(
            f"{path} does not exist or is no folder",
            remedy="give the folder that 'windtunnel run STUDY.yaml --results DIR' wrote.",
        )
    if not file.is_file():
        raise ResultsError(
            f"{path} is no results folder (it has no study.json)",
            remedy="give the folder that 'windtunnel run STUDY.yaml --results DIR' wrote.",
        )
    return _load(file, StudyRecord, STUDY_SCHEMA)


def read_results(path: Path) -> Results:
    """Study and trials of a results folder, ordered by start.

    Raises
    ------
    ResultsError
        As :func:`read_study`; also for a trial file that cannot be read.
    """
    study = read_study(path)
    trials = [_load(file, Trial, TRIAL_SCHEMA) for file in sorted((path / "trials").glob("*.json"))]
    trials.sort(key=lambda trial: (trial.started_at, trial.id))
    return Results(path=path, study=study, trials=trials)


def _load(file: Path, model: type[_R], schema: str) -> _R:
    try:
        raw = file.read_bytes()
        try:
            found = model.model_validate_json(raw)
            head = found.schema_ if "schema_" in found.model_fields_set else None
        except ValidationError:
            head = json.loads(raw).get("schema")
            if head == schema:
                raise
        if head != schema:
            raise ResultsError(
                f"{file} has schema {head!r}; this version reads {schema!r}",
                remedy="read it with the version of Windtunnel that wrote it.",
            )
        return found
    except (OSError, ValueError, AttributeError, ValidationError) as error:
        raise ResultsError(
            f"{file} cannot be read: {str(error).splitlines()[0]}",
            remedy="restore the file from a copy, or move it out of the folder.",
        ) from error
