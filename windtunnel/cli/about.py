"""``catalogue``, ``doctor``, ``setup``, ``version``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
from typing import Annotated

import typer

from windtunnel import __version__
from windtunnel.errors import UsageError

KINDS = {"study": "studies", "cluster": "clusters", "bundle": "bundles"}

catalogue = typer.Typer(
    help="What ships with the program: studies, clusters, bundles of settings, workloads.",
    epilog="Example: windtunnel catalogue show study demo",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(catalogue, name="catalogue")
    app.command(epilog="Example: windtunnel doctor")(doctor)
    app.command(epilog="Example: windtunnel setup --hadoop 3.4")(setup)
    app.command()(version)


@catalogue.command(name="list")
def list_entries() -> None:
    """List everything in the catalogue."""
    from windtunnel.published import published_names
    from windtunnel.study.file import catalogue_names
    from windtunnel.workloads import WORKLOADS

    for kind, folder in KINDS.items():
        print(f"{kind}: {', '.join(catalogue_names(folder))}")
    print(f"published: {', '.join(published_names())}")
    print("workload:")
    for name, workload in WORKLOADS.items():
        print(f"  {name}: {workload.summary}")


@catalogue.command()
def show(
    kind: Annotated[str, typer.Argument(help="study, cluster or bundle.")],
    name: Annotated[str, typer.Argument(help="Its name.")],
) -> None:
    """Print an entry, ready to copy and edit."""
    from windtunnel.study.file import catalogue_text

    if kind not in KINDS:
        raise UsageError(f"no kind '{kind}'", remedy=f"use one of: {', '.join(KINDS)}.")
    print(catalogue_text(KINDS[kind], name), end="")


@catalogue.command(epilog="Example: windtunnel catalogue workloads terasort")
def workloads(
    names: Annotated[list[str] | None, typer.Argument(help="Some of them; none: all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Describe workloads: what they stress, parameters with defaults, metrics, an example."""
    from windtunnel.cli.workloads import described, print_workload
    from windtunnel.workloads import WORKLOADS, find_workload

    chosen = {name: find_workload(name) for name in names or WORKLOADS}
    if as_json:
        print(json.dumps([described(name, kind) for name, kind in chosen.items()], indent=1))
        return
    for place, (name, kind) in enumerate(chosen.items()):
        print("\n" if place else "", end="")
        print_workload(described(name, kind))


@catalogue.command()
def schema(
    kind: Annotated[str, typer.Argument(help="study, cluster, or the name of a workload.")],
) -> None:
    """Print the JSON Schema of the study file, of clusters or of a workload's parameters."""
    from windtunnel.cluster import cluster_schema
    from windtunnel.study.file import StudyFile
    from windtunnel.workloads import WORKLOADS

    if kind == "cluster":
        found = cluster_schema()
    elif kind == "study":
        found = StudyFile.model_json_schema()
    elif kind in WORKLOADS:
        found = WORKLOADS[kind].parameters_type.model_json_schema()
    else:
        known = ", ".join(["study", "cluster", *WORKLOADS])
        raise UsageError(f"no schema of '{kind}'", remedy=f"use one of: {known}.")
    print(json.dumps(found, indent=1))


def doctor() -> int:
    """Tell what this machine can and cannot do, and how to mend it."""
    from windtunnel.cli.checkup import checkup

    mark = {True: "yes ", False: "NO  ", None: "note"}
    found = checkup()
    for item in found:
        print(f"{mark[item.good]} {item.what}: {item.detail}")
        if item.remedy:
            print(f"       what to do: {item.remedy}")
    return 4 if any(item.good is False for item in found) else 0


def setup(hadoop: Annotated[str, typer.Option(help="Release line: 3.5 or 3.4.")] = "3.5") -> None:
    """Fetch and verify Hadoop ahead of its first use."""
    from rich.console import Console

    from windtunnel.engines.hadoop import lines
    from windtunnel.engines.progress import progress_for

    software, artifacts, java = lines.load(hadoop, progress_for(Console(stderr=True)))
    size = sum(jar.path.stat().st_size for jar in artifacts.jars)
    print(f"Hadoop {software.version}: {len(artifacts.jars)} jars, {size / 1e6:.0f} MB, verified")
    print(f"Java {java.version} ({java.source})")


def version() -> None:
    """Print the version and, in a checkout, the commit."""
    from windtunnel.probes.machine import own_commit

    print(f"windtunnel {__version__} ({own_commit()})")
