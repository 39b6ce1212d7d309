"""The record of the scale model of a study, and the proposal of a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from windtunnel.cluster.hosts import SMT_GAIN
from windtunnel.results.record import ScaleRecord, SimilarityGroup
from windtunnel.testbeds.base import PlannedTreatment, Proposal
from windtunnel.testbeds.scaled.machine import this_machine
from windtunnel.testbeds.scaled.proposal import lines
from windtunnel.testbeds.scaled.propose import propose
from windtunnel.testbeds.scaled.scale import Scale, ScaledOptions
from windtunnel.testbeds.scaled.similarity import similarity


def model_record(scale: Scale, planned: Iterable[PlannedTreatment]) -> ScaleRecord:
    """The scale with the similarity groups of the baseline, the first of the treatments.

    Groups of other treatments follow if their state differs from that of the baseline.

    Raises
    ------
    NotRealisableError
        If a description lacks a value that a model requires.
    """
    base, *others = planned
    groups = similarity(base.cluster, scale, base.loads)
    states = {_key(group): group.state for group in groups}
    for treatment in others:
        own = similarity(treatment.cluster, scale, treatment.loads)
        groups += _differing(treatment.id, own, states)
    return _record(scale, groups)


def _record(scale: Scale, groups: list[SimilarityGroup]) -> ScaleRecord:
    speed = None if scale.core_speed == 1.0 else scale.core_speed
    return ScaleRecord(
        rate=scale.rate,
        data=scale.data,
        smt_gain=SMT_GAIN,
        core_speed=speed,
        core_probe_ms=scale.core_probe_ms,
        groups=groups,
    )


def _differing(
    treatment: str, groups: Sequence[SimilarityGroup], states: Mapping[tuple[str, str | None], str]
) -> list[SimilarityGroup]:
    return [
        group.model_copy(update={"treatment": treatment})
        for group in groups
        if states.get(_key(group)) != group.state
    ]


def _key(group: SimilarityGroup) -> tuple[str, str | None]:
    return group.name, group.workload


def proposal(
    planned: Sequence[PlannedTreatment],
    trials: int,
    folder: Path,
    within_s: float | None,
    options: ScaledOptions,
) -> Proposal:
    """A scale for a study on this machine, whose disk with ``folder`` is measured.

    ``options`` have the speed of the cores; their scale is not used.

    Raises
    ------
    NotRealisableError
        If a description lacks a value that a model requires, or the hosts do not fit this machine.
    """
    first = planned[0]
    clusters = [first.cluster]
    clusters += [one.cluster for one in planned[1:] if one.cluster != first.cluster]
    machine = this_machine(folder, options.core_speed, options.core_probe_ms)
    found = propose(clusters, first.loads, trials, machine, within_s)
    record = _record(found.scale, found.groups)
    data = {
        "scale": record.model_dump(mode="json"),
        "combine": found.scale.combine.model_dump(exclude_defaults=True),
        "set": dict(found.settings),
        "expected_error": dict(found.errors),
        "hosts": found.hosts,
        "slots_per_worker": found.slots,
        "disks_per_worker": found.disks,
        "trial_s": found.trial_s,
        "study_s": found.study_s,
        "limits": found.limits,
        "notes": found.notes,
    }
    return Proposal(lines(found, options.cpu_s_per_gb), data, record)
