"""``size``: the cheapest cluster that reaches a time."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import print_found
from windtunnel.cli.predict import FitFile
from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.analysis.prediction.sizing import Candidate, Goal
    from windtunnel.cluster import Money

DEFAULT_PARTS = "servers-2014"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel size --workload terasort --within '30 min'")(size)


def size(
    within: Annotated[
        str,
        typer.Option(metavar="TIME", help="Time limit for the sum of all phases of all workloads."),
    ],
    study: Annotated[
        str | None,
        typer.Argument(
            help="Study whose treatments are the candidates: a file, or a name of the catalogue. "
            "Default: all combinations of parts.",
            show_default=False,
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"Parts with prices, and numbers of hosts; default: {DEFAULT_PARTS}.",
            show_default=False,
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            help="Workload of the parts file, repeatable; default: all.", show_default=False
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="With parts: a change of the cluster or of a workload: "
            "workloads.terasort.size='2 TB'.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="PRICE", help="Largest price of the hosts: '250000 USD'.")
    ] = None,
    power: Annotated[
        str | None, typer.Option(metavar="POWER", help="Largest peak power of the hosts: '12 kW'.")
    ] = None,
    probability: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.999,
            help="Lowest probability with which a candidate must meet --within.",
        ),
    ] = 0.9,
    fit_file: FitFile = None,
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the Pareto front as SVG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Predict candidate clusters and list those that meet a time limit, the cheapest first.

    The candidates are the combinations of a parts file, or the treatments of a study: numbers of
    hosts, processors, memory, disks, NICs or cloud instances with their prices. Nothing is started.
    """
    from windtunnel.analysis.prediction.sizing import sized
    from windtunnel.cli.predict import fit_of
    from windtunnel.report.sizing import sizing_text, write_front

    goal = _goal(within, probability, budget, power)
    if study is None:
        made = _of_parts(parts or DEFAULT_PARTS, workload or [], changes or [])
    elif parts or workload or changes:
        raise UsageError(
            "a study has its own candidates and workloads",
            remedy="remove the study, or remove --parts, --workload and --set.",
        )
    else:
        made = _of_study(study)
    found = sized(made, goal, fit_of(fit_file))
    if chart is not None:
        write_front(found, chart)
        print(f"wrote {chart}", file=sys.stderr)
    print_found(found, sizing_text(found), as_json=as_json)


def _goal(within: str, probability: float, budget: str | None, power: str | None) -> Goal:
    from windtunnel.analysis.prediction.sizing import Goal
    from windtunnel.cluster.quantity import (
        QuantityError,
        parse_duration,
        parse_power,
    )

    try:
        return Goal(
            parse_duration(within),
            probability,
            None if budget is None else _price(budget),
            None if power is None else parse_power(power),
        )
    except QuantityError as error:
        raise UsageError(
            str(error), remedy="for example: --within '30 min' --budget '250000 USD'"
        ) from None


def _price(text: str) -> Money:
    """A price; a plain number is in the currency of the candidates."""
    from windtunnel.cluster.quantity import Money, parse_price

    number = text.replace(",", "").strip()
    return Money(float(number), "") if number.isdigit() else parse_price(text)


def _of_study(study: str) -> list[Candidate]:
    """The treatments of a study."""
    from windtunnel.analysis.prediction.sizing import Candidate
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    plan = make_plan(*load_study(study, any_testbed=True))
    return [
        Candidate(
            ", ".join(one.levels.values()) or one.id,
            plan.cluster_of(one),
            {name: plan.parameters_of(name, one) for name in plan.workloads},
        )
        for one in plan.treatments
    ]


def _of_parts(source: str, workloads: list[str], changes: list[str]) -> list[Candidate]:
    """All combinations of a parts file."""
    from windtunnel.cli.predict import WORKLOAD_PATH, split_changes
    from windtunnel.cluster import apply_overrides, parse_assignment
    from windtunnel.errors import DescriptionError
    from windtunnel.study.parts import candidates, load_parts
    from windtunnel.study.plan import make_workload

    found, cluster = load_parts(source)
    wanted = workloads or list(found.workloads)
    if not wanted:
        raise UsageError(f"{source} has no workloads", remedy="add --workload NAME.")
    given = {name: dict(found.workloads.get(name, {})) for name in wanted}
    written = {name: dict(parameters) for name, parameters in given.items()}
    own = split_changes(changes, given)
    for path, value in map(parse_assignment, changes):
        _, _, rest = path.partition(WORKLOAD_PATH)
        name, _, parameter = rest.partition(".")
        if name in written:
            written[name][parameter] = value
    for name, parameters in written.items():
        try:
            make_workload(name, parameters)
        except DescriptionError as error:
            error.key = f"workloads.{name}" + (f".{error.key}" if error.key else "")
            error.remedy = f"add --set workloads.{name}.PARAMETER=VALUE, or a line in {source}."
            raise
    return list(candidates(found, apply_overrides(cluster, own), given))
