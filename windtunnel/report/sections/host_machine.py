"""Section "Host machine": the idle CPU time and disk time of the machine under a scale model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.physical_limits import SHARED_HOST
from windtunnel.analysis.bottleneck.utilisation import CPU, HostUse, host_uses
from windtunnel.analysis.formatting import percent
from windtunnel.analysis.observations import counts
from windtunnel.report.sections.base import Section, Table, column

# Thresholds of trials whose records do not contain them, and the stored name of their check.
_EARLIER = {
    "cpu_idle_at_least": 0.20,
    "disk_busy_at_most": 0.80,
}
_EARLIER_CHECK = "the machine below the model"
_NEAR = 1.25  # idle fractions below this multiple of the limit are shown in bold


@dataclass(frozen=True, slots=True)
class Left:
    """Idle and busy fractions (0 to 1) of the host machine, over the trials of one phase.

    ``idle`` is the mean idle fraction of its CPUs, ``least`` the lowest of all trials.
    ``disk_busy`` is the mean busy fraction of its busiest disk, None without samples.
    """

    workload: str
    phase: str
    treatment: str
    n: int
    idle: float
    least: float
    disk_busy: float | None


def section(analysis: Analysis) -> Section | None:
    """None without samples, and on testbeds on which the machine itself is the cluster."""
    idle, busy = (thresholds(analysis, name) for name in _EARLIER)
    found = analysis.once(left_over)
    if not idle or not found:
        return None
    least = min(found, key=lambda left: left.least)
    return Section(
        id="walls",
        title="Host machine",
        lead="A trial is valid only if the host machine of the model was not saturated: its CPUs "
        f"at least {_either(idle)} idle, its own disk busy for at most {_either(busy)} of the time",
        said=[
            f"The lowest idle fraction was {percent(least.least, signed=False)}, in {least.phase} "
            f"with {analysis.name(least.treatment)}"
        ],
        tables=[_table(analysis, found, idle[-1])],
        group="trust",
        data=[
            {name: getattr(left, name) for name in Left.__slots__}  # plain numbers and words
            for left in found
        ],
    )


def thresholds(analysis: Analysis, name: str) -> list[float]:
    """The limits by which the testbed checked the host machine, each once, the lowest first.

    There are several if versions with different limits ran the trials, and none if the testbed
    checked no limits.
    """
    found = set()
    for trial in analysis.results.trials:
        if name in trial.thresholds:
            found.add(trial.thresholds[name].value)
        elif any(check.name == _EARLIER_CHECK for check in trial.verdict.checks):
            found.add(_EARLIER[name])
    return sorted(found)


def _either(limits: Sequence[float]) -> str:
    return " or ".join(percent(limit, signed=False) for limit in limits)


def left_over(analysis: Analysis) -> list[Left]:
    """The idle fractions of each phase and treatment over the valid trials, in report order."""
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


def _table(analysis: Analysis, found: list[Left], idle_at_least: float) -> Table:
    return Table(
        "Idle CPU and busy disk of the host machine",
        column("phase", "treatment", "CPUs idle", "least", "disk busy", "trials", text=2),
        [
            [
                left.phase if left.phase == left.workload else f"{left.workload} {left.phase}",
                analysis.name(left.treatment),
                percent(left.idle, signed=False),
                percent(left.least, signed=False),
                "unknown" if left.disk_busy is None else percent(left.disk_busy, signed=False),
                str(left.n),
            ]
            for left in found
        ],
        strong=frozenset(i for i, left in enumerate(found) if left.least < idle_at_least * _NEAR),
        hint="Idle: mean over the trials; waiting for a disk counts as idle. Least: the trial with "
        "the lowest value. Bold: near the limit.",
    )
