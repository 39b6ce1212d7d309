"""``inspect``: a description of an existing cluster, without a change to it."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.hosts.rest import Access
    from windtunnel.inspection.describe import Inspected

CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="PEM",
        help="Certificates that are trusted; default: those of the system.",
        show_default=False,
    ),
]
Keytab = Annotated[
    Path | None,
    typer.Option(help="Kerberos keytab; default: the ticket cache.", show_default=False),
]
Principal = Annotated[
    str | None,
    typer.Option(help="Principal of the keytab; default: the first one in it.", show_default=False),
]
User = Annotated[
    str | None,
    typer.Option(help="User name where there is no Kerberos; default: none.", show_default=False),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        help="File with the password of the user (Knox, HttpFS; only by TLS); default: none.",
        show_default=False,
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="HTTP proxy; proxies of the environment are not used; default: none.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="inspect", epilog="Example: windtunnel inspect /etc/hadoop/conf --output mine.yaml"
    )(inspect_)


def access_of(
    ca_file: Path | None,
    keytab: Path | None,
    principal: str | None,
    user: str | None,
    password_file: Path | None,
    proxy: str | None,
) -> Access:
    """The access to web servers as the options specify it."""
    from windtunnel.hosts.rest import Access

    return Access(
        ca_file=ca_file,
        keytab=keytab,
        principal=principal,
        user=user,
        password_file=password_file,
        proxy=proxy,
    )


def inspect_(
    conf_dir: Annotated[
        Path | None,
        typer.Argument(
            help="Folder with the client configuration, such as /etc/hadoop/conf.",
            show_default=False,
        ),
    ] = None,
    namenode: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Web address of a NameNode; repeatable; default: those of the configuration.",
            show_default=False,
        ),
    ] = None,
    resourcemanager: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Web address of a ResourceManager; repeatable; "
            "default: those of the configuration.",
            show_default=False,
        ),
    ] = None,
    history_server: Annotated[
        str | None,
        typer.Option(
            "--history-server",
            metavar="URL",
            help="Web address of the history server; default: that of the configuration.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yaml",
            help="File to write; default: NAME.yaml in the current folder.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the description; default: that of the folder or host.",
            show_default=False,
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Prometheus server with the node exporters of the hosts; default: none.",
            show_default=False,
        ),
    ] = None,
    selector: Annotated[
        str,
        typer.Option(
            metavar="MATCHERS",
            help='Label matchers of these node exporters, such as job="node"; default: all.',
            show_default=False,
        ),
    ] = "",
    ssh: Annotated[
        bool,
        typer.Option(
            "--ssh", help="Log in to the hosts by SSH for their processors, memory and NICs."
        ),
    ] = False,
    ssh_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Configuration of the SSH client; default: ~/.ssh/config.",
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
    """Write the description of an existing cluster. The command only reads from the cluster."""
    from contextlib import closing
    from dataclasses import replace

    from windtunnel.hosts.rest import RestClient
    from windtunnel.hosts.rest.prometheus import Prometheus
    from windtunnel.hosts.ssh import SshAccess, SshHosts
    from windtunnel.inspection.describe import add_from_files, describe
    from windtunnel.inspection.endpoints import Endpoints, endpoints
    from windtunnel.inspection.facts import ClusterFacts
    from windtunnel.inspection.monitored import read_monitored
    from windtunnel.inspection.over_ssh import read_over_ssh
    from windtunnel.inspection.services import read_services
    from windtunnel.inspection.site_files import read_configuration
    from windtunnel.inspection.writing import new_files, write

    if conf_dir is None and not namenode:
        raise UsageError(
            "nothing to inspect",
            remedy="specify a folder with the client configuration, or --namenode URL.",
        )
    _check_urls("--namenode", namenode or [])
    _check_urls("--resourcemanager", resourcemanager or [])
    _check_urls("--history-server", [history_server] if history_server else [])
    facts = ClusterFacts()
    conf = None if conf_dir is None else read_configuration(conf_dir)
    where = Endpoints() if conf is None else endpoints(conf)
    if conf is not None:
        facts.read += conf.read
        facts.notes += [*conf.renamed, *conf.notes]
        facts.settings.update(conf.entries)
        for key, entry in conf.entries.items():
            facts.settings[key] = type(entry)(key, conf.expand(entry.value), entry.source)
    where.namenodes = namenode or where.namenodes
    where.resourcemanagers = resourcemanager or where.resourcemanagers
    where.history = [history_server] if history_server else where.history
    title = name or _name(conf_dir, where.namenodes)
    file, _ = new_files(output or Path(f"{title}.yaml"))  # before the cluster is read
    access = access_of(ca_file, keytab, principal, user, password_file, proxy)
    with RestClient(access) as client:
        read_services(client, where, facts)
    add_from_files(conf, facts)
    if prometheus is not None:
        with RestClient(replace(access, user=None, password_file=None)) as client:
            read_monitored(Prometheus(client, prometheus), selector, facts)
    if ssh:
        with closing(SshHosts(SshAccess(config=ssh_config))) as hosts:
            read_over_ssh(hosts, facts)
    made = describe(title, conf, facts)
    _print(made, *write(made, file))


def _check_urls(option: str, urls: list[str]) -> None:
    """Refuse a value of an option that is not the URL of a web server."""
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageError(
                f"{option} '{url}' is not a URL",
                remedy="write http://HOST:PORT or https://HOST:PORT.",
            )


def _name(folder: Path | None, urls: list[str]) -> str:
    import re
    from urllib.parse import urlsplit

    host = urlsplit(urls[0]).hostname if urls else None
    text = host or (folder.resolve().name if folder else "cluster")
    return re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-") or "cluster"


def _print(made: Inspected, file: Path, sources: Path) -> None:
    from windtunnel.cluster.secrets import masked_text
    from windtunnel.inspection.describe import by_source

    def lines(title: str, texts: list[str]) -> None:
        if texts:
            print(f"{title}:")
            for text in dict.fromkeys(texts):
                print(f"  {masked_text(text)}")

    facts = made.facts
    lines("read", sorted(facts.read))
    lines("not read", facts.unread)
    lines("notes", facts.notes)
    lines("UNKNOWN", made.unknown)
    print("hosts:")
    for group in made.groups:
        first = group.first
        cores = first.value("cores") or "UNKNOWN"
        memory = first.value("memory_bytes")
        size = "UNKNOWN" if memory is None else f"{int(memory) / (1 << 30):.1f} GiB"
        disks = len(first.volumes) or "UNKNOWN" if "datanode" in group.roles else "not read"
        print(
            f"  {group.name}: {len(group.hosts)} x {cores} processors, memory {size}, "
            f"data folders {disks}; {', '.join(group.roles)}"
        )
    secret = sum(one.secret for one in made.settings)
    print(
        f"settings that are not Hadoop's default: {len(made.settings)} "
        f"({', '.join(f'{count} from {key}' for key, count in by_source(made.settings).items())}); "
        f"{secret} secret values are not shown"
    )
    print(f"{file}: the description. Complete it, then run: windtunnel predict {file} terasort")
    print(f"{sources}: all values with their sources")
