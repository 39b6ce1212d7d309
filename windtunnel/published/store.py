"""Writing a results folder of published or imported results: whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel.engines.storage import flush_to_disk
from windtunnel.errors import ResultsError, StorageFullError
from windtunnel.published.build import Built


def write_results(built: Built, folder: Path) -> None:
    """Write the folder beside its place and rename it there.

    Raises
    ------
    ResultsError
        If something is there already, or the place cannot be written.
    StorageFullError
        If no space is left.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ResultsError(
            f"{folder} is there already", remedy="give a folder that does not exist yet."
        )
    with _storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            _fill(built, new)
            new.chmod(0o755)
            new.replace(folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        flush_to_disk(folder.parent)


def _fill(built: Built, folder: Path) -> None:
    for name in ("trials", "samples", "tasks", "provenance", "logs"):
        (folder / name).mkdir()
    for trial in built.trials:
        text = trial.model_dump_json(indent=1, by_alias=True)
        _write(folder / "trials" / f"{trial.id}.json", text)
    if built.power is not None:
        (folder / "power").mkdir()
        (folder / "power" / built.power.name).write_bytes(built.power.to_bytes())
    _write(folder / "study.yaml", built.study.source_text)
    _write(folder / "study.json", built.study.model_dump_json(indent=1, by_alias=True))


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFullError(
                f"no space is left for {folder}", remedy="free some space and try again."
            ) from error
        raise ResultsError(
            f"{folder} cannot be written: {error.strerror or error}",
            remedy="give a folder that you may write to.",
        ) from error
