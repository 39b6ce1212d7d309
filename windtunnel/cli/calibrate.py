"""``calibrate``: it measures the limits of a testbed, or fits the physics model."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import Changes, Hadoop, Open, load
from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.cluster import Cluster
    from windtunnel.results.calibration import CalibrationRecord
    from windtunnel.testbeds.base import Progress, TestbedOptions

_DEFAULT = "model-3"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel calibrate local")(calibrate)


def calibrate(
    testbed: Annotated[
        str, typer.Argument(help="Testbed; 'windtunnel catalogue testbeds' lists them.")
    ],
    study: Annotated[
        str | None,
        typer.Argument(
            help="Scale models: the study whose rates are measured, for all its treatments; "
            "default: the rates of the cluster model-3 and typical rates of each kind of resource. "
            "Other testbeds: the study to which the physics model is fitted; default on local: "
            "calibration.",
            show_default=False,
        ),
    ] = None,
    set_: Changes = None,
    hadoop: Hadoop = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Not for scale models: results folder; default: a folder in windtunnel-results, "
            "which is printed.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Not for scale models: file of the fit; default: fit.json in the results folder.",
            show_default=False,
        ),
    ] = None,
    open_: Open = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the limits of scale models, or fit the physics model to a cluster.

    For scale models, the command measures the actual rate of each limited resource. It requires
    root on Linux. The exit code is 4 if a resource deviates by more than 10 % from its set rate.

    On `local` and `attached`, it runs a small study, which can be resumed, and fits the constants
    of the physics model to it.
    """
    from rich.console import Console

    from windtunnel.testbeds import find_testbed

    kind = find_testbed(testbed)
    if kind.fits_model:
        from windtunnel.cli.calibrate_model import calibrate_model

        fitted = study or kind.calibration_study
        if fitted is None:
            raise UsageError(
                f"a calibration on the testbed '{testbed}' needs a study with this testbed",
                remedy="specify a study of several sizes of terasort, dfsio and pi; to print one: "
                "windtunnel catalogue show study calibration",
            )
        again = ["windtunnel", "calibrate", testbed, *([study] if study else [])]
        calibrate_model(
            testbed,
            fitted,
            again,
            results=results,
            out=out,
            changes=set_,
            hadoop=hadoop,
            permit_open=open_,
            as_json=as_json,
        )
        return
    clusters, options = _what(testbed, study, set_, hadoop)
    with _progress(Console(stderr=True)) as progress:
        record = kind.calibrate(clusters, options, progress)
    if as_json:
        json.dump(record.model_dump(mode="json", by_alias=True), sys.stdout, indent=1)
        print()
    else:
        _print(record)
    record.refuse_if_off()


def _what(
    testbed: str, study: str | None, changes: list[str] | None, hadoop: str | None
) -> tuple[list[Cluster], TestbedOptions | None]:
    """The clusters and options of a study; without a study, the default cluster."""
    from windtunnel.cli.options import overrides_of
    from windtunnel.cluster import apply_overrides, load_cluster

    if study is None:
        return [apply_overrides(load_cluster(_DEFAULT), overrides_of(changes, hadoop))], None
    plan = load(study, changes, hadoop)
    if plan.testbed != testbed:
        raise UsageError(
            f"study '{plan.name}' runs on the testbed '{plan.testbed}', not on '{testbed}'",
            remedy=f"specify a study for the testbed '{testbed}', or no study.",
        )
    return list(plan.clusters(plan.treatments)), plan.testbed_options


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    """A progress bar on a terminal; one line for each stage otherwise."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    if not console.is_terminal:
        yield _Plain(console)
        return
    columns = (BarColumn(24), MofNCompleteColumn(), TextColumn("parts ·"), TimeElapsedColumn())
    now = TextColumn("· {task.description}", markup=False)
    with Bar(*columns, now, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


class _Plain:
    """Prints each stage once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Print the stage if it differs from the previous one."""
        if what != self._last:
            self._console.print(f"{what}: {done} of {total} parts done", highlight=False)
        self._last = what


def _print(record: CalibrationRecord) -> None:
    from rich.console import Console
    from rich.table import Table

    from windtunnel.analysis.subjects.calibration import COLUMNS, HINT, lines, summary

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        words = name in ("part", "state")
        table.add_column(name, justify="left" if words else "right", no_wrap=name != "part")
    for line in lines(record):
        table.add_row(*line.words(), style="bold red" if line.off else None)
    console.print(table, markup=False)
    for said in (summary(record), f"{HINT}.", *(f"note: {note}" for note in record.notes)):
        console.print(said, markup=False, highlight=False, soft_wrap=True)
