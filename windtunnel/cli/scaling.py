"""What ``plan`` prints of scale models: the similarity report, and a proposed scale."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from windtunnel.cli.options import overrides_of

if TYPE_CHECKING:
    from windtunnel.results.record import ScaleRecord
    from windtunnel.study.plan import Plan
    from windtunnel.testbeds.scaled.propose import Proposal


def similarity_lines(record: ScaleRecord) -> Iterator[str]:
    """The similarity report as text."""
    from windtunnel.analysis.similarity import (
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
    study: str, changes: list[str] | None, hadoop: str | None, *, as_json: bool
) -> None:
    """Propose a scale for a study on this machine."""
    from windtunnel.results.record import ScaleRecord
    from windtunnel.testbeds.scaled.propose import lines

    found = _proposal(study, changes, hadoop)
    scale = found.scale
    record = ScaleRecord(rate=scale.rate, data=scale.data, groups=found.groups)
    if as_json:
        data = {
            "scale": record.model_dump(mode="json"),
            "set": dict(found.changes),
            "hosts": found.hosts,
            "slots_per_worker": found.slots,
            "disks_per_worker": found.disks,
            "trial_s": found.trial_s,
            "study_s": found.study_s,
            "limits": found.limits,
            "notes": found.notes,
        }
        json.dump(data, sys.stdout, indent=1)
        print()
        return
    for line in (*lines(found), *similarity_lines(record)):
        print(line)


def _proposal(study: str, changes: list[str] | None, hadoop: str | None) -> Proposal:
    from windtunnel.hosts.remains import state_root
    from windtunnel.study.file import load_study
    from windtunnel.study.model import baseline_of, loads_of
    from windtunnel.study.plan import make_plan
    from windtunnel.testbeds.scaled.propose import propose, this_machine
    from windtunnel.testbeds.scaled.scale import FULL_SIZE

    file, located = load_study(study)
    # the full size is planned: what runs it does not matter, and there is no scale yet
    whole = file.model_copy(update={"testbed": "local", "scale": None})
    plan = make_plan(whole, located, overrides_of(changes, hadoop))
    base = baseline_of(plan)
    others = list(plan.clusters(plan.looked_at))
    first = plan.cluster_of(base)
    clusters = [first, *(cluster for cluster in others if cluster != first)]
    loads = loads_of(plan, base, FULL_SIZE)
    return propose(clusters, loads, _trials(plan), this_machine(state_root()))


def _trials(plan: Plan) -> int:
    protocol = plan.protocol
    return (protocol.rounds + protocol.warmup) * len(plan.treatments) * len(plan.workloads)
