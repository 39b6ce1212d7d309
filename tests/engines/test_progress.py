"""Lines about downloads."""

from __future__ import annotations

import io

from rich.console import Console

from windtunnel.engines.progress import Bar, Lines


def test_square_brackets_of_paths_are_printed() -> None:
    out = io.StringIO()
    for progress in (Lines(Console(file=out)), Bar(Console(file=out))):
        progress.note("uses /cache/[/x]/[bold]")
    assert out.getvalue() == "uses /cache/[/x]/[bold]\n" * 2
