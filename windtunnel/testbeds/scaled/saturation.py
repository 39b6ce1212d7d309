"""Saturation of the host machine, which would limit a trial instead of the model.

A limited resource of the model can be fully busy, but the host machine must have capacity left;
otherwise the trial would measure the limits of the host machine. The judgement uses samples of the
host machine. There are no samples of the memory bandwidth. However, a processor that waits for
memory counts as busy, so the processors are not idle if the memory bandwidth is the bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from windtunnel.results.record import Check, Metric, Phase
from windtunnel.results.sample import Sample
from windtunnel.testbeds.base import Judgement

MACHINE = "this-machine"
IDLE_AT_LEAST = 0.20
DISK_BUSY_AT_MOST = 0.80
MEMORY_AT_LEAST = 0.05
# Tasks wait for pages that are read from swap; a few such pages occur in every phase.
SWAP_IN_AT_MOST = 1 << 20
THRESHOLDS = {
    "cpu_idle_at_least": Metric(value=IDLE_AT_LEAST, unit="ratio"),
    "disk_busy_at_most": Metric(value=DISK_BUSY_AT_MOST, unit="ratio"),
    "memory_available_at_least": Metric(value=MEMORY_AT_LEAST, unit="ratio"),
    "swap_in_at_most": Metric(value=SWAP_IN_AT_MOST, unit="bytes/s"),
}


def judge(rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
    """A check of the host machine in the phases of a trial; a flag for phases without samples."""
    phases = [phase for phase in phases if not phase.beside]  # these use the whole machine
    reason, unknown = saturated(rows, phases), unsampled(rows, phases)
    check = Check(
        name="host machine",
        passed=reason is None,
        expected="not saturated",
        got=reason or "not saturated",
    )
    flag = f"the host machine was not sampled during {', '.join(unknown)}: saturation unknown"
    return Judgement([check], [flag] if unknown else [], THRESHOLDS)


def saturated(rows: Sequence[Sample], phases: Sequence[Phase]) -> str | None:
    """The reason why the host machine was saturated, with numbers; None if it was not.

    A phase without samples is not judged; see :func:`unsampled`.
    """
    found = [reason for phase in phases for reason in _of_phase(rows, phase)]
    return f"the host machine was saturated: {'; '.join(found)}" if found else None


def unsampled(rows: Sequence[Sample], phases: Sequence[Phase]) -> list[str]:
    """The phases without a sample of the host machine's CPUs."""
    return [p.name for p in phases if not _values(rows, p, "cpu_idle")]


def _of_phase(rows: Sequence[Sample], phase: Phase) -> Iterator[str]:
    idle = _values(rows, phase, "cpu_idle")
    if idle:
        # A processor that waits for a throttled disk is available: iowait is idle time.
        free = fmean(idle) + _mean(_values(rows, phase, "cpu_iowait"))
        if free < IDLE_AT_LEAST:
            stolen = _mean(_values(rows, phase, "cpu_steal"))
            taken = f", {stolen * 100:.0f} % stolen by its hypervisor" if stolen >= 0.01 else ""
            yield (
                f"{phase.name}: its CPUs were {free * 100:.0f} % idle on average{taken}, "
                f"at least {IDLE_AT_LEAST * 100:.0f} % required"
            )
    for metric in sorted({row.metric for row in rows if row.metric.startswith("disk_busy:")}):
        busy = _mean(_values(rows, phase, metric))
        if busy > DISK_BUSY_AT_MOST:
            name = metric.removeprefix("disk_busy:")
            yield (
                f"{phase.name}: its disk {name} was {busy * 100:.0f} % busy on average, "
                f"at most {DISK_BUSY_AT_MOST * 100:.0f} % allowed"
            )
    memory = _values(rows, phase, "memory_available_share")
    if memory and min(memory) < MEMORY_AT_LEAST:
        yield (
            f"{phase.name}: only {min(memory) * 100:.1f} % of its memory was available, "
            f"at least {MEMORY_AT_LEAST * 100:.0f} % required"
        )
    swapped = _mean(_values(rows, phase, "swap_in"))
    if swapped > SWAP_IN_AT_MOST:
        yield f"{phase.name}: it read {swapped / 1e6:.1f} MB/s back from swap"


def _values(rows: Iterable[Sample], phase: Phase, metric: str) -> list[float]:
    """Samples of the host machine within a phase; a sample covers the period before its time."""
    return [
        row.value
        for row in rows
        if row.metric == metric
        and row.host == MACHINE
        and phase.started_at < row.time_s <= phase.finished_at
    ]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
