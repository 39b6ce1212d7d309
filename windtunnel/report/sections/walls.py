"""Section "The machine below": what the trials of a scale model left of the machine under it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from windtunnel.analysis import Analysis
from windtunnel.analysis.limits import SHARED_HOST
from windtunnel.analysis.observations import counts
from windtunnel.analysis.use import CPU, HostUse, host_uses
from windtunnel.analysis.words import percent
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.testbeds.scaled.walls import DISK_BUSY_AT_MOST, IDLE_AT_LEAST

_NEAR = 1.25  # of a limit: what is closer than that is shown in bold


@dataclass(frozen=True, slots=True)
class Left:
    """Of the machine below, over the trials of a treatment's phase: shares, 0 to 1.

    ``idle`` is the mean idle share of its CPUs, ``least`` that of the trial with the least;
    ``disk_busy`` the mean busy time of its busiest disk, None without a sample.
    """

    workload: str
    phase: str
    treatment: str
    n: int
    idle: float
    least: float
    disk_busy: float | None


def section(analysis: Analysis) -> Section | None:
    """None on testbeds where the machine itself is the cluster, and without samples."""
    if analysis.study.testbed != "scaled":
        return None
    found = analysis.once(left_over)
    if not found:
        return None
    least = min(found, key=lambda left: left.least)
    return Section(
        id="walls",
        title="The machine below",
        lead="A trial counts only if the machine that carries the model had something left: at "
        f"least {percent(IDLE_AT_LEAST, signed=False)} of its CPUs, its own disk busy for at most "
        f"{percent(DISK_BUSY_AT_MOST, signed=False)} of the time",
        said=[
            f"The least was {percent(least.least, signed=False)} idle, in {least.phase} with "
            f"{least.treatment}"
        ],
        tables=[_table(found)],
        data=[
            {name: getattr(left, name) for name in Left.__slots__}  # plain numbers and words
            for left in found
        ],
    )


def left_over(analysis: Analysis) -> list[Left]:
    """What was left in each phase and treatment, of the trials that count, in report order."""
    uses = analysis.once(host_uses)
    idle: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    busy: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for trial in filter(counts, analysis.results.trials):
        for phase in trial.phases:
            key = (trial.workload, phase.name, trial.treatment.id)
            mine = [u for u in uses.get((trial.id, phase.name), ()) if u.host == SHARED_HOST]
            idle[key] += [1 - use.used for use in mine if use.resource == CPU]
            disks = [use.used for use in mine if _is_disk(use)]
            busy[key] += [max(disks)] if disks else []
    order = {name: place for place, name in enumerate(analysis.treatments())}
    keys = sorted(
        (key for key, values in idle.items() if values),
        key=lambda key: (key[0], analysis.ranks[key[0], key[1]], order[key[2]]),
    )
    return [
        Left(
            *key,
            n=len(idle[key]),
            idle=fmean(idle[key]),
            least=min(idle[key]),
            disk_busy=fmean(busy[key]) if busy[key] else None,
        )
        for key in keys
    ]


def _is_disk(use: HostUse) -> bool:
    return use.unit == "ratio" and use.resource.startswith("disk ")


def _table(found: list[Left]) -> Table:
    return Table(
        "What was left of it",
        column("phase", "treatment", "CPUs idle", "least", "disk busy", "trials", text=2),
        [
            [
                left.phase if left.phase == left.workload else f"{left.workload} {left.phase}",
                left.treatment,
                percent(left.idle, signed=False),
                percent(left.least, signed=False),
                "unknown" if left.disk_busy is None else percent(left.disk_busy, signed=False),
                str(left.n),
            ]
            for left in found
        ],
        strong=frozenset(i for i, left in enumerate(found) if left.least < IDLE_AT_LEAST * _NEAR),
        hint="Idle: mean over the trials, waiting for disks counts as idle; least: of the trial "
        "with the least. Bold: near the limit.",
    )
