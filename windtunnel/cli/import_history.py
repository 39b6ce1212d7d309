"""``import``: results of others as a results folder; ``import history``: finished jobs."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from windtunnel.analysis.formatting import plural
from windtunnel.cli.inspect import (
    CaFile,
    Keytab,
    PasswordFile,
    Principal,
    Proxy,
    User,
    access_of,
)
from windtunnel.cli.published import import_
from windtunnel.errors import ClusterAccessError, ResultsError, UsageError

if TYPE_CHECKING:
    from windtunnel.hosts.rest import RestClient
    from windtunnel.published.history.sources import Status

_TABLE = "table"


class _Imports(TyperGroup):
    """``import FILE.csv`` is short for ``import table FILE.csv``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [_TABLE, *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        cls=_Imports,
        help="Convert a spreadsheet, or the history of finished jobs, to a results folder.\n\n"
        "'import FILE.csv' is short for 'import table FILE.csv'.",
        no_args_is_help=True,
    )
    group.command(
        name=_TABLE,
        epilog="Example: windtunnel import runs.csv --map map.yaml --results my-results",
    )(import_)
    group.command(
        name="history",
        epilog="Example: windtunnel import history https://history.example:19890 --results jobs",
    )(history)
    app.add_typer(group, name="import")


def history(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders or files (.jhist with _conf.xml, Spark event logs), URLs of a history "
            "server, or of a folder in HDFS (http://HOST:PORT/webhdfs/v1/FOLDER).",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="DIR",
            help="Results folder to create; required.",
            show_default=False,
        ),
    ] = None,
    conf: Annotated[
        Path | None,
        typer.Option(
            metavar="CONF_DIR",
            help="Client configuration, which contains the address of the history server; "
            "default: none.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Most jobs to read from a server.")
    ] = 10_000,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM-DD",
            help="From a history server: only jobs that started on this day (UTC) or later; "
            "default: all.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Cluster description for the proposed study; default: local-3.",
            show_default=False,
        ),
    ] = None,
    ca_file: CaFile = None,
    keytab: Keytab = None,
    principal: Principal = None,
    user: User = None,
    password_file: PasswordFile = None,
    proxy: Proxy = None,
) -> None:
    """Import finished jobs of a cluster. The command only reads from the cluster."""
    from windtunnel.hosts.rest import RestClient
    from windtunnel.inspection.endpoints import endpoints
    from windtunnel.inspection.site_files import read_configuration
    from windtunnel.published.history.build import build, store
    from windtunnel.published.history.sources import Rate

    if results is None:
        raise UsageError("--results is missing", remedy="specify the results folder to create.")
    if results.exists() and (not results.is_dir() or any(results.iterdir())):
        raise ResultsError(
            f"{results} exists already", remedy="specify a folder that does not exist yet."
        )
    given = list(sources or [])
    if conf is not None:
        given += endpoints(read_configuration(conf)).history
    if not given:
        raise UsageError(
            "no source of jobs",
            remedy="specify a folder, a URL, or --conf with mapreduce.jobhistory.address in it.",
        )
    begun = _begin(since)
    began, rate, jobs = time.monotonic(), Rate(), []
    broken: ClusterAccessError | None = None
    with RestClient(access_of(ca_file, keytab, principal, user, password_file, proxy)) as client:
        for source in given:
            try:
                for status in _statuses(source, client, limit, begun):
                    rate.add(status)
                    print(_line(status))
                    if status.job is not None:
                        jobs.append(status.job)
            except ClusterAccessError as error:
                if not jobs:
                    raise
                broken = error  # what was read before is kept
                print(f"not read: the rest of {source}: {error.message}")
    print(rate.line(began))
    if not jobs:
        raise UsageError(
            "no finished job was found, so no results folder was written",
            remedy="see the lines above for the reason of each file.",
        )
    built = build(jobs, given)
    proposed = store(jobs, built, results, cluster)
    kinds = len(built.study.workloads)
    print(
        f"{results}: {plural(len(built.trials), 'job')} of {plural(kinds, 'kind')}; "
        f"windtunnel report {results}"
    )
    if proposed is not None:
        print(
            f"{proposed}: a study that measures the associated setting; windtunnel plan {proposed}"
        )
    if broken is not None:
        raise broken


def _line(status: Status) -> str:
    from windtunnel.cluster.secrets import masked_text

    return masked_text(status.line)


def _statuses(source: str, client: RestClient, limit: int, since: float | None) -> Iterator[Status]:
    from windtunnel.published.history import sources as known

    if not source.startswith(("http://", "https://")):
        yield from known.from_folder(Path(source))
    elif "/webhdfs/v1/" in source:
        yield from known.from_hdfs(client, source, limit)
    else:
        yield from known.from_server(client, source, limit, since)


def _begin(since: str | None) -> float | None:
    if since is None:
        return None
    try:
        return datetime.strptime(since, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(
            f"--since {since} is not a day", remedy="write YYYY-MM-DD, such as 2026-03-01."
        ) from None
