"""``reproduce``: the claims of published studies, measured and predicted here."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import os
import shlex
import signal
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import DEFAULT_FOLDER
from windtunnel.cli.studies import Results, conduct
from windtunnel.errors import UsageError, WindtunnelError, is_interrupt

if TYPE_CHECKING:
    from windtunnel.published.claims import Claims
    from windtunnel.report.reproduction import Study

FOLDER = DEFAULT_FOLDER / "reproduce"
PAGE, DATA, ALL_PAGE = "reproduction.html", "reproduction.json", "all.html"
QUICK_S, QUICK_END_S = 5 * 60, 8 * 60
"""When ``--quick`` stops after the present trial, and when it stops it: the page takes the rest."""
QUICK_ROUND_MIN = 10.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: windtunnel reproduce intel-2012 --quick")(reproduce)


def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(help="Published study; see 'catalogue list'.", show_default=False),
    ] = None,
    results: Results = None,
    all_: Annotated[bool, typer.Option("--all", help="All published studies.")] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Start real clusters for at most 10 minutes: run one round of the shortest "
            "study, then stop.",
        ),
    ] = False,
    claim: Annotated[
        str | None,
        typer.Option(metavar="CLAIM", help="Print one claim: evidence, command, time, resources."),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="With --claim: run the study that measures it.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Stop after one round of every run; default: all rounds.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Report the present results; start nothing.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print all rows of the table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Measure and predict the claims of a published study, with a verdict for each claim.

    Without --report or --claim, the command starts real clusters and measures.
    The command runs one round of every run, then the other rounds, and resumes what was stopped. It
    writes a page to the results folder.
    """
    from windtunnel.published.claims import study_claims

    names = _names(study, all_=all_)
    folder = results or FOLDER
    failed: dict[str, list[str]] = {}
    first: WindtunnelError | None = None
    if claim is not None:
        if len(names) != 1:
            raise UsageError("--claim requires one study", remedy="replace --all by its name.")
        claims = study_claims(names[0])
        _print_claim(claims, folder, claim)
        here = claims.claim(claim).here
        if not run:
            return
        if here is None:
            raise UsageError(
                f"the claim '{claim}' cannot be measured here: {claims.claim(claim).cannot}",
                remedy="omit --run; the claim is compared with the prediction, if there is one.",
            )
        _execute(claims, here.run, folder, first_only=False)
        _print_claim(claims, folder, claim)
        return
    if run:
        raise UsageError("--run requires --claim", remedy="add --claim CLAIM.")
    if not report:
        with _time_limit(QUICK_S, QUICK_END_S) if quick else _no_limit():
            failed, first = _execute_all(names, folder, once=quick or once, quick=quick)
    _conclude(names, folder, failed, full=full, as_json=as_json)
    if first is not None:
        raise first


def _names(study: str | None, *, all_: bool) -> list[str]:
    from windtunnel.published.names import published_names
    from windtunnel.published.sources import published_name

    if all_ == (study is not None):
        raise UsageError(
            "one published study or --all is required",
            remedy=f"the studies are: {', '.join(published_names())}.",
        )
    return published_names() if study is None else [published_name(study)]


def _execute_all(
    names: Sequence[str], folder: Path, *, quick: bool, once: bool
) -> tuple[dict[str, list[str]], WindtunnelError | None]:
    """Run or resume the runs of the studies; returns the failures, by study, and the first."""
    from windtunnel.published.claims import study_claims

    jobs = [(study_claims(name), run) for name in names for run in study_claims(name).runs]
    if quick:
        jobs = _cheapest(jobs)
    _print_time(jobs, folder)
    failed: dict[str, list[str]] = {}
    first: WindtunnelError | None = None
    passes = [True] if once else [True, False]
    for first_only in passes:
        for claims, run in jobs:
            if any(text.startswith(f"{run}: ") for text in failed.get(claims.study, [])):
                continue
            try:
                more = (first_only, claims, run) != (passes[-1], *jobs[-1])
                _execute(claims, run, folder, first_only=first_only, more=more)
            except (Exception, KeyboardInterrupt) as error:
                if quick and is_interrupt(error):
                    print(f"{run}: the time of --quick is over; resumable", file=sys.stderr)
                    return failed, first
                if is_interrupt(error) or not isinstance(error, WindtunnelError):
                    raise
                print(error.render(), file=sys.stderr)
                failed.setdefault(claims.study, []).append(f"{run}: {error.message}")
                first = first or error
    for claims in [] if quick else map(study_claims, names):
        try:
            _check_storage(claims, folder)
        except WindtunnelError as error:
            print(error.render(), file=sys.stderr)
            failed.setdefault(claims.study, []).append(f"storage-checks: {error.message}")
            first = first or error
    return failed, first


def _check_storage(claims: Claims, folder: Path) -> None:
    """Test the behaviour of files on the storage of a study, once."""
    from windtunnel.cli.storage_checks import answers
    from windtunnel.published.features import CHECKS_FILE
    from windtunnel.report.atomic import write_bytes

    target = folder / claims.study / CHECKS_FILE
    if claims.storage_checks is None or target.exists():
        return
    print(f"{claims.study}: storage-checks {claims.storage_checks}", file=sys.stderr)
    found = json.dumps(answers(claims.storage_checks), indent=1)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, found.encode())


def _cheapest(jobs: Sequence[tuple[Claims, str]]) -> list[tuple[Claims, str]]:
    """The run with the shortest round of each study, as many as fit into the time together.

    A run that measures only the table of features comes after those that measure claims.
    """
    best: dict[str, tuple[Claims, str]] = {}

    def cost(job: tuple[Claims, str]) -> tuple[bool, float]:
        claims, run = job
        measures = any(one.here is not None and one.here.run == run for one in claims.claims)
        return not measures, claims.runs[run].minutes

    for claims, run in sorted(jobs, key=cost):
        best.setdefault(claims.study, (claims, run))
    found: list[tuple[Claims, str]] = []
    minutes = 0.0
    for claims, run in best.values():
        minutes += claims.runs[run].minutes
        if not found or minutes <= QUICK_ROUND_MIN:
            found.append((claims, run))
    return found


def _execute(
    claims: Claims, run: str, folder: Path, *, first_only: bool, more: bool = False
) -> None:
    """Run or resume one run: its first round, or all of its rounds; ``more`` runs follow."""
    from windtunnel.study.file import load_study
    from windtunnel.study.plan import make_plan

    target = folder / claims.study / run
    plan = make_plan(*load_study(run))
    print(f"{claims.study}: {run}", file=sys.stderr)
    again = ["windtunnel", "reproduce", claims.study, "--results", str(folder)]
    last_round = plan.protocol.first_rounds if first_only else None
    conduct(plan, target, again, retry_invalid=True, last_round=last_round, more=more)


def _print_time(jobs: Sequence[tuple[Claims, str]], folder: Path) -> None:
    """The time of each run, from its own trials if it has some, and the sum."""
    total = 0.0
    for claims, run in jobs:
        minutes, basis = _minutes(claims, run, folder)
        total += minutes
        needs = claims.runs[run].needs
        print(
            f"{claims.study} {run}: about {minutes:.0f} min per round ({basis}); needs {needs}",
            file=sys.stderr,
        )
    print(f"in all about {total:.0f} min per round; every round is resumable", file=sys.stderr)


def _minutes(claims: Claims, run: str, folder: Path) -> tuple[float, str]:
    from windtunnel.results.folder import read_results

    target = folder / claims.study / run
    if (target / "study.json").is_file():
        times = [t.finished_at - t.started_at for t in read_results(target).trials]
        if times:
            one = statistics.median(times)
            return one * claims.runs[run].treatments / 60, f"{len(times)} trials so far"
    return claims.runs[run].minutes, "estimated on two cores"


def _print_claim(claims: Claims, folder: Path, name: str) -> None:
    from windtunnel.published.reproduce import reproduce as reproduced
    from windtunnel.report.reproduction import lines

    claim = claims.claim(name)
    found = reproduced(claims.study, folder / claims.study)
    row = next(one for one in found.rows if one.id == name)
    for line in lines(row):
        print(line)
    if claim.here is None:
        print(f"  here:      cannot be measured: {claim.cannot}")
        return
    minutes, basis = _minutes(claims, claim.here.run, folder)
    options = [] if folder == FOLDER else ["--results", str(folder)]
    print(f"  command:   {shlex.join([*shlex.split(row.command), *options])}")
    print(f"  time:      about {minutes:.0f} min per round ({basis}), three rounds")
    print(f"  resources: {claims.runs[claim.here.run].needs}")


def _conclude(
    names: Sequence[str], folder: Path, failed: dict[str, list[str]], *, full: bool, as_json: bool
) -> None:
    """Report the studies, and write their pages and the page on all studies."""
    from rich.console import Console

    from windtunnel.report.atomic import write_bytes
    from windtunnel.report.reproduction import print_study, to_json
    from windtunnel.report.reproduction_page import all_page, study_page

    studies = [_study(name, folder, failed.get(name, [])) for name in names]
    for study in studies:
        target = folder / study.name
        target.mkdir(parents=True, exist_ok=True)
        write_bytes(target / PAGE, study_page(study).encode())
        write_bytes(target / DATA, json.dumps(to_json(study), indent=1).encode())
    if len(studies) > 1:
        write_bytes(folder / ALL_PAGE, all_page(studies).encode())
        print(f"wrote {folder / ALL_PAGE}", file=sys.stderr)
    for study in studies:
        print(f"wrote {folder / study.name / PAGE}", file=sys.stderr)
    if as_json:
        data = [to_json(study) for study in studies]
        json.dump(data if len(data) > 1 else data[0], sys.stdout, indent=1)
        print()
        return
    console = Console()
    for study in studies:
        print_study(study, console, full=full)


def _study(name: str, folder: Path, failed: Sequence[str]) -> Study:
    """The data for the report of a study: claims, review, runs and their similarity."""
    from windtunnel.analysis.subjects.similarity import consequences, with_measured_start_up
    from windtunnel.published import PREFIX
    from windtunnel.published.reproduce import reproduce as reproduced
    from windtunnel.published.review import open_case, review
    from windtunnel.report.reproduction import Point, Study
    from windtunnel.report.sections import headline

    found = reproduced(name, folder / name)
    case = open_case(f"{PREFIX}{name}")
    points = [
        Point(p.severity, f"{p.subject}{_both(p.stated, p.found)}", p.means)
        for p in review(case).points
    ]
    runs = [
        (run, sum(t.verdict == "valid" for t in one.trials), headline(one))
        for run, one in found.measured.items()
    ]
    similarity = [
        f"{run}: {line}"
        for run, one in found.measured.items()
        if (scale := with_measured_start_up(one.study, one.results.trials)) is not None
        for line in dict.fromkeys(consequences(scale))
    ]
    said = headline(case.analysis)
    return Study(
        name,
        found.question,
        f"{said.rstrip('.')}.",
        found.rows,
        points,
        runs,
        similarity,
        found.deviations,
        found.fits,
        failed,
        found.features,
    )


def _both(stated: str, found: str) -> str:
    """The two numbers of a point of a review; empty if it has none."""
    return f": stated {stated}, found {found}" if stated else ""


@contextmanager
def _time_limit(stop_s: float, end_s: float) -> Iterator[None]:
    """Two interrupts, as by Ctrl-C: the first stops after the present trial, the second at once."""
    timers = [
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        for seconds in (stop_s, end_s)
    ]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


@contextmanager
def _no_limit() -> Iterator[None]:
    yield
