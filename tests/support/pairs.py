"""Two results folders that differ in what a test says: for ``compare``, never a measurement."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.synthetic import PROVENANCE, Plan, study_folder
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Trial

LATER = 30 * 86400.0
QUIET = Plan(trials=10, write_samples=False)


def folder(
    path: Path,
    plan: Plan = QUIET,
    *,
    later: float = 0.0,
    edit: Callable[[Trial], Trial] | None = None,
    study: dict[str, Any] | None = None,
    provenance: dict[str, Any] | None = None,
    levels: float = 1.0,
) -> Path:
    """A folder of ``plan`` that ran ``later`` seconds later, with edits to its records.

    ``levels`` multiplies every elapsed time; ``study`` updates the study's record by top key,
    dictionaries merged; ``provenance`` does so with the provenance.
    """

    def edited(trial: Trial) -> Trial:
        phases = [p.model_copy(update={"elapsed_s": p.elapsed_s * levels}) for p in trial.phases]
        update = {
            "phases": phases,
            "started_at": trial.started_at + later,
            "finished_at": trial.finished_at + later,
        }
        moved = trial.model_copy(update=update)
        return edit(moved) if edit else moved

    study_folder(path, replace(plan, edit=edited))
    _merge(path / "study.json", study or {})
    (path / "provenance" / "cafe.json").write_text(json.dumps(PROVENANCE))
    _merge(path / "provenance" / "cafe.json", provenance or {})
    return path


def results(path: Path, plan: Plan = QUIET, **changes: Any) -> Results:
    """As :func:`folder`, read."""
    return read_results(folder(path, plan, **changes))


def _merge(file: Path, changes: dict[str, Any]) -> None:
    data = json.loads(file.read_text())
    for key, value in changes.items():
        merged = isinstance(value, dict) and isinstance(data.get(key), dict)
        data[key] = {**data[key], **value} if merged else value
    file.write_text(json.dumps(data))
