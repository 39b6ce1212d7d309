"""``size``: the cheapest cluster that reaches a time."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from windtunnel.cli.options import assignments, check_chart, print_found
from windtunnel.cli.predict import FitFile
from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.analysis.prediction.sizing import Candidate, Goal
    from windtunnel.cluster import Money

T = TypeVar("T")
DEFAULT_PARTS = "servers-2014"
LEAST_CHANCE, MOST_CHANCE = 0.01, 0.999  # of meeting the time limit


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

    check_chart(chart)
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

    _check_probability(probability)
    examples = {"--within": "30 min", "--budget": "250000 USD", "--power": "12 kW"}

    def parsed(option: str, text: str, parse: Callable[[str], T]) -> T:
        try:
            return parse(text)
        except QuantityError as error:
            raise UsageError(
                f"{option}: {error}", remedy=f"for example: {option} '{examples[option]}'"
            ) from None

    goal = Goal(
        parsed("--within", within, parse_duration),
        probability,
        None if budget is None else parsed("--budget", budget, _price),
        None if power is None else parsed("--power", power, parse_power),
    )
    limit = None if goal.budget is None else goal.budget.amount
    for option, text, value in (
        ("--within", within, goal.within_s),
        ("--budget", budget, limit),
        ("--power", power, goal.power_w),
    ):
        if value is not None and not 0.0 < value < math.inf:
            raise UsageError(
                f"{option} '{text}': must be more than 0",
                remedy=f"for example: {option} '{examples[option]}'",
            )
    return goal


def _check_probability(value: float) -> None:
    if not LEAST_CHANCE <= value <= MOST_CHANCE:
        given = value / 100.0
        percent = value > 1.0 and LEAST_CHANCE <= given <= MOST_CHANCE
        given = given if percent else 0.9
        raise UsageError(
            f"--probability {value:g}: must be from {LEAST_CHANCE} to {MOST_CHANCE}",
            remedy=f"for {100.0 * given:g} %: --probability {given:g}",
        )


def _price(text: str) -> Money:
    """A price; a plain number is in the currency of the candidates."""
    from windtunnel.cluster.quantity import Money, parse_price

    number = text.replace(",", "").strip()
    return Money(float(number), "") if number.isdigit() else parse_price(text)


def _of_study(study: str) -> list[Candidate]:
    """The treatments of a study."""
    from windtunnel.analysis.prediction.described import phases_of
    from windtunnel.analysis.prediction.sizing import Candidate
    from windtunnel.cli.predict_checks import modelled
    from windtunnel.study.check import refusals
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    testbed = modelled()
    plan = make_plan(*load_study(study, any_testbed=True))
    for name, parameters in plan.workloads.items():
        phases_of(name, parameters)
    plan = replace(plan, testbed_options=testbed.options)
    refused = refusals(plan, testbed)
    return [
        Candidate(
            ", ".join(one.levels.values()) or one.id,
            plan.cluster_of(one),
            {name: plan.parameters_of(name, one) for name in plan.workloads},
            refused[one.id],
        )
        for one in plan.treatments
    ]


def _of_parts(source: str, workloads: list[str], changes: list[str]) -> list[Candidate]:
    """All combinations of a parts file."""
    from windtunnel.analysis.prediction.described import check_values, phases_of
    from windtunnel.cli.predict import INSTEAD, WORKLOAD_PATH, split_changes
    from windtunnel.cli.predict_checks import problems
    from windtunnel.cluster import apply_overrides
    from windtunnel.errors import DescriptionError
    from windtunnel.study.parts import candidates, load_parts, set_by
    from windtunnel.study.plan import make_workload
    from windtunnel.workloads import WORKLOADS

    found, cluster = load_parts(source)
    wanted = workloads or list(found.workloads)
    if not wanted:
        raise UsageError(f"{source} has no workloads", remedy="add --workload NAME.")
    given = {name: dict(found.workloads.get(name, {})) for name in wanted}
    written = {name: dict(parameters) for name, parameters in given.items()}
    own = split_changes(changes, given)
    for path in own:
        if set_by(found, path):
            raise UsageError(
                f"--set {path}: the parts file sets {path}",
                remedy=f"change the counts and the parts of {source}, or remove --set.",
            )
    assigned = dict(assignments(changes))
    for path, value in assigned.items():
        _, _, rest = path.partition(WORKLOAD_PATH)
        name, _, parameter = rest.partition(".")
        if name in written:
            written[name][parameter] = value
            written[name].pop(INSTEAD.get(parameter, ""), None)
    made = []
    for name, parameters in written.items():
        try:
            made.append(make_workload(name, parameters))
        except DescriptionError as error:
            below = error.key if name in WORKLOADS else None
            missing = below is not None and below not in parameters
            if missing or not error.remedy:
                error.remedy = f"set workloads.{name}.PARAMETER=VALUE with --set, or in {source}."
            error.key = f"workloads.{name}" + (f".{below}" if below else "")
            of_file = name in found.workloads and error.key not in assigned
            raise found.placed(error) if of_file else error from None
    for name, parameters in given.items():
        phases_of(name, parameters)
    changed = apply_overrides(cluster, own)
    check_values(changed)
    return [
        replace(one, refused=problems(one.cluster, made, given))
        for one in candidates(found, changed, given)
    ]
