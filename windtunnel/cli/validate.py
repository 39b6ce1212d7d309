"""``validate``: models of a small cluster predict its ratios, and the errors are reported."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import DEFAULT_FOLDER
from windtunnel.cli.studies import Results, conduct
from windtunnel.errors import ResultsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windtunnel.study.plan import Plan

DEFAULT = "model-of-a-model"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel validate TESTBED --results validation")(validate)


def validate(
    testbed: Annotated[str, typer.Argument(help="Testbed whose models are validated.")],
    study: Annotated[str, typer.Argument(help="Study of the reference.")] = DEFAULT,
    results: Results = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Model that is validated (repeatable; default: all)."),
    ] = None,
    core_speed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=VALUE",
            help="Work of a core in a model, relative to the reference. The report prints the "
            "value with which the CPUs of the model do the same work.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, help="Rounds of each study; default: those of the study."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Report the present results; start nothing.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the validation as one self-contained HTML page."
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Print all rows of the table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Compare the ratios of scale models with those of a reference.

    The command runs or resumes the studies in sub-folders and reports them: first one round of each
    study, then the next round. Invalid trials are repeated. The report also lists the
    published ratios and those that the physics model predicts at full size.
    """
    from rich.console import Console

    from windtunnel.analysis.subjects.validation import predictions
    from windtunnel.analysis.subjects.work import wanted_core_speeds, work
    from windtunnel.published.side_by_side import side_by_side
    from windtunnel.report.validation import Validation, print_validation, to_json
    from windtunnel.results.folder import read_results

    speeds = _core_speeds(core_speed or [])
    plans = _plans(testbed, study, rounds, speeds, model or [])
    folder = results or DEFAULT_FOLDER / next(iter(plans.values())).name
    again = ["windtunnel", "validate", testbed, study, "--results", str(folder)]
    again += ["--rounds", str(rounds)] if rounds else []
    again += [word for one in model or [] for word in ("--model", one)]
    again += [word for one in core_speed or [] for word in ("--core-speed", one)]
    if not report:
        _run_rounds(plans, folder, again)
    reference, *models = plans
    present = [name for name in plans if (folder / name / "study.json").is_file()]
    if reference not in present:
        raise ResultsError(
            f"{folder} has no results of the reference",
            remedy=f"run: {shlex.join(again)}",
        )
    measured = read_results(folder / reference)
    others = {name: read_results(folder / name) for name in models if name in present}
    missing = [
        name
        for name, plan in plans.items()
        if not _complete(plan, folder / name, plan.protocol.rounds)
    ]
    rows = work(measured, others)
    made = Validation(
        testbed,
        predictions(measured, others),
        rows,
        wanted_core_speeds(rows, measured, others),
        side_by_side(measured),
        missing,
    )
    if html is not None:
        from windtunnel.report.validation_page import write_page  # charts: a second to import

        write_page(made, f"Models of {plans[reference].name}", html)
        print(f"wrote {html}", file=sys.stderr)
    if as_json:
        json.dump(to_json(made), sys.stdout, indent=1)
        print()
    else:
        print_validation(made, Console(), full=full)


def _core_speeds(given: list[str]) -> dict[str, float]:
    """The values of ``--core-speed`` by model; raises UsageError."""
    found: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = 0.0
        if not 0 < found[name] < float("inf"):
            raise UsageError(
                f"--core-speed {text}: this is not a model with a number above 0",
                remedy="write MODEL=VALUE, such as model-1-2=0.75.",
            )
    return found


def _plans(
    testbed: str,
    study: str,
    rounds: int | None,
    speeds: Mapping[str, float],
    chosen: Sequence[str],
) -> dict[str, Plan]:
    """The plans of the reference and of its models, by sub-folder."""
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan
    from windtunnel.testbeds import find_testbed

    kind = find_testbed(testbed)
    file, located = load_study(study)
    studies = kind.validation(file.testbed, speeds) if file.testbed.kind == testbed else None
    if studies is None:
        raise UsageError(
            f"study '{file.study}' on the testbed '{file.testbed.kind}' cannot validate models of "
            f"the testbed '{testbed}'",
            remedy="specify a testbed of scale models, and a study for it.",
        )
    models = [one.folder for one in studies[1:]]
    for option, names in (("--model", chosen), ("--core-speed", speeds)):
        if unknown := [name for name in names if name not in models]:
            raise UsageError(
                f"{option}: there is no model '{unknown[0]}'",
                remedy=f"use one of: {', '.join(models)}.",
            )
    studies = [studies[0], *(one for one in studies[1:] if not chosen or one.folder in chosen)]
    protocol = file.protocol.model_copy(update={"rounds": rounds} if rounds else {})
    return {
        one.folder: make_plan(
            file.model_copy(update={"testbed": one.options, "protocol": protocol}), located
        )
        for one in studies
    }


def _run_rounds(plans: dict[str, Plan], folder: Path, again: list[str]) -> None:
    """Run the missing trials: one round of each study after the other.

    Each study then has trials when the command is interrupted, and a change of the machine during
    the command affects all studies.
    """
    rounds = max(plan.protocol.rounds for plan in plans.values())
    passes = [(number, name) for number in range(1, rounds + 1) for name in plans]
    for number, name in passes:
        more = number == rounds and _may_have_more_rounds(plans[name])
        if more or not _complete(plans[name], folder / name, number):
            print(f"{name}: round {number} of {rounds}", file=sys.stderr)
            conduct(
                plans[name],
                folder / name,
                again,
                retry_invalid=True,
                last_round=number if number < rounds else None,
                more=(number, name) != passes[-1],
            )


def _may_have_more_rounds(plan: Plan) -> bool:
    """Whether rounds can follow from the results: extra ones, or those of a decision."""
    return plan.protocol.extra_rounds > 0 or plan.protocol.detect is not None


def _complete(plan: Plan, folder: Path, rounds: int) -> bool:
    """Whether a folder has an answer for each slot of the first ``rounds`` rounds."""
    from windtunnel.results.folder import read_results

    if not (folder / "study.json").is_file():
        return False
    valid = {t.id.removesuffix(f"-a{t.attempt}") for t in read_results(folder).trials if t.answers}
    slots = (slot for n in range(rounds) for slot in plan.round_slots(n + 1))
    return all(slot.id in valid for slot in slots)
