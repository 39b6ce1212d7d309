"""The parts of ``plan`` on scale models: the similarity report and proposed options."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from collections.abc import Iterator
from typing import TYPE_CHECKING

from windtunnel.cli.options import overrides_of, print_found

if TYPE_CHECKING:
    from windtunnel.results.record import ScaleRecord
    from windtunnel.study.plan import Plan
    from windtunnel.testbeds.base import Proposal


def similarity_lines(record: ScaleRecord) -> Iterator[str]:
    """The similarity report as text."""
    from windtunnel.analysis.subjects.similarity import (
        MODEL_TIMES,
        consequences,
        counts,
        place,
        value_words,
    )

    yield f"  similarity, full size -> model: {counts(record)}"
    for group in record.groups:
        full, model = (value_words(v, group.unit) for v in (group.full, group.model))
        yield f"    {group.state:8}{place(group)}: {group.name}: {full} -> {model}"
    for line in consequences(record):
        yield f"    {line}"
    yield f"  {MODEL_TIMES}"


def print_proposal(
    study: str,
    changes: list[str] | None,
    hadoop: str | None,
    within: str | None,
    *,
    as_json: bool,
) -> None:
    """Propose the options of a testbed for a study on this machine.

    Raises
    ------
    UsageError
        If ``within`` is no time.
    """
    found = _proposal(study, changes, hadoop, within)
    lines = (*found.lines, *similarity_lines(found.record))
    print_found(found.data, lines, as_json=as_json)


def _proposal(
    study: str, changes: list[str] | None, hadoop: str | None, within: str | None
) -> Proposal:
    from windtunnel.errors import DescriptionError
    from windtunnel.study.file import load_study, testbed_of, written
    from windtunnel.study.plan import make_plan
    from windtunnel.study.record import planned
    from windtunnel.testbeds import TESTBEDS

    # The plan is that of the full size, because there are no options yet.
    plan = make_plan(*load_study(study, any_testbed=True), overrides_of(changes, hadoop))
    treatments, trials = list(planned(plan)), _trials(plan)
    within_s = None if within is None else _seconds(within)
    given = written(study)
    options = testbed_of(given)
    proposals = (kind.propose(treatments, trials, within_s, options) for kind in TESTBEDS.values())
    try:
        return next(found for found in proposals if found is not None)
    except DescriptionError as error:
        if error.file is not None:
            raise
        # of an option of the study, which the testbed has without its file
        place = ["testbed", *([error.key] if error.key else [])]
        raise given.error(error.message, *place, remedy=error.remedy) from error


def _trials(plan: Plan) -> int:
    """Trials of the study; with ``detect``, as many as its pilot may decide on."""
    protocol = plan.protocol
    rounds = protocol.max_rounds or protocol.rounds
    return (rounds + protocol.warmup) * len(plan.treatments) * len(plan.workloads)


def _seconds(text: str) -> float:
    from windtunnel.cluster.quantity import parse_duration
    from windtunnel.errors import UsageError

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--within {error}") from error
