"""``up``, ``status``, ``down``, ``exec``, ``open``, ``clean``: clusters for interactive use."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import subprocess
from typing import Annotated, Any

import psutil
import typer

from windtunnel.cli.options import Open
from windtunnel.errors import NotRealisableError, UsageError
from windtunnel.hosts.remains import Registration, registered
from windtunnel.hosts.remains import clean as clean_remains

Id = Annotated[str | None, typer.Option("--id", help="Which cluster, if several are up.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel up local-3 --set hosts.worker.count=2")(up)
    app.command(epilog="Example: windtunnel status")(status)
    app.command(epilog="Example: windtunnel down")(down)
    app.command(
        name="exec",
        epilog="Example: windtunnel exec -- hdfs dfs -ls /",
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )(execute)
    app.command(name="open", epilog="Example: windtunnel open")(open_)
    app.command(epilog="Example: windtunnel clean")(clean)


def up(
    cluster: Annotated[str, typer.Argument(help="Cluster file or catalogue name.")] = "local-3",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change the cluster.")
    ] = None,
    testbed: Annotated[str, typer.Option(help="'local', or 'scaled' for a scale model.")] = "local",
    rate: Annotated[
        str, typer.Option(metavar="SHARE", help="Speed of a model's parts, such as 1/40.")
    ] = "1",
    data: Annotated[
        str, typer.Option(metavar="SHARE", help="Size of a model's memory and blocks.")
    ] = "1",
    open_: Open = False,
) -> None:
    """Start a cluster on this machine and keep it up."""
    from rich.console import Console

    from windtunnel.cluster import (
        Located,
        apply_overrides,
        load_cluster,
        parse_assignment,
        validate,
    )
    from windtunnel.testbeds import SCALED, keeper, make_testbed
    from windtunnel.testbeds.scaled.scale import Scale

    console = Console(stderr=True)
    changes: dict[str, Any] = dict(parse_assignment(change) for change in set_ or [])
    described = apply_overrides(load_cluster(cluster), changes)
    scale = None
    if testbed == SCALED:
        scale = validate(Scale, Located({"rate": rate, "data": data}))
    elif (rate, data) != ("1", "1"):
        raise UsageError(
            f"the testbed '{testbed}' runs at full size",
            remedy=f"add '--testbed {SCALED}', or leave out --rate and --data.",
        )
    bed = make_testbed(testbed, keeper.folder_of_all(), lambda text: None, scale)
    if open_:
        bed.permit_open()
    found = bed.check(described)
    if found.impossible:
        raise NotRealisableError(
            "; ".join(found.impossible), remedy="change the cluster description."
        )
    for caveat in found.unrealised:
        console.print(f"note: {caveat}", highlight=False, soft_wrap=True)
    bed.prepare(described)
    with console.status("starting") as line:
        facts = keeper.start(described, testbed, scale, line.update, permit_open=open_)
    print(f"{facts['id']} is up: {described.name}")
    print(
        "  use it:     windtunnel exec -- hdfs dfs -ls /\n"
        "  web pages:  windtunnel open\n"
        "  end it:     windtunnel down"
    )


def status() -> None:
    """Show the clusters that this user's runs have on this machine, and what they use."""
    entries = registered()
    if not entries:
        from windtunnel.testbeds import keeper

        print("no clusters")
        if why := keeper.last_end():
            print(f"the last one ended by itself:\n{why}")
    for entry in entries:
        facts = entry.facts()
        if not entry.owner_alive():
            print(f"{entry.id}: left behind by a run that died; 'windtunnel clean' removes it")
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
    """End the cluster that 'up' started."""
    from windtunnel.testbeds import keeper

    entry = _chosen(id_)
    keeper.stop(entry)
    print(f"{entry.id} is down")


def execute(
    command: Annotated[list[str], typer.Argument(help="hdfs, yarn, mapred or hadoop command.")],
    id_: Id = None,
) -> int:
    """Run a real Hadoop client against the cluster that is up ('hadoop jar examples ...' too)."""
    from windtunnel.engines.hadoop.client import user_process

    argv, env = user_process(_chosen(id_), command)
    return subprocess.call(argv, env=env)


def open_(id_: Id = None) -> None:
    """Show the web pages of the cluster that is up, on loopback ports that ask for a token."""
    from windtunnel.hosts.remains import sockets_of
    from windtunnel.testbeds.web_proxy import WebProxy, WebServer

    entry = _chosen(id_)
    servers = [WebServer(**server) for server in entry.facts()["web_servers"]]
    with sockets_of(entry) as open_socket:
        proxy = WebProxy(servers, open_socket)
        print(f"web pages of {entry.id}, until Ctrl-C; keep the token to yourself:")
        for daemon, page in proxy.pages().items():
            print(f"  {daemon:28} {page}", flush=True)
        try:
            proxy.serve()
        except KeyboardInterrupt:
            print("closed")
        finally:
            proxy.close()


def _chosen(id_: str | None) -> Registration:
    from windtunnel.testbeds import keeper

    entries = [entry for entry in keeper.interactive() if id_ in (None, entry.id)]
    if not entries:
        raise UsageError(
            f"no cluster {id_} is up" if id_ else "no cluster is up",
            remedy="start one with 'windtunnel up'; 'windtunnel status' shows what there is.",
        )
    if len(entries) > 1:
        raise UsageError(
            f"{len(entries)} clusters are up: {', '.join(entry.id for entry in entries)}",
            remedy="say which with --id.",
        )
    return entries[0]


def clean(
    cache: Annotated[bool, typer.Option(help="Empty the cache of jars as well.")] = False,
) -> None:
    """Remove what dead runs left on this machine, and nothing else."""
    from windtunnel.engines.artifacts import clear_cache
    from windtunnel.testbeds import keeper

    for line in clean_remains():
        print(line)
    if ended := keeper.forget_ended():
        print(f"removed the logs of {ended} interactive clusters that are down")
    if cache:
        print(f"removed {clear_cache() / 1e6:.0f} MB of jars")
    print("clean")
