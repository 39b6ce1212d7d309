"""``size``: the cheapest cluster that reaches a time."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import sys
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.options import Study, print_found
from windtunnel.cli.predict import FitFile
from windtunnel.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel size sizing --within '30 min'")(size)


def size(
    study: Study,
    within: Annotated[
        str, typer.Option(metavar="TIME", help="Time of all phases of all workloads.")
    ],
    budget: Annotated[
        str | None, typer.Option(metavar="PRICE", help="Largest price of the hosts: '250000 USD'.")
    ] = None,
    power: Annotated[
        str | None, typer.Option(metavar="POWER", help="Largest peak power of the hosts: '12 kW'.")
    ] = None,
    probability: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="Probability of the time.")
    ] = 0.9,
    fit_file: FitFile = None,
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the Pareto front as SVG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Predict every treatment of a study and list those that reach a time, the cheapest first.

    The factors of the study are the choices: numbers of hosts, processors, disks, NICs with their
    prices. Nothing is started.
    """
    from windtunnel.analysis.prediction.sizing import Candidate, Goal, sized
    from windtunnel.cli.predict import fit_of
    from windtunnel.cluster.quantity import (
        QuantityError,
        parse_duration,
        parse_power,
        parse_price,
    )
    from windtunnel.report.sizing import sizing_text, write_front
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    try:
        goal = Goal(
            parse_duration(within),
            probability,
            None if budget is None else parse_price(budget),
            None if power is None else parse_power(power),
        )
    except QuantityError as error:
        raise UsageError(str(error), remedy="for example: --within '30 min'") from None
    plan = make_plan(*load_study(study, any_testbed=True))
    candidates = [
        Candidate(
            ", ".join(one.levels.values()) or one.id,
            plan.cluster_of(one),
            {name: plan.parameters_of(name, one) for name in plan.workloads},
        )
        for one in plan.treatments
    ]
    found = sized(candidates, goal, fit_of(fit_file))
    if chart is not None:
        write_front(found, chart)
        print(f"wrote {chart}", file=sys.stderr)
    print_found(found, sizing_text(found), as_json=as_json)
