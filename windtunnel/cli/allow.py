"""``allow``: what studies may do on an existing cluster."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from typing import Annotated

import typer

from windtunnel.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: windtunnel allow CID-1234 --queue bench --space '2 TiB' --containers 40 "
        "--until 2027-03-31"
    )(allow)


def allow(
    cluster: Annotated[
        str | None,
        typer.Argument(help="Id of the cluster, as its NameNode reports it; default: list all."),
    ] = None,
    queue: Annotated[str, typer.Option(help="Queue of the jobs.")] = "default",
    space: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Largest space in HDFS, with all replicas."),
    ] = None,
    containers: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Largest number of containers at a time.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Last day on which studies may run.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove all entries of the cluster.")
    ] = False,
) -> None:
    """Permit studies on an existing cluster (testbed 'attached'), within limits."""
    from windtunnel.testbeds.attached import allowance

    if cluster is None and remove:
        raise UsageError(
            "--remove requires the id of a cluster",
            remedy="'windtunnel allow' lists the clusters with their ids.",
        )
    if cluster is None:
        entries = allowance.allowances()
        for entry in entries:
            print(entry.words())
        if not entries:
            print("no cluster is allowed")
        return
    if remove:
        print(f"entries of {cluster} removed: {allowance.disallow(cluster)}")
        return
    if space is None or containers is None or until is None:
        raise UsageError(
            "the limits --space, --containers and --until are required",
            remedy="add them: windtunnel allow --help shows an example.",
        )
    entry = allowance.Allowance(cluster, queue, _bytes(space), _positive(containers), _day(until))
    allowance.allow(entry)
    print(f"allowed: {entry.words()}")


def _bytes(text: str) -> int:
    from windtunnel.cluster import QuantityError, parse_bytes

    try:
        found = int(parse_bytes(text))
    except QuantityError as error:
        raise UsageError(f"--space {text}: {error}", remedy="write --space '2 TiB'.") from error
    return _positive(found, "--space")


def _positive(number: int, option: str = "--containers") -> int:
    if number < 1:
        raise UsageError(f"{option} must be positive", remedy="specify a larger number.")
    return number


def _day(text: str) -> str:
    import datetime

    from windtunnel.testbeds.attached.allowance import this_day

    try:
        day = datetime.date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--until {text}: not a date", remedy="write --until 2027-03-31."
        ) from error
    if day < this_day():
        raise UsageError(f"--until {text} is in the past", remedy="specify a later day.")
    return day.isoformat()
