"""The rules that name what a phase was bound by. Each is a function of the facts of a phase.

The thresholds were fixed beforehand; each carries its reason. The order of :data:`RULES` is
the order of precedence: what makes the hardware do needless or lonely work comes before the
hardware itself, because it is what a change would have to remove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windtunnel.analysis.facts import Facts, Load
from windtunnel.analysis.limits import IDLE_BELOW
from windtunnel.analysis.use import CPU, MEMORY, WAITING
from windtunnel.analysis.words import digits, percent, quantity

BUSY = 0.80
"""A resource binds if it is used to 80 % on average over the phase: work then queues for about
four times its own service time (rho / (1 - rho), M/M/1), and what is left is taken by the ramps
at the phase's ends."""
PRESSED_MOST = 0.50
"""It also binds if it is at 90 % or above for more than half of the phase."""
WAITED = 0.25
"""Processors that wait for disks for a quarter of their time: the disks bind, whatever their
limit is. The rest of the time is the other work of the same tasks."""
MEMORY_FULL = 0.95
"""Used memory (caches not counted) above this leaves no room: the next page is swapped."""
LONE = 0.15
"""One of several tasks works alone for this share of the phase: with its work shared out over
two, the phase would end 7 % earlier, which a study with the usual noise of a few percent sees."""
BYTES_SKEWED = 3.0
LONE_UNEVEN = 0.10
"""With three times the median's input the reason is in the data, whatever else ran on the
machine: then a tenth of the phase alone is enough (5 % to be won)."""
SINGLE = 0.25
"""Of a task that is the only one of its kind more is asked: a last short reducer is usual."""
SKEWED = 1.5
"""The lone task is a long one, not just the last one, if it works 1.5 times the median."""
EXTRA_PASSES = 2.5
"""A map's record is written once if it all fits in the sort buffer, twice if spills are merged
in one pass. Above 2.5 more than half of the records went through further passes."""
MAPS_MATTER = 0.30
"""Spills bind only a phase of which the maps take this share."""
COLLECTED = 0.20
"""With a fifth of the task time in the garbage collector the heap is too small: one that fits
costs a few percent, and what is above it could be won back."""
IDLE_MOST = 0.50
"""Without any task for half of its time a phase waits for the start of the application master
and of containers."""
ROOMY = 0.50
"""Memory that is used less than this is no candidate for what binds next."""
WORTH_NAMING = 1e6
"""Bytes/s below which an unknown limit is not worth a word: any disk and NIC does more."""
FULL_MOST = 0.50
WAVES = 1.5
"""Slots bind if they are full for more than half of the phase, while tasks wait for a second
wave, and no resource is busy."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What may bind a phase, with its evidence.

    ``kind`` is a word for tables and findings; ``share`` the number that the rule is about
    (its unit is in ``words``); ``binds`` whether it passed the threshold.
    """

    kind: str
    words: str
    share: float
    binds: bool
    numbers: Mapping[str, float] = field(default_factory=dict)


Rule = Callable[[Facts], Cause | None]


def long_task(facts: Facts) -> Cause | None:
    """One reducer, or map, holds the phase while the others are done."""
    f = facts
    options = (
        ("reducer", f.lone_reduce, f.reduces, f.reduce_skew, f.reduce_bytes_skew),
        ("map", f.lone_map, f.maps, f.map_skew, f.map_bytes_skew),
    )
    known = [(share, *rest) for rest in options if (share := rest[1]) is not None and rest[2]]
    if not known:
        return None
    share, kind, _, count, skew, bytes_skew = max(known, key=lambda option: option[0])
    alone = f"worked alone for {percent(share, signed=False)} of the phase"
    numbers = {"alone": share, "tasks": count or 0.0}
    if (count or 0.0) < 2:
        words = f"a single {kind}: it {alone}"
        return Cause(f"a single {kind}", words, share, share >= SINGLE, numbers)
    words = f"one long {kind}: it {alone}"
    if skew is not None:
        words += f"; it took {digits(skew)} times the median of {count:.0f}"
        numbers["skew"] = skew
    uneven = bytes_skew is not None and bytes_skew >= BYTES_SKEWED
    if bytes_skew is not None and uneven:
        words += f", on {digits(bytes_skew)} times the median's input"
        numbers["bytes_skew"] = bytes_skew
    long = share >= LONE and skew is not None and skew >= SKEWED
    binds = long or (uneven and share >= LONE_UNEVEN)
    return Cause(f"one long {kind}", words, share, binds, numbers)


def sort_buffer(facts: Facts) -> Cause | None:
    """Records are written to disk again and again because the maps' sort buffer is too small."""
    spills, which = facts.map_spills, "the maps wrote each record"
    if spills is None and facts.all_spills is not None:
        # Reducers write a record at most once unless they too merge in several passes.
        spills, which = facts.all_spills - 1, "beyond the reducers' share, each record was written"
    if spills is None or spills <= 1.05:
        return None
    stage = facts.maps_stage if facts.maps_stage is not None else 1.0
    passes = "so there were extra merge passes" if spills >= EXTRA_PASSES else "in one merge pass"
    words = f"{which} {digits(spills)} times to disk (1 is the least), {passes}"
    if facts.merge is not None:
        merged = percent(facts.merge, signed=False)
        words += f"; {merged} of the map time came after the map function"
    binds = spills >= EXTRA_PASSES and stage >= MAPS_MATTER
    numbers = {"spills": spills, "maps_stage": stage}
    if facts.merge is not None:
        numbers["merge"] = facts.merge
    return Cause("the map sort buffer", words, spills, binds, numbers)


def garbage(facts: Facts) -> Cause | None:
    """The heap is too small for the tasks."""
    if facts.gc is None:
        return None
    words = f"garbage collection took {percent(facts.gc, signed=False)} of the task time"
    binds = facts.gc >= COLLECTED
    return Cause("garbage collection", words, facts.gc, binds, {"gc": facts.gc})


def start_up(facts: Facts) -> Cause | None:
    """The phase waits: for the application master, for containers, for the commit."""
    if facts.idle is None:
        return None
    words = f"no task ran for {percent(facts.idle, signed=False)} of the phase"
    binds = facts.idle >= IDLE_MOST
    return Cause("start-up and waiting", words, facts.idle, binds, {"idle": facts.idle})


def hardware(facts: Facts) -> Cause | None:
    """The resource that is nearest to its limit."""
    causes = by_resource(facts)
    return causes[0] if causes and causes[0].binds else None


def slots(facts: Facts) -> Cause | None:
    """Tasks wait for a container while the hardware has room."""
    if facts.full is None or facts.waves is None or facts.slots is None or facts.maps is None:
        return None
    cpu = next((load.share for load in facts.loads if load.resource == CPU), None)
    if cpu is None or facts.waves < WAVES:
        return None
    words = (
        f"{facts.maps:.0f} maps ran in {digits(facts.waves)} waves of {facts.slots:.0f}, with the "
        f"CPUs {percent(cpu, signed=False)} busy"
    )
    numbers = {"waves": facts.waves, "full": facts.full, "CPU": cpu}
    return Cause("too few containers", words, facts.full, facts.full >= FULL_MOST, numbers)


RULES: tuple[Rule, ...] = (long_task, sort_buffer, garbage, start_up, hardware, slots)


def by_resource(facts: Facts) -> list[Cause]:
    """Every resource with a known limit, the nearest to it first."""
    found = []
    for load in facts.loads:
        if load.share is None or (load.resource == MEMORY and load.share < ROOMY):
            continue
        limit = {MEMORY: MEMORY_FULL, WAITING: WAITED}.get(load.resource, BUSY)
        pressed = load.resource != MEMORY and (load.pressed or 0.0) > PRESSED_MOST
        cause = Cause(
            kind=_kind(load.resource),
            words=_words(load, facts),
            share=load.share,
            binds=load.share >= limit or pressed,
            numbers={load.resource: load.share} | _own(load, facts),
        )
        found.append((not cause.binds, -load.share / limit, cause))
    found.sort(key=lambda entry: entry[:2])
    return [cause for *_, cause in found]


def unknown_limits(facts: Facts) -> list[str]:
    """What was used of resources whose limit is not known, in words."""
    worth = [load for load in facts.loads if load.share is None and load.used >= WORTH_NAMING]
    ways = [load for load in worth if load.resource.startswith("network")]
    less = min(ways, key=lambda load: load.used).resource if len(ways) > 1 else ""
    return [
        f"{load.resource} {quantity(load.used, load.unit)}"
        for load in worth
        if load.resource != less
    ]


def nothing(facts: Facts) -> Cause:
    """No rule holds: what was used most, or that nothing was."""
    causes = by_resource(facts)
    if not causes:
        return Cause("unknown", "neither host samples nor task times tell", 0.0, False)
    top = causes[0]
    if top.share < IDLE_BELOW:
        limit = percent(IDLE_BELOW, signed=False)
        words = f"no known resource above {limit}; most used: {top.words}"
        return Cause("start-up and waiting", words, top.share, False, top.numbers)
    return Cause("no single cause", f"most used: {top.words}", top.share, False, top.numbers)


def _kind(resource: str) -> str:
    if resource == WAITING or resource.startswith("disk"):
        return "disk"
    return "network" if resource.startswith("network") else resource


def _own(load: Load, facts: Facts) -> dict[str, float]:
    known = load.resource == CPU and facts.own_cpu is not None
    return {"own_cpu": facts.own_cpu or 0.0} if known else {}


def _words(load: Load, facts: Facts) -> str:
    share = percent(load.share, signed=False)
    where = f" on {load.host}" if load.host else ""
    if load.resource == CPU:
        # all threads are those of one machine, or of all hosts together
        threads = f" of {facts.threads:.0f} threads" if facts.threads and not where else ""
        words = f"CPU {share}{threads} busy{where}"
        if facts.own_cpu is not None and load.share and facts.own_cpu < load.share / 2:
            own = percent(facts.own_cpu, signed=False)
            words += f", only {own} by the job's tasks"
        return words
    if load.resource == WAITING:
        return f"processors waited for disks {share} of the time{where}"
    if load.resource == MEMORY:
        return f"memory {share} used{where}"
    if load.unit == "ratio":
        return f"{load.resource} busy {share} of the time{where}"
    return f"{load.resource} {quantity(load.used, load.unit)}, {share} of its limit{where}"
