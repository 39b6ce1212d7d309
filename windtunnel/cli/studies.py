"""``demo``, ``run``, ``plan``, ``check``, ``report``."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from windtunnel.analysis.analyse import analyse
from windtunnel.cli.progress import listener_for
from windtunnel.cluster import parse_assignment
from windtunnel.errors import InterruptedStudyError, StudyStoppedError, UsageError
from windtunnel.report import print_report, to_json, write_csv, write_html, write_parquet
from windtunnel.results.folder import read_results
from windtunnel.study.check import check_plan
from windtunnel.study.file import load_study
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import Plan, make_plan
from windtunnel.study.runner import Runner
from windtunnel.testbeds import find_testbed
from windtunnel.testbeds.base import Testbed

DEFAULT_FOLDER = Path("windtunnel-results")

Study = Annotated[str, typer.Argument(help="Study file, or the name of one in the catalogue.")]
Results = Annotated[
    Path | None,
    typer.Option("--results", help="Results folder; left out: windtunnel-results/NAME."),
]
Hadoop = Annotated[str | None, typer.Option(help="Release line of Hadoop: 3.5 or 3.4.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the cluster of every treatment."),
]
Retry = Annotated[bool, typer.Option(help="Run the slots of invalid trials once more.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel demo --results my-demo")(demo)
    app.command(epilog="Example: windtunnel run my-study.yaml --results out")(run)
    app.command(epilog="Example: windtunnel plan my-study.yaml")(plan)
    app.command(epilog="Example: windtunnel check my-study.yaml")(check)
    app.command(epilog="Example: windtunnel report out --html report.html")(report)


def demo(results: Results = None, hadoop: Hadoop = None) -> None:
    """Run the demo study on real Hadoop here: stock against tuned TeraSort, with a report."""
    folder = results or DEFAULT_FOLDER / f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    _run("demo", folder, None, hadoop, retry_invalid=False)


def run(
    study: Study,
    results: Results = None,
    set_: Changes = None,
    hadoop: Hadoop = None,
    retry_invalid: Retry = False,
) -> None:
    """Run a study, or go on with one that was stopped, and report it."""
    _run(study, results, set_, hadoop, retry_invalid=retry_invalid)


def _run(
    study: str,
    results: Path | None,
    changes: list[str] | None,
    hadoop: str | None,
    *,
    retry_invalid: bool,
) -> None:
    console = Console(stderr=True)
    plan = _load(study, _overrides(changes, hadoop))
    folder = results or DEFAULT_FOLDER / plan.name
    again = ["windtunnel", "run", study, "--results", str(folder)]
    again += [word for change in changes or [] for word in ("--set", change)]
    again += ["--hadoop", hadoop] if hadoop else []
    testbed = _testbed(plan, folder / "logs")
    caveats = check_plan(plan, testbed)
    for caveat in caveats:
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"results: {folder}", markup=False, highlight=False, soft_wrap=True)
    with open_journal(folder, plan, caveats) as journal, _resumable(shlex.join(again)):
        for treatment in plan.treatments:
            testbed.prepare(plan.cluster_of(treatment))
        listener = listener_for(console)
        runner = Runner(plan, journal, testbed, listener, retry_invalid=retry_invalid)
        try:
            with _gentle_interrupt(runner, console):
                runner.run()
        finally:
            listener.close()
    found = read_results(folder)
    analysis = analyse(found)
    write_html(analysis, found, folder / "report.html")
    print_report(analysis, Console())
    print(f"\nResults: {folder}\nReport:  {folder / 'report.html'}")


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


def plan(study: Study, set_: Changes = None, hadoop: Hadoop = None) -> None:
    """Show what a study would run, in which order, and what the testbed cannot realise."""
    console = Console()
    found = _load(study, _overrides(set_, hadoop))
    caveats = check_plan(found, _testbed(found, Path("logs")))
    say = _say(console)
    say(f"study {found.name} on the testbed {found.testbed}, cluster {found.base.name}")
    for treatment in found.treatments:
        levels = ", ".join(f"{name}={label}" for name, label in treatment.levels.items())
        mark = "  (baseline)" if treatment.levels == dict(found.baseline) else ""
        say(f"  treatment {treatment.id}: {levels or 'as described'}{mark}")
        for path, value in treatment.overrides.items():
            say(f"      {path} = {json.dumps(value)}")
    protocol = found.protocol
    for number in range(1, protocol.rounds + 1):
        order = ", ".join(
            f"{slot.workload}/{slot.treatment.id}" for slot in found.round_slots(number)
        )
        say(f"  round {number}: {order}")
    passes = protocol.rounds + protocol.warmup
    trials = passes * len(found.treatments) * len(found.workloads)
    extra = protocol.extra_rounds * len(found.treatments) * len(found.workloads)
    warmup = f" ({protocol.warmup} of {passes} passes warm up)" if protocol.warmup else ""
    say(f"  {trials} trials{warmup}, up to {extra} more where the variation passes the limit")
    for caveat in caveats:
        say(f"  note: {caveat}")


def check(study: Study, set_: Changes = None, hadoop: Hadoop = None) -> None:
    """Check a study file without running anything."""
    console = Console()
    found = _load(study, _overrides(set_, hadoop))
    for caveat in check_plan(found, _testbed(found, Path("logs"))):
        _say(console)(f"note: {caveat}")
    print(f"{study}: good; {len(found.treatments)} treatments x {len(found.workloads)} workloads")


def report(
    folder: Annotated[Path, typer.Argument(help="Results folder.")],
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write trials x phases x metrics.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="The same as Parquet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Report a results folder: on the terminal, as a page, as data."""
    found = read_results(folder)
    analysis = analyse(found)
    if html is not None:
        write_html(analysis, found, html)
    if csv is not None:
        write_csv(analysis, csv)
    if parquet is not None:
        write_parquet(analysis, parquet)
    if as_json:
        json.dump(to_json(analysis), sys.stdout, indent=1)
        print()
    else:
        print_report(analysis, Console())
    for path in (html, csv, parquet):
        if path is not None:
            print(f"wrote {path}", file=sys.stderr)


def _load(study: str, overrides: dict[str, Any]) -> Plan:
    return make_plan(*load_study(study), overrides)


def _testbed(plan: Plan, logs: Path) -> Testbed:
    return find_testbed(plan.testbed)(logs, lambda text: None)


def _overrides(changes: list[str] | None, hadoop: str | None) -> dict[str, Any]:
    found = dict(parse_assignment(change) for change in changes or [])
    if hadoop is not None:
        if hadoop not in ("3.4", "3.5"):
            raise UsageError(f"--hadoop {hadoop}: no such release line", remedy="use 3.5 or 3.4.")
        found["software.hadoop"] = hadoop
    return found


def _say(console: Console) -> Any:
    return lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True)
