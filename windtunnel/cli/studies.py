"""``demo``, ``run``, ``report``."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import (
    DEFAULT_FOLDER,
    Changes,
    Hadoop,
    Open,
    Study,
    load,
    refuse_both,
    refuse_same_file,
    testbed_of,
)
from windtunnel.errors import (
    InterruptedStudyError,
    InvalidTrialsError,
    StudyStoppedError,
    UsageError,
)

if TYPE_CHECKING:
    from windtunnel.study.plan import Plan

Results = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="DIR",
        help="Results folder; default: a folder in windtunnel-results, which is printed.",
        show_default=False,
    ),
]
Retry = Annotated[bool, typer.Option(help="Repeat the trials whose attempts were all invalid.")]
Pilot = Annotated[
    bool,
    typer.Option(
        "--pilot",
        help="Stop after the pilot, or after the first round if the protocol has no pilot; the "
        "same command without this option resumes the study.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel demo --results my-demo")(demo)
    app.command(epilog="Example: windtunnel run my-study.yaml --results out")(run)
    app.command(epilog="Example: windtunnel report out --html report.html")(report)


def demo(results: Results = None, hadoop: Hadoop = None, open_: Open = False) -> None:
    """Run the demo study on this machine: TeraSort with stock and tuned settings."""
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
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Same as 'plan': print what the study would run, and on the testbed 'attached' "
            "its jobs, bytes, container-hours, paths and requests; run nothing.",
        ),
    ] = False,
) -> None:
    """Run a study, or resume a stopped one, and print its report."""
    if dry_run:
        from windtunnel.cli.planning import plan

        plan(study, set_, hadoop)
        return
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
    from windtunnel.hosts.isolation.policy import FLAG

    plan = load(study, changes, hadoop)
    if pilot and plan.predicts:
        raise UsageError(
            f"the testbed '{plan.testbed}' predicts, so that there is no pilot",
            remedy="remove --pilot.",
        )
    folder = results or DEFAULT_FOLDER / plan.name
    again = ["windtunnel", "run", study, "--results", str(folder)]
    again += [word for change in changes or [] for word in ("--set", change)]
    again += ["--hadoop", hadoop] if hadoop else []
    again += [FLAG] if permit_open else []
    conduct(
        plan,
        folder,
        again,
        retry_invalid=retry_invalid,
        retry_option="--retry-invalid",
        last_round=plan.protocol.first_rounds if pilot else None,
        permit_open=permit_open,
    )
    conclude(folder)
    if pilot:
        print(f"The pilot is done. To resume the study: {shlex.join(again)}")


def conduct(
    plan: Plan,
    folder: Path,
    again: list[str],
    *,
    retry_invalid: bool,
    retry_option: str = "",
    last_round: int | None = None,
    permit_open: bool = False,
    more: bool = False,
) -> None:
    """Run or resume a plan, up to ``last_round`` if it is set.

    With ``more``, other studies follow: a stop that was requested in the last trial of this study
    ends the command, too.

    ``again`` is the command that resumes it, for messages, and ``retry_option`` the option with
    which this command repeats invalid trials; empty if it always does.
    """
    from rich.console import Console

    from windtunnel.analysis.formatting import plural
    from windtunnel.cli.interrupts import gentle_interrupt
    from windtunnel.cli.progress import listener_for
    from windtunnel.hosts.isolation.folders import refuse_shared
    from windtunnel.study.check import check_plan
    from windtunnel.study.journal import open_journal
    from windtunnel.study.predicting import predict_plan
    from windtunnel.study.record import study_record
    from windtunnel.study.runner import Runner
    from windtunnel.testbeds.base import PredictingTestbed

    console = Console(stderr=True)
    testbed = testbed_of(plan, folder / "logs")
    if permit_open and not isinstance(testbed, PredictingTestbed):
        testbed.permit_open()
    caveats = check_plan(plan, testbed)
    for caveat in caveats:
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"results: {folder}", markup=False, highlight=False, soft_wrap=True)
    refuse_shared(folder.absolute(), "--results")
    with (
        open_journal(folder, study_record(plan, caveats)) as journal,
        _resumable(shlex.join(again), retry_option),
    ):
        if isinstance(testbed, PredictingTestbed):
            made = predict_plan(plan, journal, testbed)
            console.print(f"{plural(made, 'trial')} predicted", highlight=False)
            return
        for cluster in plan.clusters(plan.treatments):
            testbed.prepare(cluster, plan.engines())
        listener = listener_for(console, plan.name_of)
        runner = Runner(
            plan, journal, testbed, listener, retry_invalid=retry_invalid, last_round=last_round
        )
        try:
            with gentle_interrupt(runner, console):
                runner.run()
            if more and runner.stop_requested:
                raise InterruptedStudyError("stopped on request")
        finally:
            listener.close()


def conclude(folder: Path) -> None:
    """Report the results on the terminal and as a page in the results folder."""
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
def _resumable(how: str, retry_option: str) -> Iterator[None]:
    """Add the command that resumes the study to the errors that stop it."""
    try:
        yield
    except InterruptedStudyError as error:
        error.remedy = f"to resume the study, run: {how}"
        raise
    except InvalidTrialsError as error:
        again = f"{how} {retry_option}".rstrip()
        error.remedy = f"fix the cause, then run (valid trials are kept): {again}"
        raise
    except StudyStoppedError as error:
        resume = f"to resume the study, run: {how}"
        error.remedy = f"{error.remedy}\n    {resume}" if error.remedy else resume
        raise
    except KeyboardInterrupt as interrupt:
        resume = f"to resume the study, run: {how}"
        left: list[str] = getattr(interrupt, "__notes__", [])  # of 'removing'
        if not left:
            raise InterruptedStudyError(
                "stopped immediately; the interrupted trial is not recorded", remedy=resume
            ) from None
        raise InterruptedStudyError(
            f"stopped before everything was removed: {' and '.join(left)} can be left",
            remedy=f"to remove them, run: windtunnel clean\n    {resume}",
        ) from None


def report(
    folder: Annotated[str, typer.Argument(help="Results folder, or published:NAME.")],
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the report as one self-contained HTML page."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write one row per trial, phase and metric to a CSV file."
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the same rows to a Parquet file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print Markdown instead of text, for an issue or a wiki."),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Print the full report instead of a summary of at most 40 lines."
        ),
    ] = False,
    interval: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Method of the confidence intervals of means: t, or bca (bootstrap, for cells "
            "of 8 trials or more).",
        ),
    ] = "t",
    years: Annotated[
        float | None,
        typer.Option(help="Costs: years of use; default: 3.", show_default=False),
    ] = None,
    utilisation: Annotated[
        str | None,
        typer.Option(
            metavar="FRACTION",
            help="Costs: fraction of the time in which the cluster is in use, such as '60 %'; "
            "default: 100 %.",
            show_default=False,
        ),
    ] = None,
    electricity: Annotated[
        str | None,
        typer.Option(
            metavar="PRICE",
            help="Costs: price of electricity, such as '0.15 USD/kWh'; default: 0.13 USD/kWh.",
            show_default=False,
        ),
    ] = None,
    pue: Annotated[
        float | None,
        typer.Option(
            help="Costs: power usage effectiveness of the data centre; default: 1.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Report a results folder on the terminal, as an HTML page or as data."""
    from rich.console import Console

    from windtunnel.analysis.analyse import analyse
    from windtunnel.analysis.cost.tariff import parse_tariff
    from windtunnel.analysis.statistics.intervals import method_named
    from windtunnel.published import open_results
    from windtunnel.report.chart_process import Drawer
    from windtunnel.report.export import to_json, write_csv, write_parquet
    from windtunnel.report.markdown import to_markdown
    from windtunnel.report.terminal import print_report, print_summary

    refuse_both({"--json": as_json, "--markdown": markdown})
    refuse_same_file({"--html": html, "--csv": csv, "--parquet": parquet})
    tariff = parse_tariff(years, utilisation, electricity, pue)
    method = method_named(interval)
    with Drawer() if html is not None else nullcontext() as drawer:
        found = open_results(folder)
        analysis = analyse(found, tariff, method)
        if html is not None:
            from windtunnel.report.html import write_html  # only the page needs the charts

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
