"""Rules on the hardware: physical limits, bottlenecks, caches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from windtunnel.analysis.bottleneck.physical_limits import limits_of, shares_machine
from windtunnel.analysis.bottleneck.usage import IDLE_BELOW, Usage
from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed, percent, plural, quantity
from windtunnel.results.record import Phase

# From windtunnel.workloads: the suffix of phases that run without dropped caches, and the
# metrics of phases that only transfer data.
_WARM = "-warm"
_MOVED, _RATE = "moved", "aggregate_throughput"


def above_limit(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 6: a rate above the limit of disks or NICs indicates a cache or an error."""
    check = (
        "check the counters, and the number of threads of the machine in the provenance."
        if shares_machine(evidence.results.study)
        else "use data larger than memory or drop caches between trials, and check "
        "the rates in the cluster description."
    )
    for use in evidence.usages:
        if use.state == "above limit":
            yield ReportWarning(
                id="above-physical-limit",
                rule=6,
                severity="serious",
                text=f"{use.resource} of "
                f"{evidence.place(use.treatment, use.workload, use.phase)} reached "
                f"{percent(use.peak, signed=False)} of the limit of "
                f"{quantity(use.limit, use.unit)}, which indicates a cache or an error",
                advice=check,
            )


def not_bottleneck(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 6: a phase below 30 % of every known limit has another bottleneck."""
    idle: dict[tuple[str, str, str], list[Usage]] = defaultdict(list)
    for use in evidence.usages:
        idle[(use.treatment, use.workload, use.phase)].append(use)
    names, resources = [], set()
    for (treatment, workload, phase), group in idle.items():
        known = [use for use in group if use.share is not None]
        if known and all(use.state == "not the bottleneck" for use in known):
            names.append(evidence.place(treatment, workload, phase))
            resources |= {use.resource for use in known}
    if names:
        yield ReportWarning(
            id="not-the-bottleneck",
            rule=6,
            severity="note",
            text=f"these phases use less than {percent(IDLE_BELOW, signed=False)} of every known "
            f"limit ({', '.join(sorted(resources))}): {listed(names)}",
            advice="the bottleneck is start-up, waiting or a resource without a described limit; "
            "more of these resources would not reduce the time.",
        )


def limits_unknown(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 6: a limit that is not described cannot be checked."""
    unknown = sorted({use.resource for use in evidence.usages if use.limit is None})
    if not unknown or not evidence.measured:
        return
    if shares_machine(evidence.results.study):
        why = "because all hosts of the testbed local share this machine"
        advice = (
            "these rates are those of this machine; the disks and NICs of the cluster "
            "description were not used."
        )
    else:
        why = "because the cluster description does not state them"
        advice = (
            "add the rates of disks and NICs and the cores of the workers to the cluster "
            "description."
        )
    yield ReportWarning(
        id="limits-unknown",
        rule=6,
        severity="note",
        text=f"physical limits were not checked, {why}: {', '.join(unknown)}",
        advice=advice,
    )


def cache_state(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 7: the cache state is controlled and stated; small data in warm caches is reported."""
    if not evidence.measured:
        return
    states: dict[str, int] = defaultdict(int)
    for trial in evidence.counted:
        states[trial.before.cache_state if trial.before else "unknown"] += 1
    if states["unknown"]:
        yield ReportWarning(
            id="cache-unknown",
            rule=7,
            severity="caution",
            text=f"the state of the caches before {plural(states['unknown'], 'trial')} is unknown",
            advice="set protocol.cache to control and record the state.",
        )
    if len([s for s in states if states[s]]) > 1:
        yield ReportWarning(
            id="cache-mixed",
            rule=7,
            severity="serious",
            text="the state of the caches before the start differs between trials",
            advice="run the study again with the same cache state for all trials.",
        )
    if states["warm"]:
        yield from _warm(evidence)


def _warm(evidence: Evidence) -> Iterator[ReportWarning]:
    data, memory = _largest_data(evidence), _memory(evidence)
    if data is not None and memory is not None and data > memory:
        return
    sizes = (
        "the size of the data or of the memory is unknown"
        if data is None or memory is None
        else f"the data ({quantity(data, 'bytes')}) fits in memory ({quantity(memory, 'bytes')})"
    )
    may_be = "can be" if data is None or memory is None else "are"
    yield ReportWarning(
        id="cache-warm",
        rule=7,
        severity="note",
        text=f"caches were warm and {sizes}: disk rates {may_be} those of the page cache",
        advice="to measure disks, use data larger than memory or drop caches "
        "(protocol.cache: drop).",
    )


def cached_reads(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 7: phases that read, or may have read, from memory are reported."""
    memory = _least_memory(evidence)
    found: dict[tuple[str, str], list[Phase]] = defaultdict(list)
    for trial in evidence.counted if evidence.measured else ():
        stayed = trial.before is not None and trial.before.cache_state == "warm"
        for phase in trial.phases:
            if _reads(phase) and (stayed or phase.name.endswith(_WARM)):
                found[trial.workload, phase.name].append(phase)
    for (workload, name), phases in found.items():
        size = max(phase.metrics[_MOVED].value for phase in phases)
        if memory is not None and size > memory:
            continue
        room = "" if memory is None else f" of {quantity(memory, 'bytes')}"
        yield ReportWarning(
            id="cached-read",
            rule=7,
            severity="note" if name.endswith(_WARM) else "caution",
            text=f"{workload} {name} reads {quantity(size, 'bytes')}, which fits in the memory"
            f"{room}, and caches were not dropped: its rates are those of the page cache",
            advice="compare it with other warm reads only; to measure disks, drop caches "
            "(protocol.cache: drop) or read more data than the memory can hold.",
        )


def _reads(phase: Phase) -> bool:
    """Whether a phase has a throughput, and reads data."""
    moved, read = phase.metrics.get(_MOVED), phase.metrics.get("hdfs_bytes_read")
    if moved is None or read is None or _RATE not in phase.metrics:
        return False
    return moved.value > 0 and read.value >= moved.value


def _least_memory(evidence: Evidence) -> float | None:
    """Memory available for caches, of the machine or of the virtual hosts on it."""
    known = (_memory(evidence), limits_of(evidence.results).memory)
    return min((value for value in known if value is not None), default=None)


def _largest_data(evidence: Evidence) -> float | None:
    """Bytes of the largest phase input or output of the counted trials."""
    volumes = [
        phase.metrics[name].value
        for trial in evidence.counted
        for phase in trial.phases
        for name in ("hdfs_bytes_read", "hdfs_bytes_written")
        if name in phase.metrics
    ]
    return max(volumes, default=None)


def _memory(evidence: Evidence) -> float | None:
    """Memory available for caches: free or cached before a trial, else as described."""
    seen = [
        float(max(t.before.memory_available_bytes, t.before.page_cache_bytes))
        for t in evidence.counted
        if t.before is not None
    ]
    return max(seen) if seen else limits_of(evidence.results).memory
