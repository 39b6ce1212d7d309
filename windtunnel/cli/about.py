"""``catalogue``, ``doctor``, ``setup``, ``version``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
from typing import Annotated

import typer

from windtunnel import __version__
from windtunnel.errors import UsageError

KINDS = {"study": "studies", "cluster": "clusters", "bundle": "bundles", "parts": "parts"}

catalogue = typer.Typer(
    help="Show the studies, clusters, bundles, parts and workloads that Windtunnel includes.",
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
    """List all entries of the catalogue."""
    from windtunnel.published import published_names
    from windtunnel.study.file import catalogue_names
    from windtunnel.workloads import WORKLOADS

    for kind, folder in KINDS.items():
        print(f"{kind}: {', '.join(catalogue_names(folder))}")
    print(f"published: {', '.join(published_names())}")
    print("cluster of a published study: STUDY/TREATMENT, such as cisco-2014/test6")
    print("workload:")
    for name, workload in WORKLOADS.items():
        print(f"  {name}: {workload.summary}")


@catalogue.command()
def show(
    kind: Annotated[str, typer.Argument(help="Kind of entry: study, cluster, bundle or parts.")],
    name: Annotated[str, typer.Argument(help="Name of the entry, from 'catalogue list'.")],
) -> None:
    """Print the YAML file of a catalogue entry."""
    from windtunnel.published.names import cluster_parts
    from windtunnel.study.file import catalogue_text

    if kind not in KINDS:
        raise UsageError(
            f"the catalogue has no kind '{kind}'", remedy=f"use one of: {', '.join(KINDS)}."
        )
    if kind == "cluster" and cluster_parts(name)[0]:
        print(_published_cluster(name), end="")
        return
    print(catalogue_text(KINDS[kind], name), end="")


def _published_cluster(name: str) -> str:
    """A treatment of a published study as YAML, and what the physics model assumes of it."""
    from io import StringIO

    from ruamel.yaml import YAML

    from windtunnel.model.hardware import hardware
    from windtunnel.published.clusters import find_cluster

    cluster = find_cluster(name).cluster
    text = StringIO()
    YAML().dump(cluster.plain(), text)
    unknown = [f"# predictions assume: {line}\n" for line in hardware(cluster).assumed]
    return "".join([text.getvalue(), *unknown])


@catalogue.command(epilog="Example: windtunnel catalogue workloads terasort")
def workloads(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Workloads to describe; default: all.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Describe what workloads stress, their parameters and metrics, with an example of each."""
    from windtunnel.cli.workloads import described, print_workload
    from windtunnel.workloads import WORKLOADS, find_workload

    chosen = {name: find_workload(name) for name in names} if names else dict(WORKLOADS.items())
    if as_json:
        print(json.dumps([described(name, kind) for name, kind in chosen.items()], indent=1))
        return
    for place, (name, kind) in enumerate(chosen.items()):
        print("\n" if place else "", end="")
        print_workload(described(name, kind))


@catalogue.command(epilog="Example: windtunnel catalogue testbeds")
def testbeds() -> None:
    """List the testbeds with their options and the components into which they can inject faults."""
    from windtunnel.testbeds import TESTBEDS

    for name, kind in TESTBEDS.items():
        print(f"{name}: {kind.about}")
        for option, about in kind.options_type.model_fields.items():
            if option != "kind":
                print(f"  option {option}: {about.description}")
        print(f"  faults can be injected into: {', '.join(sorted(kind.breakable)) or 'nothing'}")


@catalogue.command()
def schema(
    kind: Annotated[
        str, typer.Argument(help="Format: study, cluster, trial, or the name of a workload.")
    ],
) -> None:
    """Print the JSON Schema of study files, clusters, trial records or a workload's parameters."""
    from windtunnel.cluster import cluster_schema
    from windtunnel.study.file import StudyFile
    from windtunnel.workloads import WORKLOADS

    if kind == "cluster":
        found = cluster_schema()
    elif kind == "study":
        found = StudyFile.model_json_schema()
    elif kind == "trial":
        from windtunnel.results.metrics import trial_schema

        found = trial_schema()
    elif kind in WORKLOADS:
        found = WORKLOADS[kind].parameters_type.model_json_schema()
    else:
        known = ", ".join(["study", "cluster", "trial", *WORKLOADS])
        raise UsageError(f"there is no schema '{kind}'", remedy=f"use one of: {known}.")
    print(json.dumps(found, indent=1))


def doctor() -> int:
    """Check whether this machine can run studies, and print a remedy for each problem."""
    from windtunnel.cli.doctor import checkup

    mark = {True: "yes ", False: "NO  ", None: "note"}
    found = checkup()
    for item in found:
        print(f"{mark[item.good]} {item.what}: {item.detail}")
        if item.remedy:
            print(f"       what to do: {item.remedy}")
    return 4 if any(item.good is False for item in found) else 0


def setup(
    hadoop: Annotated[
        str, typer.Option(metavar="LINE", help="Release line of Hadoop: 3.5 or 3.4.")
    ] = "3.5",
) -> None:
    """Download and verify Hadoop before the first study."""
    from rich.console import Console

    from windtunnel.engines.hadoop import releases
    from windtunnel.engines.progress import progress_for

    software, artifacts, java = releases.load(hadoop, progress_for(Console(stderr=True)))
    size = sum(jar.path.stat().st_size for jar in artifacts.jars)
    print(f"Hadoop {software.version}: {len(artifacts.jars)} jars, {size / 1e6:.0f} MB, verified")
    print(f"Java {java.version} ({java.source})")


def version() -> None:
    """Print the version, in a Git checkout the commit, and the installed plug-ins."""
    from windtunnel import plugins
    from windtunnel.probes.machine import own_commit

    print(f"windtunnel {__version__} ({own_commit()})")
    for plugin in plugins.installed():
        parts = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in plugin.parts.items())
        print(f"plug-in {plugin.name} {plugin.version} ({parts})")
