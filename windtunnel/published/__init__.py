"""Published results as results folders: the catalogue's studies, their review, and import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.published.names import PREFIX, published_names

if TYPE_CHECKING:
    from windtunnel.results.folder import Results

__all__ = ["PREFIX", "open_results", "published_names"]


def open_results(source: str | Path) -> Results:
    """Results of a folder, or of ``published:NAME``.

    The code for published studies is imported only if required: the import takes half a second.

    Raises
    ------
    UsageError
        No published study of that name.
    ResultsError
        Not a results folder, or the cache cannot be written.
    """
    from windtunnel.results.folder import read_results

    if not str(source).startswith(PREFIX):
        return read_results(Path(source))
    from windtunnel.published.sources import published_folder

    return read_results(published_folder(str(source)))
