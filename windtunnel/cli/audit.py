"""``audit``: checks of tuning and security, read-only."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from windtunnel.cli.audit_advice import print_balance, run_study, settings_of_jobs, write_advice
from windtunnel.cli.audit_live import live_of, requests
from windtunnel.cli.audit_targets import COLLECT, RUNNING, Wanted, subject_of
from windtunnel.cli.inspect import (
    CaFile,
    Keytab,
    PasswordFile,
    Principal,
    Proxy,
    User,
    access_of,
)
from windtunnel.errors import AuditFailedError, UsageError

if TYPE_CHECKING:
    from windtunnel.audit.audit import Audit, Subject

Level = Literal["critical", "high", "medium", "low"]

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        help="'this-machine' (default without --probe and --openscap), 'running' (the local "
        "cluster that is up), a configuration directory, hosts (ssh://HOST), files of collected "
        "facts (*.json), tables of facts (*.csv), results of OpenSCAP (*.xml); or 'collect': write "
        "the facts of this host.",
        metavar="[TARGET]...",
        show_default=False,
    ),
]


def _file(option: str, text: str) -> Any:
    return typer.Option(option, metavar="FILE", help=text, show_default=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    epilog = "Example: windtunnel audit /etc/hadoop/conf worker-1.json --html audit.html"
    app.command(name="audit", epilog=epilog)(audit)


def audit(
    targets: Targets = None,
    hadoop: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Version of Hadoop; default: that of the jars of its running JVMs.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER", help="Cluster file or name in the catalogue, with the hardware."
        ),
    ] = None,
    files: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Number of files in HDFS, such as 50M, to check the heap of the NameNode.",
        ),
    ] = None,
    exceptions: Annotated[
        Path | None, _file("--exceptions", "Accepted FAILs, each with a reason and an end date.")
    ] = None,
    openscap: Annotated[
        bool,
        typer.Option(
            "--openscap",
            help="Run OpenSCAP on this machine (minutes), alone or in addition to targets.",
        ),
    ] = False,
    profile: Annotated[
        str, typer.Option(metavar="ID", help="Profile of --openscap, or the end of its id.")
    ] = "standard",
    probe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="Send harmless requests to the well-known ports of a host, and measure the path "
            "MTU to it; repeatable.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also read versions and settings in force from the daemons that a configuration "
            "directory names.",
        ),
    ] = False,
    ca_file: CaFile = None,
    keytab: Keytab = None,
    principal: Principal = None,
    user: User = None,
    password_file: PasswordFile = None,
    proxy: Proxy = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --probe, --live: list the requests, send none."),
    ] = False,
    compare: Annotated[
        Path | None, _file("--compare", "An earlier audit (JSON): report the differences.")
    ] = None,
    fail_on: Annotated[
        Level | None,
        typer.Option(
            "--fail-on", help="End with exit code 14 if a FAIL has this severity or a worse one."
        ),
    ] = None,
    html: Annotated[
        Path | None, _file("--html", "Also write the audit as one self-contained HTML page.")
    ] = None,
    sarif: Annotated[
        Path | None, _file("--sarif", "Also write the security results as SARIF 2.1.0.")
    ] = None,
    advise: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write settings that correct the FAILs, with reasons."),
    ] = None,
    prove: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With --advise: measure the advised settings in a study on the testbed 'local', "
            "with this results folder.",
        ),
    ] = None,
    balance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLUSTER",
            help="Instead of an audit: predict the utilisation by phase on a cluster, and the "
            "effect of one step of each part; TARGET is a workload. Repeatable: the other clusters "
            "are compared with the first one.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, _file("--out", "With 'collect': the file; default: standard output.")
    ] = None,
    script: Annotated[
        bool,
        typer.Option(
            "--script", help="With 'collect': print the script that collects facts elsewhere."
        ),
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print every FAIL with its reason.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check tuning and security of hosts and of a Hadoop configuration. No host is changed.

    A check passes, fails, is unknown (it could not be read) or is not applicable. Every FAIL has
    the command or the property that corrects it.
    """
    words = targets or []
    if COLLECT in words:
        _collect(words, out, script=script)
        return
    if out is not None or script:
        raise UsageError("--out and --script belong to 'audit collect'", remedy="add 'collect'.")
    if balance:
        print_balance(balance, words, as_json=as_json)
        return
    if prove is not None and advise is None:
        raise UsageError("--prove without --advise", remedy="add --advise DIR.")
    if dry_run and not probe and not live:
        raise UsageError(
            "--dry-run without --probe or --live", remedy="add --probe HOST or --live."
        )
    access = access_of(ca_file, keytab, principal, user, password_file, proxy)
    clusters = live_of(words, access) if live else None
    if dry_run:
        _list_requests(words if live else [], probe or [])
        return
    chosen = profile if openscap else None
    wanted = Wanted(words, hadoop, cluster, files, exceptions, probe or [], chosen, clusters)
    subject = subject_of(wanted)
    made = _audited(wanted, subject)
    compared = None
    if compare is not None:
        from windtunnel.audit.earlier import differences, read_audit

        compared = differences(read_audit(compare), made)
    _write(made, compared, html=html, sarif=sarif)
    if advise is not None:
        write_advice(
            subject, made, advise, {} if RUNNING in words else settings_of_jobs(wanted.confs)
        )
    if as_json:
        json.dump(made.plain(), sys.stdout, indent=1)
        print()
    else:
        from rich.console import Console

        from windtunnel.report.audit import print_audit

        print_audit(made, Console(), compared, full)
    sys.stdout.flush()
    if prove is not None and advise is not None:
        # only the same command also writes what wins, when it resumes the study
        run_study(advise / "study.yaml", prove, ["windtunnel", *sys.argv[1:]])
    _end(made, fail_on)


def _collect(words: Sequence[str], out: Path | None, *, script: bool) -> None:
    from windtunnel.audit import collect_facts
    from windtunnel.report.atomic import write_bytes

    if list(words) != [COLLECT]:
        raise UsageError(
            "'collect' cannot be combined with other targets",
            remedy="run: windtunnel audit collect",
        )
    if script:
        text = Path(collect_facts.__file__).read_text(encoding="utf-8")
    else:
        text = json.dumps(collect_facts.collect(), indent=1, sort_keys=True) + "\n"
    if out is None:
        print(text, end="")
    else:
        write_bytes(out, text.encode())
        print(f"wrote {out}", file=sys.stderr)


def _audited(wanted: Wanted, subject: Subject) -> Audit:
    from dataclasses import replace

    from windtunnel.audit import openscap
    from windtunnel.audit.audit import run
    from windtunnel.audit.exceptions import read_exceptions

    exceptions = read_exceptions(wanted.exceptions) if wanted.exceptions else ()
    notes: list[str] = []
    if wanted.profile is not None:
        root, content = openscap.scan(wanted.profile)
        wanted.scans.append(root)
        notes.append(f"OpenSCAP content: {content}")
    scans = openscap.by_host(wanted.scans)
    others = [one for host, root in scans.items() for one in openscap.results_of(root, host)]
    others += wanted.failures
    rows: list[dict[str, Any]] = []
    if wanted.probes:
        from windtunnel.audit.probes import probed

        found, rows = probed(wanted.probes)
        others += found
    made = run(subject, exceptions, others)
    return replace(
        made,
        notes=(*made.notes, *notes),
        benchmarks={host: openscap.sections(root) for host, root in scans.items()},
        probes=tuple(rows),
        subjects=tuple(
            dict.fromkeys(
                (
                    *made.subjects,
                    *(one.subject for one in wanted.failures),
                    *scans,
                    *(one["host"] for one in rows),
                )
            )
        ),
    )


def _list_requests(words: Sequence[str], hosts: Sequence[str]) -> None:
    from windtunnel.audit.path_mtu import hosts_of, line
    from windtunnel.audit.probes import RATE_S, planned

    for folder in map(Path, words):
        if folder.is_dir():
            print("\n".join(requests(folder)))
    if not hosts:
        print("nothing was sent")
        return
    for one in planned(hosts):
        print(one.line())
    for host in hosts_of(hosts):
        print(line(host))
    print(f"at most {RATE_S:.0f} requests a second; nothing was sent")


def _write(made: Audit, compared: Any, *, html: Path | None, sarif: Path | None) -> None:
    if html is not None:
        from windtunnel.report.audit import write_page

        write_page(made, html, compared)
        print(f"wrote {html}", file=sys.stderr)
    if sarif is not None:
        from windtunnel.report.atomic import write_bytes
        from windtunnel.report.sarif import sarif as as_sarif

        write_bytes(sarif, (json.dumps(as_sarif(made), indent=1) + "\n").encode())
        print(f"wrote {sarif}", file=sys.stderr)


def _end(made: Audit, fail_on: Level | None) -> None:
    from windtunnel.audit.result import SEVERITIES

    if fail_on is None:
        return
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    found = [one for one in made.worst if one.severity in bad]
    if found:
        from windtunnel.analysis.formatting import plural

        raise AuditFailedError(
            f"{plural(len(found), 'result')} of severity {fail_on} or higher; the first: "
            f"{found[0].observed}",
            remedy="apply the remedies above, or declare exceptions with --exceptions.",
        )
