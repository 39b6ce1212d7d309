"""Published results as journals: the catalogue's studies, review against arithmetic, import."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.results.folder import Results

__all__ = ["PREFIX", "STUDY", "open_results", "published_names"]

PREFIX = "published:"
STUDY = "study.yaml"


def published_names() -> list[str]:
    """The published studies of the catalogue, sorted."""
    folder = resources.files("windtunnel.catalogue").joinpath("published")
    return sorted(entry.name for entry in folder.iterdir() if entry.joinpath(STUDY).is_file())


def open_results(source: str | Path) -> Results:
    """Results of a folder, or of ``published:NAME``.

    What makes a folder of published facts is loaded only for those: it takes half a second.

    Raises
    ------
    UsageError
        No published study of that name.
    ResultsError
        No results folder, or the cache cannot be written.
    """
    from windtunnel.results.folder import read_results

    if not str(source).startswith(PREFIX):
        return read_results(Path(source))
    from windtunnel.published.sources import published_folder

    return read_results(published_folder(str(source)))
