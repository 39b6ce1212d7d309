"""Writing a results folder of published or imported results: completely, or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from windtunnel import durable
from windtunnel.errors import ResultsError
from windtunnel.published.build import Built

FACTS = "facts"
"""Folder with the map, the tables and the relations of an imported study, as they were given."""


def write_results(built: Built, folder: Path, files: Mapping[str, bytes] | None = None) -> None:
    """Write the folder under a temporary name and rename it.

    ``files`` are more files by their path in the folder: task attempts, provenance.

    Raises
    ------
    ResultsError
        If the folder exists already, or cannot be written.
    StorageFullError
        If no space is left.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ResultsError(
            f"{folder} exists already", remedy="specify a folder that does not exist yet."
        )
    with durable.storage_errors(
        f"{folder} cannot be written", remedy="specify a folder with write permission."
    ):
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            _fill(built, new, files or {})
            new.chmod(0o755)
            durable.move_into_place(new, folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise


def _fill(built: Built, folder: Path, files: Mapping[str, bytes]) -> None:
    for name in ("trials", "samples", "tasks", "provenance", "logs"):
        (folder / name).mkdir()
    for name, content in files.items():
        durable.write_flushed(folder / name, content)
    for trial in built.trials:
        text = trial.model_dump_json(indent=1, by_alias=True)
        durable.write_flushed(folder / "trials" / f"{trial.id}.json", text.encode())
    if built.power is not None:
        (folder / "power").mkdir()
        durable.write_flushed(folder / "power" / built.power.name, built.power.to_bytes())
    if built.facts:
        (folder / FACTS).mkdir()
    for name, text in built.facts.items():
        durable.write_flushed(folder / FACTS / name, text.encode())
    durable.write_flushed(folder / "study.yaml", built.study.source_text.encode())
    record = built.study.model_dump_json(indent=1, by_alias=True)
    durable.write_flushed(folder / "study.json", record.encode())
