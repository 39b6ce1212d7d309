"""``up``, ``status``, ``down``, ``exec``, ``open`` and ``clean``, for interactive clusters."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import psutil
import typer

from windtunnel.cli.options import Open, assignments
from windtunnel.errors import ClusterAccessError, NotRealisableError, UsageError
from windtunnel.hosts.leftovers import Registration, registered
from windtunnel.hosts.leftovers import clean as clean_remains

if TYPE_CHECKING:
    from windtunnel.testbeds.base import TestbedOptions

Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Id of the cluster; default: the only one that is up.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel up local-3 --set hosts.worker.count=2")(up)
    app.command(epilog="Example: windtunnel status")(status)
    app.command(epilog="Example: windtunnel down")(down)
    app.command(
        name="exec",
        epilog="Example: windtunnel exec --id ID -- hdfs dfs -ls /",
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )(execute)
    app.command(name="open", epilog="Example: windtunnel open")(open_)
    app.command(epilog="Example: windtunnel clean")(clean)


def up(
    cluster: Annotated[
        str, typer.Argument(help="Cluster file, or name of a cluster in the catalogue.")
    ] = "local-3",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a value of the cluster description; repeatable; default: no change.",
            show_default=False,
        ),
    ] = None,
    testbed: Annotated[
        str,
        typer.Option(metavar="NAME", help="Testbed; 'windtunnel catalogue testbeds' lists them."),
    ] = "local",
    rate: Annotated[
        str,
        typer.Option(
            metavar="FRACTION",
            help="Scale models only: rate of disks, network and CPUs relative to full size, "
            "such as 1/40.",
        ),
    ] = "1",
    data: Annotated[
        str,
        typer.Option(
            metavar="FRACTION",
            help="Scale models only: size of data, blocks, buffers and caches relative to full "
            "size, such as 1/1000.",
        ),
    ] = "1",
    open_: Open = False,
) -> None:
    """Start a cluster on this machine and keep it running until 'down'."""
    from rich.console import Console

    from windtunnel.cluster import apply_overrides, load_cluster
    from windtunnel.testbeds import cluster_testbed, interactive

    console = Console(stderr=True)
    changes: dict[str, Any] = dict(assignments(set_ or []))
    described = apply_overrides(load_cluster(cluster), changes)
    options = _options(testbed, {"rate": rate, "data": data})
    bed = cluster_testbed(options, interactive.folder_of_all(), lambda text: None)
    if open_:
        bed.permit_open()
    found = bed.check(described)
    if found.impossible:
        raise NotRealisableError(
            "; ".join(found.impossible), remedy="change the cluster description."
        )
    for caveat in found.unrealised:
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    bed.prepare(described)
    with console.status("starting") as line:
        facts = interactive.start(described, options, line.update, permit_open=open_)
    print(f"{facts['id']} is up: {described.name}")
    print(
        "  run a client:  windtunnel exec -- hdfs dfs -ls /\n"
        "  web pages:     windtunnel open\n"
        "  stop it:       windtunnel down"
    )


def _options(testbed: str, given: dict[str, Any]) -> TestbedOptions:
    """The options of the testbed; only some testbeds have those of a scale."""
    from windtunnel.testbeds import TESTBEDS, find_testbed, parse_options

    fields = find_testbed(testbed).options_type.model_fields
    if given.keys() <= fields.keys():
        return parse_options(testbed, given)
    if any(value != "1" for value in given.values()):
        others = [
            n for n, k in TESTBEDS.items() if given.keys() <= k.options_type.model_fields.keys()
        ]
        raise UsageError(
            f"the testbed '{testbed}' runs at full size, without --rate and --data",
            remedy=f"add '--testbed {' or '.join(others)}', or remove --rate and --data.",
        )
    return parse_options(testbed, {})


def status() -> None:
    """List this user's running clusters on this machine, with their processes and memory."""
    entries = registered()
    if not entries:
        from windtunnel.testbeds import interactive

        print("no clusters")
        if why := interactive.last_end():
            print(f"the last one stopped without 'down':\n{why}")
    for entry in entries:
        facts = entry.facts()
        if not entry.owner_alive():
            print(f"{entry.id}: remains of a crashed run; 'windtunnel clean' removes them")
            continue
        if not entry.here():
            print(f"{entry.id}: of another machine or container, {facts.get('machine')}")
            continue
        kind = "interactive" if facts.get("interactive") else "of a running study"
        print(f"{entry.id}: {facts.get('cluster', 'starting')} ({kind})")
        for name, pid in facts.get("pids", {}).items():
            print(f"  {name:28} {_daemon_state(pid)}")


def _daemon_state(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return f"pid {pid}, {process.memory_info().rss >> 20} MiB resident"
    except psutil.Error:
        return f"pid {pid}, DEAD"


def down(id_: Id = None) -> None:
    """Stop a cluster that 'up' started."""
    from windtunnel.testbeds import interactive

    entry = chosen(id_)
    interactive.stop(entry)
    print(f"{entry.id} is down")


def execute(
    command: Annotated[
        list[str], typer.Argument(help="Command of hdfs, yarn, mapred or hadoop, after --.")
    ],
    id_: Id = None,
) -> int:
    """Run a Hadoop client, such as 'hdfs dfs' or 'hadoop jar', on a cluster that is up."""
    from windtunnel.engines.hadoop.client import user_process

    argv, env = user_process(chosen(id_), command)
    return subprocess.call(argv, env=env)


def open_(id_: Id = None) -> None:
    """Serve the web pages of a cluster that is up on loopback ports, protected by a token."""
    from windtunnel.hosts.leftovers import sockets_of
    from windtunnel.testbeds.web_proxy import WebProxy, WebServer

    entry = chosen(id_)
    servers = [WebServer(**server) for server in entry.facts()["web_servers"]]
    with sockets_of(entry) as open_socket:
        proxy = WebProxy(servers, open_socket)
        print(f"web pages of {entry.id} (stop with Ctrl-C; do not share the token):")
        for daemon, page in proxy.pages().items():
            print(f"  {daemon:28} {page}", flush=True)
        try:
            proxy.serve()
        except KeyboardInterrupt:
            print("closed")
        finally:
            proxy.close()


def chosen(id_: str | None, several: str = "select one with --id.") -> Registration:
    """The cluster with an id, or the only one that is up; raises UsageError.

    ``several`` is the remedy if several clusters are up.
    """
    from windtunnel.testbeds import interactive

    entries = [entry for entry in interactive.interactive() if id_ in (None, entry.id)]
    if not entries:
        raise UsageError(
            f"no cluster {id_} is up" if id_ else "no cluster is up",
            remedy="start one with 'windtunnel up'; 'windtunnel status' lists those that are up.",
        )
    if len(entries) > 1:
        raise UsageError(
            f"{len(entries)} clusters are up: {', '.join(entry.id for entry in entries)}",
            remedy=several,
        )
    return entries[0]


def clean(
    cache: Annotated[
        bool,
        typer.Option(help="Also delete the downloaded jars."),
    ] = False,
    forget: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Forget a crashed run whose machine or attached cluster no longer exists; what it "
            "left there is not removed.",
            show_default=False,
        ),
    ] = None,
    id_: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="Clean only this run. If it ran on another machine that uses the same state "
            "folder, its jobs and files on an attached cluster are removed from here: first make "
            "sure that it has ended.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Remove what crashed runs left on this machine and on attached clusters.

    It also removes the logs of interactive clusters that are down, and nothing else.
    """
    from windtunnel.engines.artifacts import clear_cache
    from windtunnel.testbeds import interactive
    from windtunnel.testbeds.attached.remains import clean_entry

    if cache:
        _refuse_used_cache()
    if forget is not None:
        _forget(forget)
    lines = clean_remains(clean_entry) if id_ is None else _clean_named(id_)
    for line in lines:
        print(line)
    if id_ is None and (ended := interactive.forget_ended()):
        print(f"logs of interactive clusters that are down: {ended} removed")
    if cache:
        print(f"removed {clear_cache() / 1e6:.0f} MB of jars")
    if any(line.startswith("NOT") for line in lines):
        raise ClusterAccessError(
            "not everything could be removed; see the lines above",
            remedy="run 'windtunnel clean' again when the cluster can be reached, or 'windtunnel "
            "clean --forget ID' if it no longer exists.",
        )
    print("clean")


def _refuse_used_cache() -> None:
    """Raise UsageError if a run may use the jars: its tasks would fail without them."""
    if used := [entry.id for entry in registered() if entry.owner_alive()]:
        raise UsageError(
            f"the jars are in use by {', '.join(used)}",
            remedy="wait until the studies end, and stop clusters with 'windtunnel down'; nothing "
            "was removed. 'windtunnel clean' without --cache lists runs of other machines.",
        )


def _forget(id_: str) -> None:
    """Remove the entry of a dead run without a request to its cluster."""
    found = _ended(id_)
    facts = found.facts()
    left = []
    if found.elsewhere():  # its ledger has changes of another machine
        found.discard()
        left.append(f"its processes, mounts and limits on {facts.get('machine')}")
    elif problems := found.forget():
        for problem in problems:
            print(f"NOT removed, of {id_}: {problem}")
        return
    if facts.get("attached"):
        left.append(f"its applications and files on {_cluster(facts)}")
    print(f"forgot {id_}{'; not removed: ' if left else ''}{'; '.join(left)}")


def _cluster(facts: Mapping[str, Any]) -> str:
    return f"the cluster {str(facts.get('cluster')).removeprefix('attached ')}"


def _clean_named(id_: str) -> list[str]:
    """Remove what one dead run left; returns a line for each thing."""
    from windtunnel.testbeds.attached.remains import clean_entry

    found = _ended(id_)
    if not found.elsewhere():

        def chosen(entry: Registration) -> bool:
            return entry.id == id_

        return clean_remains(clean_entry, chosen, chosen)
    facts = found.facts()
    if not facts.get("attached"):
        raise UsageError(
            f"{id_} ran on another machine, {facts.get('machine')}, and used no attached cluster",
            remedy="run 'windtunnel clean' on this machine, or 'windtunnel clean --forget "
            f"{id_}' if the machine no longer exists.",
        )
    if left := clean_entry(found):
        return [f"NOT removed, of {id_}: {problem}" for problem in left]
    found.discard()
    return [
        f"removed the jobs and files of {id_} from {_cluster(facts)}, and its entry; not removed: "
        f"its processes on {facts.get('machine')}"
    ]


def _ended(id_: str) -> Registration:
    """The run with an id, which is not known to run; raises UsageError."""
    found = next((entry for entry in registered() if entry.id == id_), None)
    if found is None:
        raise UsageError(f"there is no run {id_}", remedy="'windtunnel status' lists the runs.")
    if found.running():
        raise UsageError(
            f"{id_} is running",
            remedy="wait until it ends, or stop it (Ctrl-C, 'windtunnel down').",
        )
    return found
