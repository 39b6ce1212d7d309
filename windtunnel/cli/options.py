"""Arguments that several commands on studies have, and functions that load a study."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.errors import ResultsError, UsageError

if TYPE_CHECKING:
    from windtunnel.analysis.prediction.points import AsRun, Found
    from windtunnel.results.folder import Results
    from windtunnel.results.record import StudyRecord
    from windtunnel.study.plan import Plan
    from windtunnel.testbeds import AnyTestbed

DEFAULT_FOLDER = Path("windtunnel-results")

Study = Annotated[str, typer.Argument(help="Study file, or name of a study in the catalogue.")]
Hadoop = Annotated[
    str | None,
    typer.Option(
        metavar="LINE",
        help="Release line of Hadoop, 3.5 or 3.4; default: that of the cluster description.",
        show_default=False,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value of the cluster description for all treatments; repeatable; "
        "default: no change.",
        show_default=False,
    ),
]


Open = Annotated[
    bool,
    typer.Option(
        "--open-to-local-accounts",
        help="As root: start the cluster although it cannot be isolated from other accounts, "
        "which can then run programs as root.",
    ),
]


def load(study: str, changes: list[str] | None, hadoop: str | None) -> Plan:
    """The plan of a study file or catalogue study, with the changes of the command line."""
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    return make_plan(*load_study(study), overrides_of(changes, hadoop))


def testbed_of(plan: Plan, logs: Path) -> AnyTestbed:
    """The testbed of a plan."""
    from windtunnel.testbeds import make_testbed

    return make_testbed(plan.testbed_options, logs, lambda text: None)


def print_found(data: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the result of a command: its data as JSON, or its lines.

    Raises
    ------
    ResultsError
        If a number is not finite: JSON has no such numbers.
    """
    if as_json:
        try:
            print(json.dumps(data, indent=1, allow_nan=False))
        except ValueError:
            raise ResultsError(
                "a number of the result is not finite, and JSON has no such numbers",
                remedy="print text: remove --json.",
            ) from None
        return
    for line in lines:
        print(line)


def refuse_both(options: Mapping[str, bool]) -> None:
    """Refuse several options of which only one can be used.

    Raises
    ------
    UsageError
        More than one option is given.
    """
    given = [name for name, used in options.items() if used]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", remedy="use one of them.")


def refuse_same_file(files: Mapping[str, Path | None]) -> None:
    """Refuse options that would write to the same file; devices and pipes are possible.

    Raises
    ------
    UsageError
        Two options name the same file.
    """
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None or (path.exists() and not path.is_file()):
            continue
        other = seen.setdefault(path.resolve(), name)
        if other != name:
            raise UsageError(
                f"{other} and {name} are the same file: {path}", remedy="specify two files."
            )


def check_chart(path: Path | None) -> None:
    """Refuse a folder, and a file for a chart whose name does not end with ``.svg``.

    Raises
    ------
    UsageError
        A folder, or another ending.
    """
    if path is None:
        return
    if not path.name or path.is_dir():
        raise UsageError(
            f"--chart {path}: it is a folder", remedy="specify a file: --chart chart.svg"
        )
    if path.suffix.lower() != ".svg":
        raise UsageError(
            f"--chart {path}: the chart is an SVG file",
            remedy=f"for example: --chart {path.with_suffix('.svg')}",
        )


def refuse_without_valid(name: str, results: Results) -> None:
    """Refuse a results folder without a valid trial; ``name`` is the folder as given.

    Raises
    ------
    ResultsError
        The folder has no valid trial.
    """
    trials = [trial for trial in results.trials if not trial.warmup]
    if not trials:
        raise ResultsError(f"{name} has no trial", remedy="run its study first.")
    if not any(trial.verdict.valid for trial in trials):
        raise ResultsError(
            f"{name} has no valid trial ({len(trials)} invalid)",
            remedy=f"'windtunnel report {name}' prints the reasons.",
        )


def points_of(results: Results) -> Found:
    """The points of a results folder for the physics model, as their testbed ran them."""
    from windtunnel.analysis.prediction import points

    return points.points_of(results, as_run(results.study))


def as_run(study: StudyRecord) -> AsRun | None:
    """A function that returns the part of a described cluster that ran; None: all of it."""
    from windtunnel.cluster import without_hardware
    from windtunnel.testbeds import TESTBEDS, parse_options

    kind = TESTBEDS.get(study.testbed)
    if kind is not None and kind.one_machine:
        return lambda cluster: (without_hardware(cluster), 1.0)
    if kind is None or study.scale is None:
        return None
    return partial(kind.as_run, parse_options(study.testbed, study.testbed_options))


def assignments(changes: Iterable[str]) -> list[tuple[str, Any]]:
    """The paths and values of ``--set PATH=VALUE``.

    Raises
    ------
    UsageError
        If a value is missing; the shell removes the value of ``--set PATH=$UNSET``.
    DescriptionError
        If a text is no assignment.
    """
    from windtunnel.cluster import parse_assignment

    found = []
    for change in changes:
        path, equals, value = change.partition("=")
        if equals and path.strip() and not value.strip():
            raise UsageError(
                f"--set {change}: the value is missing",
                remedy=f"write --set {path}=VALUE; null makes a value unknown.",
            )
        found.append(parse_assignment(change))
    return found


def overrides_of(changes: list[str] | None, hadoop: str | None) -> dict[str, Any]:
    """Changes of the cluster from the command line: path -> value.

    Raises
    ------
    UsageError
        If a change is one of the study, not of the cluster, or has no value, or the release line
        is unknown.
    """
    from windtunnel.cluster import Cluster
    from windtunnel.study.file import StudyFile

    found = dict(assignments(changes or []))
    for path in found:
        first = path.split(".")[0]
        if first in StudyFile.model_fields and first not in Cluster.model_fields:
            raise UsageError(
                f"--set changes only the cluster description, and '{path}' is a key of the study",
                remedy="change it in the study file, or make it a factor.",
            )
    if hadoop is not None:
        if hadoop not in ("3.4", "3.5"):
            raise UsageError(f"--hadoop {hadoop}: unknown release line", remedy="use 3.5 or 3.4.")
        found["software.hadoop"] = hadoop
    return found
