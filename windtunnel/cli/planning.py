"""``plan`` and ``check``: they describe what a study would run, and start nothing."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.analysis.formatting import plural
from windtunnel.cli.options import DEFAULT_FOLDER, Changes, Hadoop, Study, load, testbed_of

if TYPE_CHECKING:
    from windtunnel.study.history import Forecast
    from windtunnel.study.plan import Plan, Slot

_LISTED = 10  # rows of a list, unless --all is given

History = Annotated[
    list[Path] | None,
    typer.Option(
        "--history",
        metavar="DIR",
        help="Results folder, or a folder of results folders, from which the duration of trials "
        "is estimated; repeatable; default: windtunnel-results.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel plan my-study.yaml")(plan)
    app.command(epilog="Example: windtunnel check my-study.yaml")(check)


def plan(
    study: Study,
    set_: Changes = None,
    hadoop: Hadoop = None,
    history: History = None,
    all_: Annotated[
        bool,
        typer.Option("--all", help=f"Print lists in full; default: their first {_LISTED} rows."),
    ] = False,
    propose: Annotated[
        bool,
        typer.Option(
            "--propose",
            help="Instead of the plan, propose a scale for this machine: the one whose ratios have "
            "the smallest expected error.",
        ),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="With --propose: the time of the whole study, such as 3h or 90 min. "
            "Default: ten minutes per trial.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Print what a study would run, in which order and for how long, without running it.

    The plan also lists the effects that its design cannot separate.
    """
    from rich.console import Console

    from windtunnel.study.check import check_plan, study_request
    from windtunnel.study.history import forecast, past_of
    from windtunnel.testbeds.base import ClusterTestbed

    if propose:
        from windtunnel.cli.scaling import print_proposal

        print_proposal(study, set_, hadoop, within, as_json=as_json)
        return
    if within is not None:
        from windtunnel.errors import UsageError

        raise UsageError("--within requires --propose", remedy="add --propose.")
    found = load(study, set_, hadoop)
    testbed = testbed_of(found, Path("logs"))
    caveats = check_plan(found, testbed, every=False)
    expected = forecast(found, past_of(found, history or [], DEFAULT_FOLDER))
    if as_json:
        json.dump(to_json(found, expected, caveats), sys.stdout, indent=1)
        print()
        return
    console = Console()
    for line in lines(found, expected, caveats, sys.maxsize if all_ else _LISTED):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if isinstance(testbed, ClusterTestbed):
        for line in testbed.footprint(study_request(found), expected.seconds):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def check(study: Study, set_: Changes = None, hadoop: Hadoop = None) -> None:
    """Check a study file and all its treatments, without running anything."""
    from rich.console import Console

    from windtunnel.study.check import check_plan

    console = Console()
    found = load(study, set_, hadoop)
    for caveat in check_plan(found, testbed_of(found, Path("logs"))):
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    treatments, workloads = len(found.treatments), len(found.workloads)
    print(f"{study}: valid; {plural(treatments, 'treatment')} x {plural(workloads, 'workload')}")


def lines(found: Plan, expected: Forecast, caveats: Sequence[str], limit: int) -> Iterator[str]:
    """The plan as text; a list of more than ``limit`` rows is cut, with a note."""
    from windtunnel.cli.scaling import similarity_lines
    from windtunnel.study.record import scale_record

    said = found.testbed_options.words()
    testbed = " ".join(filter(None, (found.testbed, f"({said})" if said else "")))
    yield f"study {found.name} on the testbed {testbed}, cluster {found.base.name}"
    options = ", ".join(f"{name} {value}" for name, value in found.design.options.items())
    design = found.design.kind + (f" ({options})" if options else "")
    yield f"  design {design}: {plural(len(found.treatments), 'treatment')}"
    yield from _cut(_treatments(found), len(found.treatments), limit, "treatments")
    for number in range(1, expected.rounds + 1):
        if number > limit:
            yield f"  and {plural(expected.rounds - limit, 'more round')} (--all shows them)"
            break
        yield f"  round {number}: {_order(found, found.round_slots(number), limit)}"
    yield from _protocol(found)
    confounded = found.design.confounded
    if confounded:
        yield "  effects that this design cannot separate:"
        yield from _cut((f"    {line}" for line in confounded), len(confounded), limit, "lines")
    for line in expected.lines:
        yield f"  {line}"
    looked_at = len(found.looked_at)
    if looked_at < len(found.treatments):
        yield (
            f"  {looked_at} of {len(found.treatments)} treatments were checked, which contain "
            "every pair of levels; 'check' and 'run' check all"
        )
    for caveat in caveats:
        yield f"  note: {caveat}"
    if (record := scale_record(found)) is not None:
        yield from similarity_lines(record)


def _treatments(found: Plan) -> Iterator[str]:
    """A text for each treatment, with the values that its levels set unless they are obvious."""
    from windtunnel.study.faults import FAULT, faults_of

    for treatment in found.treatments:
        levels = ", ".join(f"{name}={label}" for name, label in treatment.levels.items())
        mark = "  (baseline)" if treatment.levels == dict(found.baseline) else ""
        name = found.names[treatment.id]
        rows = [f"  treatment {name}: {levels or 'the cluster as described'}{mark}"]
        rows += [
            f"      {path} = {json.dumps(value)}"
            for path, value in treatment.overrides.items()
            if path not in treatment.levels and path != FAULT
        ]
        cluster = found.cluster_of(treatment) if FAULT in treatment.overrides else found.base
        for fault in faults_of(treatment):
            rows.append(f"      fault: {fault.words(cluster)}")
            rows += [f"        {line}" for line in fault.detection_words(cluster)]
        yield "\n".join(rows)


def _order(found: Plan, slots: Sequence[Slot], limit: int) -> str:
    shown = [found.name_of(slot) for slot in slots[:limit]]
    more = f"; and {len(slots) - limit} more" if len(slots) > limit else ""
    return "; ".join(shown) + more


def _cut(rows: Iterable[str], count: int, limit: int, noun: str) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == limit:
            yield f"  and {count - limit} more {noun} (--all shows them)"
            return
        yield row


def counts(found: Plan) -> dict[str, int]:
    """Numbers of trials: planned trials, the warm-up trials among them, maximum of extra trials."""
    protocol = found.protocol
    cells = len(found.treatments) * len(found.workloads)
    grown = (protocol.max_rounds or protocol.rounds) - protocol.rounds
    return {
        "trials": (protocol.rounds + protocol.warmup) * cells,
        "warmup_trials": protocol.warmup * cells,
        "more_rounds_trials_at_most": grown * cells,
        "extra_trials_at_most": protocol.extra_rounds * cells,
    }


def _protocol(found: Plan) -> Iterator[str]:
    protocol, count = found.protocol, counts(found)
    warmup = f" (warm-up: {count['warmup_trials']})" if protocol.warmup else ""
    pilot = " of the pilot" if protocol.detect is not None else ""
    extra = (
        f", up to {count['extra_trials_at_most']} more if the variation exceeds the limit "
        f"({protocol.retest})"
    )
    more = extra if protocol.extra_rounds else ""
    yield f"  {plural(count['trials'], 'trial')}{pilot}{warmup}{more}"
    said = {
        "preset": (protocol.preset, protocol.preset != "windtunnel"),
        "cache": (protocol.cache, protocol.cache != "warm"),
        "restart of the cluster: each": (protocol.restart, protocol.restart != "never"),
        "pause between trials:": (f"{protocol.pause:g} s", protocol.pause > 0),
    }
    for noun, (value, is_set) in said.items():
        if is_set:
            yield f"  {noun} {value}"
    for rule, limit in protocol.invalidate.rules().items():
        yield f"  rule that makes a trial invalid: {rule} {limit:g}"


def _detections(found: Plan) -> Iterator[dict[str, Any]]:
    """How Hadoop notices the faults of the treatments, with times in seconds."""
    from dataclasses import asdict

    from windtunnel.study.faults import faults_of

    for treatment in found.treatments:
        if not (faults := faults_of(treatment)):
            continue
        cluster = found.cluster_of(treatment)
        for fault in faults:
            lead = {"treatment": treatment.id, "fault": fault.words(cluster)}
            yield from (lead | asdict(detection) for detection in fault.detections(cluster))


def to_json(found: Plan, expected: Forecast, caveats: Sequence[str]) -> dict[str, Any]:
    """The whole plan as data."""
    from windtunnel.study.record import scale_record

    numbers = range(1, expected.rounds + 1)
    record = scale_record(found)
    return {
        "study": found.name,
        "question": found.question,
        "testbed": found.testbed,
        "testbed_options": found.testbed_options.to_record(),
        "cluster": found.base.name,
        "fingerprint": found.fingerprint,
        "design": found.design.model_dump(mode="json"),
        "factors": dict(found.factors),
        "baseline": dict(found.baseline),
        "treatments": [treatment.model_dump(mode="json") for treatment in found.treatments],
        "fault_detection": list(_detections(found)),
        "rounds": [[slot.id for slot in found.round_slots(number)] for number in numbers],
        **counts(found),
        "protocol": found.protocol.to_record().model_dump(mode="json"),
        "scale": None if record is None else record.model_dump(mode="json"),
        "expected_s": expected.seconds,
        "expected": expected.lines,
        "notes": list(caveats),
    }
