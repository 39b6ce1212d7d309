"""``compare``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.cli.options import refuse_without_valid
from windtunnel.errors import NotComparableError, UsageError, WorseError

if TYPE_CHECKING:
    from windtunnel.analysis.compare import Comparison

Folders = Annotated[
    list[str],
    typer.Argument(
        help="Results folders, or published:NAME; the first one is the reference.",
        metavar="A B...",
    ),
]
Matching = Annotated[
    Literal["treatment", "workload"],
    typer.Option(
        "--match",
        help="Which treatments are compared: those with equal levels ('treatment'), or the only "
        "treatment of each workload, whatever its levels are ('workload').",
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REASON-ID",
        help="Compare although Windtunnel refuses for this reason; repeatable; default: none.",
        show_default=False,
    ),
]
History = Annotated[
    bool,
    typer.Option(
        "--history",
        help="Compare the last folder with the spread of all folders before it (two or more).",
    ),
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
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the comparison as one self-contained HTML page."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse", help="End with exit code 11 if a total elapsed time is worse."
        ),
    ] = False,
) -> None:
    """Compare results folders with a reference, and report which times differ.

    The verdicts are better, worse and not distinguishable.

    The command refuses to compare folders with different conditions, and prints the reasons.
    """
    from rich.console import Console

    from windtunnel.analysis.compare import compare
    from windtunnel.published import open_results
    from windtunnel.report.comparison import print_comparison, to_json

    allowed = _checked(folders, allow or [], history)
    named = [(name, open_results(name)) for name in folders]
    for name, results in named:
        refuse_without_valid(name, results)
    found = compare(named, by=match, allowed=allowed, history=history)
    if html is not None:
        from windtunnel.report.comparison_page import write_page  # charts: a second to import

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
        needed = "two earlier runs and a new one" if history else "two results folders"
        raise UsageError(
            f"compare needs at least {needed}, got {len(folders)}",
            remedy="run windtunnel compare REFERENCE OTHER ..., or "
            "windtunnel compare EARLIER EARLIER ... NEW --history.",
        )
    places = [str(Path(name).resolve()) for name in folders]
    for name, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"{name} is given twice", remedy="specify each results folder once.")
    for reason in allow:
        if reason not in REFUSAL_IDS:
            raise UsageError(
                f"--allow {reason}: unknown reason", remedy=f"use one of: {', '.join(REFUSAL_IDS)}."
            )
    return allow


def _end(found: Comparison, fail_if_worse: bool) -> None:
    """Raise the error of a refused comparison, or else that of a worse result."""
    reasons = {r.id: r for pair in found.refused for r in pair.refused}
    if reasons:
        names = ", ".join(pair.other for pair in found.refused)
        can = [f"--allow {r.id}" for r in reasons.values() if r.overridable]
        fixed = len(can) < len(reasons)
        advice = "measure both under the same conditions"
        if can and not fixed:
            advice += f"; or add {' '.join(can)}, and the output notes the difference"
        raise NotComparableError(
            f"{names} not compared: {', '.join(reasons)} (see above)", remedy=f"{advice}."
        )
    if fail_if_worse and found.worse:
        cells = "; ".join(f"{c.workload} at {c.name}" for c in found.worse)
        raise WorseError(
            f"total elapsed time is longer than in the reference: {cells}",
            remedy="see the phases above; without --fail-if-worse the exit code is 0.",
        )
