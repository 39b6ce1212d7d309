"""Report: terminal, one HTML page, CSV, Parquet, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.report.export import to_json, write_csv, write_parquet
from windtunnel.report.terminal import print_report

if TYPE_CHECKING:
    from windtunnel.analysis import Analysis
    from windtunnel.results.folder import Results

__all__ = ["print_report", "to_json", "write_csv", "write_html", "write_parquet"]


def write_html(analysis: Analysis, results: Results, path: Path) -> None:
    """Write the page to ``path``. Charts are loaded only here: they take a second to import.

    Raises
    ------
    StorageFullError, ResultsError
        If the page cannot be written.
    """
    from windtunnel.report import html

    html.write_html(analysis, results, path)
