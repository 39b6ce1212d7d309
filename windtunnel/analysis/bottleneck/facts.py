"""The facts of one phase of one trial in one row: the input of the bottleneck rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.described_hosts import HostLimits
from windtunnel.analysis.bottleneck.physical_limits import (
    SHARED_HOST,
    Capacity,
    limits_by_host,
    limits_by_treatment,
    shares_machine,
)
from windtunnel.analysis.bottleneck.tails import MAP, REDUCE, Idle, Tail, idles, tails
from windtunnel.analysis.bottleneck.usage import usages
from windtunnel.analysis.bottleneck.utilisation import CPU, DATA_PATH, HostUse, host_uses
from windtunnel.analysis.core_speed import quota_factor
from windtunnel.analysis.observations import counts
from windtunnel.results.record import Phase, Trial

Key = tuple[str, str, str]
"""(treatment, workload, phase)"""


@dataclass(frozen=True, slots=True)
class Load:
    """Utilisation of a resource: ``share`` of its limit (None: unknown), host, amount.

    ``pressed`` is the fraction of the time at 90 % of the limit or above. ``host`` is empty if all
    hosts share one machine, for sums over all hosts, and if ``varies``: the host with the highest
    utilisation differs between the trials. ``sampled``: from samples of the hosts, not from the
    counters of the job.
    """

    resource: str
    share: float | None
    pressed: float | None
    used: float
    unit: str
    host: str = ""
    sampled: bool = False
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers of one phase: fractions of its elapsed time unless stated; None: unknown.

    ``own_cpu`` is the CPU time that the tasks counted, as a fraction of all threads; ``mean_cpu``
    the CPU utilisation of all workers together, from samples; ``idle`` the time without any task;
    ``lone_map`` and ``lone_reduce`` the time in which only one task worked; ``map_skew`` and
    ``reduce_skew`` the longest / median working time of the tasks, and ``map_bytes_skew`` and
    ``reduce_bytes_skew`` the same of their input bytes; ``full`` the time in which all slots were
    full, in ``waves`` waves of ``slots`` tasks; ``maps_stage`` the time from the first map's start
    to the last map's end; ``map_spills`` the number of times that a map's record was written to
    disk, ``all_spills`` that of maps and reduces together; ``gc`` the fraction of the task time in
    garbage collection.
    """

    loads: tuple[Load, ...] = ()
    threads: float | None = None
    own_cpu: float | None = None
    mean_cpu: float | None = None
    idle: float | None = None
    maps: float | None = None
    reduces: float | None = None
    lone_map: float | None = None
    lone_reduce: float | None = None
    map_skew: float | None = None
    reduce_skew: float | None = None
    map_bytes_skew: float | None = None
    reduce_bytes_skew: float | None = None
    full: float | None = None
    waves: float | None = None
    slots: float | None = None
    maps_stage: float | None = None
    merge: float | None = None
    map_spills: float | None = None
    all_spills: float | None = None
    gc: float | None = None


def facts(analysis: Analysis) -> dict[Key, list[Facts]]:
    """The facts of every counted trial, by treatment, workload and phase."""
    limits = limits_by_treatment(analysis.results)
    by_host = limits_by_host(analysis.results)
    uses, without = analysis.once(host_uses), analysis.once(idles)
    by_phase: dict[tuple[str, str], dict[str, Tail]] = {}
    for tail in analysis.once(tails):
        by_phase.setdefault((tail.trial, tail.phase), {})[tail.kind] = tail
    found: dict[Key, list[Facts]] = {}
    for trial in analysis.results.trials:
        if not counts(trial):
            continue
        for phase in trial.phases:
            place, limit = (trial.id, phase.name), limits[trial.treatment.id]
            used, of_hosts = uses.get(place, []), by_host[trial.treatment.id]
            row = _facts(
                _loads(analysis, trial, phase, used, limit),
                _own_cpu(phase, limit),
                cpu_of_workers(_sampled(analysis, used), of_hosts),
                limit.cores,
                by_phase.get(place, {}),
                without.get(place),
                phase,
            )
            found.setdefault((trial.treatment.id, trial.workload, phase.name), []).append(row)
    return found


def mean_facts(rows: Sequence[Facts]) -> Facts:
    """The mean of each number over the trials that have it, and the loads by resource.

    Loads from counters are sums over all hosts. They do not count if a trial has samples.
    """
    numbers = {}
    for name in (field.name for field in fields(Facts) if field.name != "loads"):
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        numbers[name] = fmean(known) if known else None
    groups: dict[str, list[Load]] = {}
    for row in with_samples(rows) or rows:
        for load in row.loads:
            groups.setdefault(load.resource, []).append(load)
    return Facts(loads=tuple(map(_mean_load, groups.values())), **numbers)


def with_samples(rows: Sequence[Facts]) -> list[Facts]:
    """The trials that have samples of their hosts."""
    return [row for row in rows if any(load.sampled for load in row.loads)]


def _mean_load(group: Sequence[Load]) -> Load:
    shares = [load.share for load in group if load.share is not None]
    pressed = [load.pressed for load in group if load.pressed is not None]
    hosts = {load.host for load in group}
    return Load(
        resource=group[0].resource,
        share=fmean(shares) if shares else None,
        pressed=fmean(pressed) if pressed else None,
        used=fmean(load.used for load in group),
        unit=group[0].unit,
        host=min(hosts) if len(hosts) == 1 else "",
        sampled=group[0].sampled,
        varies=len(hosts) > 1,
    )


def _loads(
    analysis: Analysis, trial: Trial, phase: Phase, uses: Sequence[HostUse], limit: Capacity
) -> tuple[Load, ...]:
    """Each resource on the host with its highest utilisation; without samples from counters.

    CPU and memory are those of the workers; data also passes disks and NICs of clients and
    masters. The host machine of a scale model is excluded: another check judges it.
    """
    shared = shares_machine(analysis.study)
    hosts = _sampled(analysis, uses)
    if not hosts:
        return tuple(
            Load(use.resource, use.share, None, use.used, use.unit)
            for use in usages([trial], {trial.treatment.id: limit})
            if use.phase == phase.name
        )
    judged = [use for use in hosts if use.worker or use.resource in DATA_PATH] or hosts
    best: dict[str, HostUse] = {}
    for use in judged:
        old = best.get(use.resource)
        rank = (use.share if use.share is not None else -1.0, use.used)
        if old is None or rank > (old.share if old.share is not None else -1.0, old.used):
            best[use.resource] = use
    several = len({use.host for use in judged}) > 1 or (limit.workers or 1) > 1
    return tuple(
        Load(
            use.resource,
            use.share,
            use.pressed,
            use.used,
            use.unit,
            use.host if several and not shared else "",
            sampled=True,
        )
        for use in best.values()
    )


def _sampled(analysis: Analysis, uses: Sequence[HostUse]) -> list[HostUse]:
    """The use of the cluster's hosts, without the host machine of a scale model."""
    shared = shares_machine(analysis.study)
    return [use for use in uses if shared or use.host != SHARED_HOST]


def cpu_of_workers(uses: Sequence[HostUse], limits: Mapping[str, HostLimits]) -> float | None:
    """The CPU utilisation of all workers, weighted by their threads if all are known."""
    own = [use for use in uses if use.resource == CPU and use.worker]
    shares = {use.host: use.share for use in own if use.share is not None}
    if not shares:
        return None
    known = [limits.get(host, HostLimits()).threads for host in shares]
    weights = [threads for threads in known if threads]
    return fmean(shares.values(), weights if len(weights) == len(known) else None)


def _own_cpu(phase: Phase, limit: Capacity) -> float | None:
    counted = phase.metrics.get("cpu_time")
    if counted is None or not limit.cores or phase.elapsed_s <= 0:
        return None
    return counted.value / phase.elapsed_s / limit.cores / quota_factor(phase)


def _facts(
    loads: tuple[Load, ...],
    own_cpu: float | None,
    mean_cpu: float | None,
    threads: float | None,
    kinds: Mapping[str, Tail],
    without: Idle | None,
    phase: Phase,
) -> Facts:
    maps, reduces = kinds.get(MAP), kinds.get(REDUCE)
    return Facts(
        loads=loads,
        threads=threads,
        own_cpu=own_cpu,
        mean_cpu=mean_cpu,
        idle=without.total if without else None,
        maps=maps.tasks if maps else None,
        reduces=reduces.tasks if reduces else None,
        lone_map=maps.lone_share if maps else None,
        lone_reduce=reduces.lone_share if reduces else None,
        map_skew=maps.skew if maps else None,
        reduce_skew=reduces.skew if reduces else None,
        map_bytes_skew=maps.bytes_skew if maps else None,
        reduce_bytes_skew=reduces.bytes_skew if reduces else None,
        full=maps.full_share if maps else None,
        waves=maps.waves if maps else None,
        slots=maps.concurrency if maps else None,
        maps_stage=maps.stage_share if maps else None,
        merge=maps.merge_share if maps else None,
        map_spills=maps.spills if maps else None,
        all_spills=_spills(phase),
        gc=_gc(phase),
    )


def _spills(phase: Phase) -> float | None:
    """Records written to disk by maps and reduces, divided by the output records of the maps."""
    spilled, made = (phase.metrics.get(n) for n in ("spilled_records", "map_output_records"))
    reduces = phase.metrics.get("reduces")
    if spilled is None or made is None or made.value <= 0 or not (reduces and reduces.value):
        return None
    return spilled.value / made.value


def _gc(phase: Phase) -> float | None:
    """The seconds of garbage collection divided by the seconds of all tasks."""
    names = ("map_time", "shuffle_time", "merge_time", "reduce_time")
    times = [phase.metrics[name].value for name in names if name in phase.metrics]
    collected = phase.metrics.get("gc_time")
    if collected is None or sum(times) <= 0:
        return None
    return collected.value / sum(times)
