"""``calibrate``: is what a testbed shapes as it is set?"""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import Changes, Hadoop, load
from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.hosts.fabric.plan import FabricPlan
    from windtunnel.results.calibration import CalibrationRecord
    from windtunnel.testbeds.scaled.calibrate import Progress

_DEFAULT = "model-3"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel calibrate scaled my-study.yaml")(calibrate)


def calibrate(
    testbed: Annotated[str, typer.Argument(help="The testbed that shapes: scaled.")],
    study: Annotated[
        str | None,
        typer.Argument(
            help="Study whose rates are measured, of all its treatments; left out: those of the "
            "cluster model-3, and some of each kind."
        ),
    ] = None,
    set_: Changes = None,
    hadoop: Hadoop = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Measure every shaped part of a scale model against what it is set to.

    The exit code is 4 if a part is more than 10 % off. Needs root on Linux.
    """
    from rich.console import Console

    from windtunnel.testbeds.scaled import calibrate as tunnel
    from windtunnel.testbeds.scaled.calibrations import keep

    if testbed != "scaled":
        raise UsageError(
            f"the testbed '{testbed}' shapes nothing that could be calibrated",
            remedy="use: windtunnel calibrate scaled.",
        )
    plans = _plans(study, set_, hadoop)
    tunnel.refuse_without_rights()
    with _progress(Console(stderr=True)) as progress:
        record = tunnel.calibrate(plans, progress)
    keep(plans, record)
    if as_json:
        json.dump(record.model_dump(mode="json", by_alias=True), sys.stdout, indent=1)
        print()
    else:
        _print(record)
    tunnel.refuse_if_off(record)


def _plans(study: str | None, changes: list[str] | None, hadoop: str | None) -> list[FabricPlan]:
    """What the treatments of a study, or else the sweep, are shaped to."""
    from windtunnel.cli.options import overrides_of
    from windtunnel.cluster import apply_overrides, load_cluster
    from windtunnel.testbeds.scaled.calibrate import sweep
    from windtunnel.testbeds.scaled.calibrations import distinct
    from windtunnel.testbeds.scaled.fabric import fabric_plan
    from windtunnel.testbeds.scaled.scale import FULL_SIZE

    if study is None:
        cluster = apply_overrides(load_cluster(_DEFAULT), overrides_of(changes, hadoop))
        return distinct(sweep(fabric_plan(cluster, FULL_SIZE)))
    plan = load(study, changes, hadoop)
    if plan.scale is None:
        raise UsageError(
            f"study '{plan.name}' runs on the testbed '{plan.testbed}', which shapes nothing",
            remedy="give a study with 'testbed: scaled', or none.",
        )
    scale = plan.scale
    return distinct([fabric_plan(cluster, scale) for cluster in plan.clusters(plan.treatments)])


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line for each stage."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    if not console.is_terminal:
        yield _Plain(console)
        return
    columns = (BarColumn(24), MofNCompleteColumn(), TextColumn("parts ·"), TimeElapsedColumn())
    with Bar(*columns, TextColumn("· {task.description}"), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


class _Plain:
    """Says each stage once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say it, if it is not what was said last."""
        if what != self._last:
            self._console.print(f"{what}: {done} of {total} parts are done", highlight=False)
        self._last = what


def _print(record: CalibrationRecord) -> None:
    from rich.console import Console
    from rich.table import Table

    from windtunnel.analysis.calibration import COLUMNS, HINT, lines, summary

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        words = name in ("part", "state")
        table.add_column(name, justify="left" if words else "right", no_wrap=name != "part")
    for line in lines(record):
        table.add_row(*line.words(), style="bold red" if line.off else None)
    console.print(table)
    for said in (summary(record), f"{HINT}.", *(f"note: {note}" for note in record.notes)):
        console.print(said, markup=False, highlight=False, soft_wrap=True)
