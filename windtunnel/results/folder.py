"""Reading a results folder. The journal writes it (``windtunnel/study/journal.py``).

Layout::

    DIR/
      study.json               the study, resolved (StudyRecord)
      study.yaml               the study file of the user
      trials/ID.json           one trial each (Trial), written atomically
      samples/ID.parquet       host samples of that trial at 1 Hz
      tasks/ID.parquet         task attempts of that trial
      provenance/HASH.json     versions, jars, machine, settings; shared by trials
      logs/                    the daemons' and clients' logs
      calibration/HASH.json    limits and measured values of a scale model (calibration.py)
      decision.json            the number of rounds, if a pilot decided it (decision.py)
      fit.json                 the fit from which the times were predicted (model/store.py)
      report.html              the report, if one was written

``samples`` columns: ``trial``, ``t`` (epoch s), ``host``, ``metric``, ``unit``, ``value``.
``tasks`` columns: ``trial``, ``phase``, ``task``, ``attempt``, ``type`` (MAP, REDUCE),
``status``, ``host``, ``started_at`` (launch of the container), ``work_started_at`` (first record
or first fetch), ``finished_at``, ``map_finished_at``, ``shuffle_finished_at``,
``sort_finished_at`` (epoch s, null where they do not apply or are unknown),
``locality``, ``speculative``; and the counters of the attempt (null if the history lacks them;
older folders lack the columns): ``input_records``, ``input_bytes`` (from HDFS, or a reducer's
shuffle), ``output_records``, ``output_bytes`` (a map's, before compression),
``spilled_records``, ``cpu_time`` and ``gc_time`` (s).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import ResultsError
from windtunnel.results.reading import read_record, unreadable
from windtunnel.results.record import STUDY_SCHEMA, TRIAL_SCHEMA, StudyRecord, Trial


@dataclass(frozen=True)
class Results:
    """A study with its trials, in the order in which they ran."""

    path: Path
    study: StudyRecord
    trials: list[Trial]

    def samples_path(self, trial: Trial) -> Path | None:
        """Parquet file of the trial's host samples; None if there is none."""
        return self._beside(trial.samples_file)

    def tasks_path(self, trial: Trial) -> Path | None:
        """Parquet file of the trial's task attempts; None if there is none."""
        return self._beside(trial.tasks_file)

    def provenance(self, trial: Trial) -> dict[str, object]:
        """The provenance that the trial refers to; empty if none was stored.

        Raises
        ------
        ResultsError
            If the file cannot be read, or contains no JSON object.
        """
        path = self.provenance_path(trial)
        if path is None:
            return {}
        try:
            loaded = json.loads(path.read_text())
            if not isinstance(loaded, dict):
                raise ValueError("it does not contain a JSON object")
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
        return loaded

    def known_provenance(self, trial: Trial) -> dict[str, object]:
        """The provenance that the trial refers to; empty if none was stored or it is damaged."""
        try:
            return self.provenance(trial)
        except ResultsError:
            return {}

    def provenance_path(self, trial: Trial) -> Path | None:
        """File of the trial's provenance; None if there is none."""
        return self._beside(f"provenance/{trial.provenance}.json" if trial.provenance else None)

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
        If ``path`` is not a results folder, or has a schema that this version does not support.
    """
    file = path / "study.json"
    if not path.is_dir():
        raise ResultsError(
            f"{path} does not exist or is not a folder",
            remedy="specify the folder that 'windtunnel run STUDY.yaml --results DIR' wrote.",
        )
    if not file.is_file():
        raise ResultsError(
            f"{path} is not a results folder (it has no study.json)",
            remedy="specify the folder that 'windtunnel run STUDY.yaml --results DIR' wrote.",
        )
    return read_record(file, StudyRecord, STUDY_SCHEMA)


def read_results(path: Path) -> Results:
    """Study and trials of a results folder, ordered by start.

    Raises
    ------
    ResultsError
        As :func:`read_study`; also for a trial file that cannot be read, that is no trial of this
        study, or that has another name than its trial: a renamed copy would count twice.
    """
    study = read_study(path)
    if not (path / "trials").is_dir():
        raise ResultsError(
            f"the folder {path} has no 'trials' folder",
            remedy="restore it from a backup; 'windtunnel run' creates it for a new study.",
        )
    files = sorted((path / "trials").glob("*.json"))
    trials = [_read_trial(file, study) for file in files]
    trials.sort(key=lambda trial: (trial.started_at, trial.id))
    return Results(path=path, study=study, trials=trials)


def _read_trial(file: Path, study: StudyRecord) -> Trial:
    trial = read_record(file, Trial, TRIAL_SCHEMA)
    if trial.study_id != study.id:
        raise ResultsError(
            f"{file} is a trial of the study '{trial.study_id}', not of '{study.id}'",
            remedy="move the file out of the folder.",
        )
    if trial.id != file.stem:
        raise ResultsError(
            f"{file} contains the trial '{trial.id}', whose file is {trial.id}.json",
            remedy="move the file out of the folder, or restore its name if it is no copy.",
        )
    return trial
