"""The tunnel's walls: was the machine that carries the model the bottleneck of a trial?

A shaped part may be as busy as it likes; the machine below must have something left, else
its own limits were measured and not the model's. The host samples of the machine tell. Memory
bandwidth has no sample of its own: a processor that waits for memory counts as busy, so where
it binds the processors are not idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from windtunnel.results.record import Check, Phase
from windtunnel.testbeds.base import Judgement, Row

MACHINE = "this-machine"
IDLE_AT_LEAST = 0.20
DISK_BUSY_AT_MOST = 0.80
MEMORY_AT_LEAST = 0.05
# Pages that come back from swap stop tasks as a disk does; a few do in any phase.
SWAP_IN_AT_MOST = 1 << 20


def judge(rows: Sequence[Row], phases: Sequence[Phase]) -> Judgement:
    """A check of the machine below the model over a trial's phases, flags where it is blind."""
    reason, unknown = walls(rows, phases), unwatched(rows, phases)
    check = Check(
        name="the machine below the model",
        passed=reason is None,
        expected="not the bottleneck",
        got=reason or "not the bottleneck",
    )
    told = f"the machine was not sampled during {', '.join(unknown)}: walls unknown"
    return Judgement([check], [told] if unknown else [])


def walls(rows: Sequence[Row], phases: Sequence[Phase]) -> str | None:
    """Why the machine was the bottleneck, with the numbers; None if nothing shows that it was.

    A phase that no sample falls into is not judged; see :func:`unwatched`.
    """
    found = [reason for phase in phases for reason in _of_phase(rows, phase)]
    return f"the tunnel's walls were in the flow: {'; '.join(found)}" if found else None


def unwatched(rows: Sequence[Row], phases: Sequence[Phase]) -> list[str]:
    """The phases without a sample of the machine's CPUs: nothing is known of its walls there."""
    return [p.name for p in phases if not _values(rows, p, "cpu_idle")]


def _of_phase(rows: Sequence[Row], phase: Phase) -> Iterator[str]:
    idle = _values(rows, phase, "cpu_idle")
    if idle:
        # A processor that waits for a throttled disk is free to work: iowait is idle time.
        free = fmean(idle) + _mean(_values(rows, phase, "cpu_iowait"))
        if free < IDLE_AT_LEAST:
            stolen = _mean(_values(rows, phase, "cpu_steal"))
            taken = f", {stolen * 100:.0f} % stolen from the machine" if stolen >= 0.01 else ""
            yield (
                f"{phase.name}: the machine's CPUs were {free * 100:.0f} % idle on average"
                f"{taken}, less than {IDLE_AT_LEAST * 100:.0f} %"
            )
    for metric in sorted({row[2] for row in rows if row[2].startswith("disk_busy:")}):
        busy = _mean(_values(rows, phase, metric))
        if busy > DISK_BUSY_AT_MOST:
            name = metric.removeprefix("disk_busy:")
            yield (
                f"{phase.name}: the machine's disk {name} was {busy * 100:.0f} % busy on average, "
                f"more than {DISK_BUSY_AT_MOST * 100:.0f} %"
            )
    memory = _values(rows, phase, "memory_available_share")
    if memory and min(memory) < MEMORY_AT_LEAST:
        yield (
            f"{phase.name}: the machine had only {min(memory) * 100:.1f} % of its memory "
            f"available, less than {MEMORY_AT_LEAST * 100:.0f} %"
        )
    swapped = _mean(_values(rows, phase, "swap_in"))
    if swapped > SWAP_IN_AT_MOST:
        yield f"{phase.name}: the machine read {swapped / 1e6:.1f} MB/s back from swap"


def _values(rows: Iterable[Row], phase: Phase, metric: str) -> list[float]:
    """Samples of the machine within a phase; a sample looks back over its period."""
    return [
        value
        for t, host, name, _, value in rows
        if name == metric and host == MACHINE and phase.started_at < t <= phase.finished_at
    ]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
