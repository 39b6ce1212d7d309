"""``demo``, ``run``, ``report``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import DEFAULT_FOLDER, Changes, Hadoop, Open, Study, load, testbed_of
from windtunnel.errors import InterruptedStudyError, StudyStoppedError

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.study.runner import Runner

Results = Annotated[
    Path | None,
    typer.Option("--results", help="Results folder; left out: windtunnel-results/NAME."),
]
Retry = Annotated[bool, typer.Option(help="Run the slots of invalid trials once more.")]
Pilot = Annotated[
    bool,
    typer.Option(
        "--pilot",
        help="Stop after the pilot (the first round, if the protocol names none); the same "
        "command without it goes on from there.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel demo --results my-demo")(demo)
    app.command(epilog="Example: windtunnel run my-study.yaml --results out")(run)
    app.command(epilog="Example: windtunnel report out --html report.html")(report)


def demo(results: Results = None, hadoop: Hadoop = None, open_: Open = False) -> None:
    """Run the demo study on real Hadoop here: stock against tuned TeraSort, with a report."""
    folder = results or DEFAULT_FOLDER / f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    _run("demo", folder, None, hadoop, retry_invalid=False, permit_open=open_)


def run(
    study: Study,
    results: Results = None,
    set_: Changes = None,
    hadoop: Hadoop = None,
    retry_invalid: Retry = False,
    pilot: Pilot = False,
    open_: Open = False,
) -> None:
    """Run a study, or go on with one that was stopped, and report it."""
    _run(
        study,
        results,
        set_,
        hadoop,
        retry_invalid=retry_invalid,
        pilot=pilot,
        permit_open=open_,
    )


def _run(
    study: str,
    results: Path | None,
    changes: list[str] | None,
    hadoop: str | None,
    *,
    retry_invalid: bool,
    pilot: bool = False,
    permit_open: bool = False,
) -> None:
    from rich.console import Console

    from windtunnel.cli.progress import listener_for
    from windtunnel.hosts.isolation.folders import refuse_shared
    from windtunnel.hosts.isolation.policy import FLAG
    from windtunnel.study.check import check_plan
    from windtunnel.study.journal import open_journal
    from windtunnel.study.runner import Runner

    console = Console(stderr=True)
    plan = load(study, changes, hadoop)
    folder = results or DEFAULT_FOLDER / plan.name
    again = ["windtunnel", "run", study, "--results", str(folder)]
    again += [word for change in changes or [] for word in ("--set", change)]
    again += ["--hadoop", hadoop] if hadoop else []
    again += [FLAG] if permit_open else []
    testbed = testbed_of(plan, folder / "logs")
    if permit_open:
        testbed.permit_open()
    caveats = check_plan(plan, testbed)
    for caveat in caveats:
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"results: {folder}", markup=False, highlight=False, soft_wrap=True)
    refuse_shared(folder.absolute(), "--results")
    with open_journal(folder, plan, caveats) as journal, _resumable(shlex.join(again)):
        for cluster in plan.clusters(plan.treatments):
            testbed.prepare(cluster, plan.engines())
        listener = listener_for(console)
        runner = Runner(plan, journal, testbed, listener, retry_invalid=retry_invalid, pilot=pilot)
        try:
            with _gentle_interrupt(runner, console):
                runner.run()
        finally:
            listener.close()
    _conclude(folder)
    if pilot:
        print(f"Pilot done; the study goes on with: {shlex.join(again)}")


def _conclude(folder: Path) -> None:
    """Report what was just run, on the terminal and as a page in the results folder."""
    from rich.console import Console

    from windtunnel.analysis.analyse import analyse
    from windtunnel.report.html import write_html
    from windtunnel.report.terminal import print_summary
    from windtunnel.results.folder import read_results

    found = read_results(folder)
    analysis = analyse(found)
    page = folder / "report.html"
    write_html(analysis, found, page)
    print_summary(analysis, Console(), str(folder), page)
    print(f"Results: {folder}")


@contextmanager
def _resumable(how: str) -> Iterator[None]:
    """Tell, when a study stops early, with which command it goes on."""
    try:
        yield
    except InterruptedStudyError as error:
        error.remedy = f"{how}   goes on where it stopped."
        raise
    except StudyStoppedError as error:
        error.remedy = f"mend the cause, then: {how} --retry-invalid   (valid trials are kept)."
        raise
    except KeyboardInterrupt:
        raise InterruptedStudyError(
            "stopped at once; the running trial does not count",
            remedy=f"{how}   goes on where it stopped.",
        ) from None


@contextmanager
def _gentle_interrupt(runner: Runner, console: Console) -> Iterator[None]:
    """The first Ctrl-C stops after the current trial, the second one and SIGTERM at once."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if runner.stop_requested or number == signal.SIGTERM:
            raise KeyboardInterrupt
        runner.stop_requested = True
        console.print("stopping after the current trial; Ctrl-C again stops at once")

    old = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def report(
    folder: Annotated[str, typer.Argument(help="Results folder, or published:NAME.")],
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write trials x phases x metrics.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="The same as Parquet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown instead, for an issue or a wiki.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print all of the report, not only the answer.")
    ] = False,
    interval: Annotated[
        str, typer.Option(help="Interval of means: t, or bca (bootstrap, from 8 trials on).")
    ] = "t",
    years: Annotated[
        float | None, typer.Option(help="Costs: years of use; left out: 3.", show_default=False)
    ] = None,
    utilisation: Annotated[
        str | None, typer.Option(help="Costs: share of the time at work, such as '60 %'; else all.")
    ] = None,
    electricity: Annotated[
        str | None, typer.Option(help="Costs: such as '0.15 USD/kWh'; left out: 0.13 USD/kWh.")
    ] = None,
    pue: Annotated[
        float | None, typer.Option(help="Costs: power usage effectiveness; left out: 1.")
    ] = None,
) -> None:
    """Report a results folder: on the terminal, as a page, as data."""
    from rich.console import Console

    from windtunnel.analysis.analyse import analyse
    from windtunnel.analysis.intervals import method_named
    from windtunnel.analysis.tariff import parse_tariff
    from windtunnel.published import open_results
    from windtunnel.report.drawer import Drawer
    from windtunnel.report.export import to_json, write_csv, write_parquet
    from windtunnel.report.markdown import to_markdown
    from windtunnel.report.terminal import print_report, print_summary

    tariff = parse_tariff(years, utilisation, electricity, pue)
    method = method_named(interval)
    with Drawer() if html is not None else nullcontext() as drawer:
        found = open_results(folder)
        analysis = analyse(found, tariff, method)
        if html is not None:
            from windtunnel.report.html import write_html  # charts: only for the page

            write_html(analysis, found, html, drawer)
    if csv is not None:
        write_csv(analysis, csv)
    if parquet is not None:
        write_parquet(analysis, parquet)
    if as_json:
        json.dump(to_json(analysis), sys.stdout, indent=1)
        print()
    elif markdown:
        print(to_markdown(analysis), end="")
    elif full:
        print_report(analysis, Console())
    else:
        print_summary(analysis, Console(), folder, html)
    for path in (html, csv, parquet):
        if path is not None:
            print(f"wrote {path}", file=sys.stderr)
