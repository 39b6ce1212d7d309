"""``plan`` and ``check``: what a study would run, before anything runs."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli.options import DEFAULT_FOLDER, Changes, Hadoop, Study, load, testbed_of

if TYPE_CHECKING:
    from windtunnel.study.history import Forecast
    from windtunnel.study.plan import Plan, Slot

_LISTED = 10  # rows of a list, unless all are asked for

History = Annotated[
    list[Path] | None,
    typer.Option(
        "--history",
        help="Results folder, or a folder of them, that tells how long trials take; "
        "left out: windtunnel-results.",
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
    all_: Annotated[bool, typer.Option("--all", help="Print long lists whole.")] = False,
    propose: Annotated[
        bool,
        typer.Option("--propose", help="Propose a scale at which this machine carries a model."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Show what a study would run, in which order, how long, and what it cannot tell."""
    from rich.console import Console

    from windtunnel.study.check import check_plan
    from windtunnel.study.history import forecast, past_of

    if propose:
        from windtunnel.cli.scaling import print_proposal

        print_proposal(study, set_, hadoop, as_json=as_json)
        return
    found = load(study, set_, hadoop)
    caveats = check_plan(found, testbed_of(found, Path("logs")), every=False)
    expected = forecast(found, past_of(found, history or [], DEFAULT_FOLDER))
    if as_json:
        json.dump(to_json(found, expected, caveats), sys.stdout, indent=1)
        print()
        return
    console = Console()
    for line in lines(found, expected, caveats, sys.maxsize if all_ else _LISTED):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def check(study: Study, set_: Changes = None, hadoop: Hadoop = None) -> None:
    """Check a study file, every treatment of it, without running anything."""
    from rich.console import Console

    from windtunnel.study.check import check_plan

    console = Console()
    found = load(study, set_, hadoop)
    for caveat in check_plan(found, testbed_of(found, Path("logs"))):
        console.print(f"note: {caveat}", markup=False, highlight=False, soft_wrap=True)
    print(f"{study}: good; {len(found.treatments)} treatments x {len(found.workloads)} workloads")


def lines(found: Plan, expected: Forecast, caveats: Sequence[str], limit: int) -> Iterator[str]:
    """The plan as text; lists of more than ``limit`` rows are cut, and say so."""
    yield f"study {found.name} on the testbed {found.testbed}, cluster {found.base.name}"
    options = ", ".join(f"{name} {value}" for name, value in found.design.options.items())
    design = found.design.kind + (f" ({options})" if options else "")
    yield f"  design {design}: {len(found.treatments)} treatments"
    yield from _cut(_treatments(found), len(found.treatments), limit, "treatments")
    for number in range(1, expected.rounds + 1):
        if number > limit:
            yield f"  and {expected.rounds - limit} more rounds (--all shows them)"
            break
        yield f"  round {number}: {_order(found.round_slots(number), limit)}"
    yield from _protocol(found)
    confounded = found.design.confounded
    if confounded:
        yield "  what this design cannot tell apart:"
        yield from _cut((f"    {line}" for line in confounded), len(confounded), limit, "lines")
    for line in expected.lines:
        yield f"  {line}"
    looked_at = len(found.looked_at)
    if looked_at < len(found.treatments):
        yield (
            f"  {looked_at} of {len(found.treatments)} treatments were looked at, which hold "
            "every pair of levels; 'check' and 'run' look at all"
        )
    for caveat in caveats:
        yield f"  note: {caveat}"
    if found.scale is not None:
        from windtunnel.cli.scaling import similarity_lines
        from windtunnel.study.model import scale_record

        record = scale_record(found)
        assert record is not None
        yield f"  scale: {found.scale}"
        yield from similarity_lines(record)


def _treatments(found: Plan) -> Iterator[str]:
    """A text for each treatment; what its levels set only where the levels do not say it."""
    from windtunnel.study.faults import FAULT, faults_of

    for treatment in found.treatments:
        levels = ", ".join(f"{name}={label}" for name, label in treatment.levels.items())
        mark = "  (baseline)" if treatment.levels == dict(found.baseline) else ""
        rows = [f"  treatment {treatment.id}: {levels or 'as described'}{mark}"]
        rows += [
            f"      {path} = {json.dumps(value)}"
            for path, value in treatment.overrides.items()
            if path not in treatment.levels and path != FAULT
        ]
        cluster = found.cluster_of(treatment) if FAULT in treatment.overrides else found.base
        rows += [f"      fault: {fault.words(cluster)}" for fault in faults_of(treatment)]
        yield "\n".join(rows)


def _order(slots: Sequence[Slot], limit: int) -> str:
    shown = [f"{slot.workload}/{slot.treatment.id}" for slot in slots[:limit]]
    more = f" and {len(slots) - limit} more" if len(slots) > limit else ""
    return ", ".join(shown) + more


def _cut(rows: Iterable[str], count: int, limit: int, noun: str) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == limit:
            yield f"  and {count - limit} more {noun} (--all shows them)"
            return
        yield row


def counts(found: Plan) -> dict[str, int]:
    """Numbers of trials: certain, of them warm-up, and at most beyond them."""
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
    warmup = f" ({count['warmup_trials']} of them warm up)" if protocol.warmup else ""
    pilot = " of the pilot" if protocol.detect is not None else ""
    extra = (
        f", up to {count['extra_trials_at_most']} more where the variation passes the limit "
        f"({protocol.retest})"
    )
    yield f"  {count['trials']} trials{pilot}{warmup}{extra if protocol.extra_rounds else ''}"
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
        yield f"  a trial is invalid by the rule {rule}: {limit:g}"


def to_json(found: Plan, expected: Forecast, caveats: Sequence[str]) -> dict[str, Any]:
    """The whole plan as data."""
    from windtunnel.study.model import scale_record

    numbers = range(1, expected.rounds + 1)
    record = scale_record(found)
    return {
        "study": found.name,
        "question": found.question,
        "testbed": found.testbed,
        "cluster": found.base.name,
        "fingerprint": found.fingerprint,
        "design": found.design.model_dump(mode="json"),
        "factors": dict(found.factors),
        "baseline": dict(found.baseline),
        "treatments": [treatment.model_dump(mode="json") for treatment in found.treatments],
        "rounds": [[slot.id for slot in found.round_slots(number)] for number in numbers],
        **counts(found),
        "protocol": found.protocol.to_record().model_dump(mode="json"),
        "scale": None if record is None else record.model_dump(mode="json"),
        "expected_s": expected.seconds,
        "expected": expected.lines,
        "notes": list(caveats),
    }
