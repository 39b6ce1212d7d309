"""Files of the trials that cannot be read: their contents are unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.bottleneck.attempts import tasks_read
from windtunnel.analysis.bottleneck.utilisation import samples_read
from windtunnel.analysis.observations import counts
from windtunnel.analysis.parquet_files import Reading
from windtunnel.analysis.recorded import Recorded
from windtunnel.errors import ResultsError
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

TASKS, SAMPLES, PROVENANCE = "task attempts", "host samples", "provenance"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of a counted trial that cannot be read: it is ``missing``, or else damaged."""

    trial: str
    holds: str
    missing: bool


def unreadable(analysis: Recorded) -> list[Unreadable]:
    """The unreadable files of the counted trials, those of tasks first.

    Several trials can have the same file of provenance.
    """
    results = analysis.results
    kinds: Mapping[
        str, tuple[Callable[[Trial], str | None], Callable[[Trial], Path | None], Reading]
    ]
    kinds = {
        TASKS: (lambda t: t.tasks_file, results.tasks_path, analysis.once(tasks_read)),
        SAMPLES: (lambda t: t.samples_file, results.samples_path, analysis.once(samples_read)),
    }
    found = []
    for holds, (name, path_of, reading) in kinds.items():
        for trial in filter(counts, results.trials):
            path = path_of(trial)
            if name(trial) is not None and (path is None or path in reading.damaged):
                found.append(Unreadable(trial.id, holds, missing=path is None))
    counted = list(filter(counts, results.trials))
    files = {trial.provenance: trial for trial in counted}  # many trials have the same file
    damaged = {name for name, trial in files.items() if _damaged(results, trial)}
    for trial in counted:
        missing = trial.provenance is not None and results.provenance_path(trial) is None
        if missing or trial.provenance in damaged:
            found.append(Unreadable(trial.id, PROVENANCE, missing=missing))
    return found


def _damaged(results: Results, trial: Trial) -> bool:
    try:
        results.provenance(trial)
    except ResultsError:
        return True
    return False
