"""``compare``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.errors import NotComparableError, UsageError, WorseError

if TYPE_CHECKING:
    from windtunnel.analysis.compare import Comparison

Folders = Annotated[
    list[str],
    typer.Argument(
        help="Results folders, or published:NAME; the first is the reference.", metavar="A B..."
    ),
]
Matching = Annotated[
    Literal["treatment", "workload"],
    typer.Option("--match", help="Pair by equal levels, or single treatments by workload."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="REASON-ID", help="Compare although this reason speaks against it."),
]
History = Annotated[
    bool,
    typer.Option("--history", help="All but the last are earlier runs; judge the last by them."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    epilog = "Example: windtunnel compare before after --html comparison.html"
    app.command(name="compare", epilog=epilog)(compare_folders)


def compare_folders(
    folders: Folders,
    match: Matching = "treatment",
    allow: Allow = None,
    history: History = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="End with exit code 11 if a total is worse.")
    ] = False,
) -> None:
    """Compare results folders: better, worse, not distinguishable, or refused with reasons."""
    from rich.console import Console

    from windtunnel.analysis.compare import compare
    from windtunnel.published import open_results
    from windtunnel.report.comparison import print_comparison, to_json, write_page

    allowed = _checked(folders, allow or [], history)
    named = [(name, open_results(name)) for name in folders]
    found = compare(named, by=match, allowed=allowed, history=history)
    if html is not None:
        write_page(found, html)
    if as_json:
        json.dump(to_json(found), sys.stdout, indent=1)
        print()
    else:
        print_comparison(found, Console())
    if html is not None:
        print(f"wrote {html}", file=sys.stderr)
    sys.stdout.flush()
    _end(found, fail_if_worse)


def _checked(folders: Sequence[str], allow: Sequence[str], history: bool) -> Sequence[str]:
    from windtunnel.analysis.compare import REFUSAL_IDS

    least = 3 if history else 2
    if len(folders) < least:
        asked = "two earlier runs and a new one" if history else "two results folders"
        raise UsageError(
            f"compare needs at least {asked}, got {len(folders)}",
            remedy="windtunnel compare REFERENCE OTHER ..., or EARLIER EARLIER ... NEW --history.",
        )
    places = [str(Path(name).resolve()) for name in folders]
    for name, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"{name} is given twice", remedy="give each results folder once.")
    for reason in allow:
        if reason not in REFUSAL_IDS:
            raise UsageError(
                f"--allow {reason}: no such reason", remedy=f"use one of: {', '.join(REFUSAL_IDS)}."
            )
    return allow


def _end(found: Comparison, fail_if_worse: bool) -> None:
    """Exit codes: refused before worse."""
    reasons = {r.id: r for pair in found.refused for r in pair.refused}
    if reasons:
        names = ", ".join(pair.other for pair in found.refused)
        can = [f"--allow {r.id}" for r in reasons.values() if r.overridable]
        fixed = len(can) < len(reasons)
        advice = "measure both under the same conditions"
        if can and not fixed:
            advice += f"; or {' '.join(can)} compares all the same and says so"
        raise NotComparableError(
            f"{names} not compared: {', '.join(reasons)} (see above)", remedy=f"{advice}."
        )
    if fail_if_worse and found.worse:
        cells = ", ".join(f"{c.workload} at {c.treatment}" for c in found.worse)
        raise WorseError(
            f"total elapsed time is longer than the reference's: {cells}",
            remedy="look at the phases above; leave out --fail-if-worse to end with 0.",
        )
