"""What the commands on studies share: their arguments, and how a study is loaded."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.study.plan import Plan
    from windtunnel.testbeds.base import Testbed

DEFAULT_FOLDER = Path("windtunnel-results")

Study = Annotated[str, typer.Argument(help="Study file, or the name of one in the catalogue.")]
Hadoop = Annotated[str | None, typer.Option(help="Release line of Hadoop: 3.5 or 3.4.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the cluster of every treatment."),
]


Open = Annotated[
    bool,
    typer.Option(
        "--open-to-local-accounts",
        help="As root, where nothing keeps other accounts out of the cluster: start it all the "
        "same. They can then run programs as root.",
    ),
]


def load(study: str, changes: list[str] | None, hadoop: str | None) -> Plan:
    """The plan of a study file or of the catalogue's, with the changes of the command line."""
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    return make_plan(*load_study(study), overrides_of(changes, hadoop))


def testbed_of(plan: Plan, logs: Path) -> Testbed:
    """The testbed of a plan."""
    from windtunnel.testbeds import make_testbed

    return make_testbed(plan.testbed, logs, lambda text: None, plan.scale)


def overrides_of(changes: list[str] | None, hadoop: str | None) -> dict[str, Any]:
    """Changes of the cluster from the command line: path -> value."""
    from windtunnel.cluster import parse_assignment

    found = dict(parse_assignment(change) for change in changes or [])
    if hadoop is not None:
        if hadoop not in ("3.4", "3.5"):
            raise UsageError(f"--hadoop {hadoop}: no such release line", remedy="use 3.5 or 3.4.")
        found["software.hadoop"] = hadoop
    return found
