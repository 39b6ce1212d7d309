"""``review`` and ``import table``: checks of published results, import of spreadsheets."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.analysis.formatting import plural
from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from windtunnel.published.mapping import Map
    from windtunnel.published.review import Review


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel review published:cisco-2014")(review)


def review(
    source: Annotated[str, typer.Argument(help="published:NAME, or a results folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check the arithmetic and the method of a study; print the stated and the computed numbers."""
    from windtunnel.published.review import open_case
    from windtunnel.published.review import review as review_case

    found = review_case(open_case(source))
    if as_json:
        json.dump(found.to_json(), sys.stdout, indent=1)
        print()
        return
    _print(found)


def _print(found: Review) -> None:
    from rich.console import Console

    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    for point in found.points:
        say(f"{point.severity}: {point.subject}  [{point.check}]")
        if point.stated:
            say(f"  stated: {point.stated}\n          {point.stated_source}")
            say(f"  found:  {point.found}\n          {point.found_source}")
        say(f"  means:  {point.means}\n")
    if found.energy:
        console.print(_energy(found), markup=False)
    counts = [
        f"{sum(point.severity == severity for point in found.points)} {severity}"
        for severity in dict.fromkeys(point.severity for point in found.points)
    ]
    total = len(found.points)
    more = f" ({', '.join(counts)})" if counts else ""
    say(f"{found.study}: {total} point{'' if total == 1 else 's'}{more}")


def _energy(found: Review) -> RichTable:
    """The table of stated and recomputed energies."""
    from rich.table import Table as RichTable

    table = RichTable(title="Energy, kWh: as stated and recomputed", title_justify="left")
    for name in ("treatment", "stated", "W x h", "jobs, metered", "hours stated", "hours of jobs"):
        table.add_column(name, justify="left" if name == "treatment" else "right")
    for row in found.energy:
        jobs = "unknown" if row.jobs is None else f"{row.jobs:.2f}"
        hours = (f"{row.hours:g}", f"{row.job_hours:.2f}")
        name = f"{row.treatment} {row.label}"
        table.add_row(name, f"{row.stated:.2f}", f"{row.product:.2f}", jobs, *hours)
    return table


def import_(
    csv: Annotated[
        Path, typer.Argument(help="CSV file with one row per run, or per run and phase.")
    ],
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Results folder to create; required.")
    ],
    map_: Annotated[
        list[str],
        typer.Option(
            "--map",
            metavar="MAP.yaml or COLUMN=ROLE",
            help="Meaning of the columns: a map file, or one option per column with its role: "
            "workload, phase, round, treatment, factor, start, finish or metric:NAME:UNIT; "
            "required. The order is the reverse of that of 'windtunnel power'.",
        ),
    ],
) -> None:
    """Convert a spreadsheet to a results folder, for report, compare and review."""
    from windtunnel.published.sources import import_csv
    from windtunnel.published.store import write_results

    mapped, text, folder = _map(map_)
    for note in _misspelt(mapped.metrics):
        print(f"note: {note}", file=sys.stderr)
    built = import_csv(csv, mapped, csv.stem, text, folder)
    write_results(built, results)
    treatments, trials = len(built.study.treatments), len(built.trials)
    print(
        f"{results}: {plural(trials, 'trial')} of {plural(treatments, 'treatment')}; "
        f"windtunnel report {results}"
    )


def _misspelt(names: Iterable[str]) -> Iterator[str]:
    """A note for each name that is not a metric of Windtunnel, but nearly the name of one."""
    from difflib import get_close_matches

    import windtunnel.probes.registry
    import windtunnel.workloads  # noqa: F401
    from windtunnel.analysis.observations import ELAPSED
    from windtunnel.results.metrics import CATALOGUE

    known = [ELAPSED, *(one.name for one in CATALOGUE.names("phase") + CATALOGUE.names("trial"))]
    for name in names:
        near = get_close_matches(name, known, n=1, cutoff=0.8)
        if near and name not in known and CATALOGUE.find(name) is None:
            yield f"'{name}' is not a metric of Windtunnel; did you mean '{near[0]}'?"


def _map(given: list[str]) -> tuple[Map, str, Path]:
    """The map, its text and the folder of the files that it names."""
    from windtunnel.published.mapping import map_from_roles
    from windtunnel.published.sources import read_map

    files = [text for text in given if "=" not in text]
    if len(files) == 1 and len(given) == 1:
        path = Path(files[0])
        return *read_map(path), path.parent
    if files:
        raise UsageError(
            f"--map {files[0]}: a map file excludes other --map options",
            remedy="use one map file, or only COLUMN=ROLE options.",
        )
    return map_from_roles(given), "\n".join(f"# --map {text}" for text in given) + "\n", Path()
