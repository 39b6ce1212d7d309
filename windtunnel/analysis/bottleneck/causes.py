"""The rules that determine the bottleneck of a phase. Each is a function of its facts.

The thresholds were fixed in advance, and each has a reason. The order of :data:`RULES` is the
order of precedence: causes of unnecessary or serial work come before the hardware, because a
change has to remove these causes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windtunnel.analysis.bottleneck.facts import Facts, Load
from windtunnel.analysis.bottleneck.usage import IDLE_BELOW, WORTH_NAMING
from windtunnel.analysis.bottleneck.utilisation import CPU, DATA_PATH, MEMORY, WAITING
from windtunnel.analysis.formatting import digits, percent, quantity

BUSY = 0.80
"""A resource is the bottleneck if its mean utilisation in the phase is 80 %: work then queues
for about four times its service time (rho / (1 - rho), M/M/1), and the start and the end of the
phase account for the remainder."""
PRESSED_MOST = 0.50
"""A resource is also the bottleneck if its utilisation is at least 90 % for more than half of
the phase."""
WAITED = 0.25
"""If processors wait for disks for a quarter of the time, the disks are the bottleneck, whatever
their limit is. The remaining time is the other work of the same tasks."""
MEMORY_FULL = 0.95
"""Above this fraction of used memory (without caches), the host starts to swap."""
LONE = 0.15
"""Fraction of the phase in which one of several tasks works alone: if two tasks divided its work,
the phase would be 7 % shorter, which a study with the usual noise of a few percent detects."""
BYTES_SKEWED = 3.0
LONE_UNEVEN = 0.10
"""If a task has three times the median input, the cause is in the data, whatever else ran on the
machine: a tenth of the phase alone is then sufficient (a possible gain of 5 %)."""
SINGLE = 0.25
"""The threshold for the only task of its kind is higher: a short single reducer is usual."""
SKEWED = 1.5
"""A task that works alone is long, and not only the last one, from 1.5 times the median on."""
EXTRA_PASSES = 2.5
"""A record of a map is written once if all records fit in the sort buffer, and twice if spills
are merged in one pass. Above 2.5, more than half of the records had additional passes."""
MAPS_MATTER = 0.30
"""Spills are the bottleneck only if the maps take at least this fraction of the phase."""
COLLECTED = 0.20
"""If garbage collection takes a fifth of the task time, the heap is too small: with a sufficient
heap, it takes a few percent."""
IDLE_MOST = 0.50
"""If no task runs for half of the phase, the phase waits for the start of the application master
and of containers."""
ROOMY = 0.50
"""Memory with a lower utilisation than this is not a candidate for the next bottleneck."""
FULL_MOST = 0.50
WAVES = 1.5
"""Slots are the bottleneck if they are full for more than half of the phase while tasks wait for
a second wave, and no resource is saturated."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A possible bottleneck of a phase, with its evidence.

    ``kind`` is the name in tables and findings. ``share`` is the number that the rule compares
    with its threshold (``words`` has the unit). ``binds`` is whether it exceeds the threshold.
    """

    kind: str
    words: str
    share: float
    binds: bool
    numbers: Mapping[str, float] = field(default_factory=dict)


Rule = Callable[[Facts], Cause | None]


def long_task(facts: Facts) -> Cause | None:
    """One reducer or map still works after all others have finished."""
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
        words += f"; it took {digits(skew)} times the median time of {count:.0f} tasks"
        numbers["skew"] = skew
    uneven = bytes_skew is not None and bytes_skew >= BYTES_SKEWED
    if bytes_skew is not None and uneven:
        words += f", with {digits(bytes_skew)} times the median input"
        numbers["bytes_skew"] = bytes_skew
    long = share >= LONE and skew is not None and skew >= SKEWED
    binds = long or (uneven and share >= LONE_UNEVEN)
    return Cause(f"one long {kind}", words, share, binds, numbers)


def sort_buffer(facts: Facts) -> Cause | None:
    """Records are written to disk several times because the maps' sort buffer is too small."""
    spills, which = facts.map_spills, "the maps wrote each record"
    if spills is None and facts.all_spills is not None:
        # Reducers write a record at most once, unless they also merge in several passes.
        spills, which = facts.all_spills - 1, "excluding the reducers, each record was written"
    if spills is None or spills <= 1.05:
        return None
    stage = facts.maps_stage if facts.maps_stage is not None else 1.0
    passes = "with additional merge passes" if spills >= EXTRA_PASSES else "with one merge pass"
    words = f"{which} {digits(spills)} times to disk (minimum 1), {passes}"
    if facts.merge is not None:
        merged = percent(facts.merge, signed=False)
        words += f"; {merged} of the map time was sort and merge after the map function"
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
    """The phase waits for the application master, for containers or for the commit."""
    if facts.idle is None:
        return None
    words = f"no task ran for {percent(facts.idle, signed=False)} of the phase"
    binds = facts.idle >= IDLE_MOST
    return Cause("start-up and waiting", words, facts.idle, binds, {"idle": facts.idle})


def hardware(facts: Facts) -> Cause | None:
    """The resource with the highest utilisation relative to its threshold."""
    causes = by_resource(facts)
    return causes[0] if causes and causes[0].binds else None


def slots(facts: Facts) -> Cause | None:
    """Tasks wait for a container while the hardware has free capacity."""
    if facts.full is None or facts.waves is None or facts.slots is None or facts.maps is None:
        return None
    cpu = next((load.share for load in facts.loads if load.resource == CPU), None)
    if cpu is None or facts.waves < WAVES:
        return None
    words = (
        f"{facts.maps:.0f} maps ran in {digits(facts.waves)} waves of {facts.slots:.0f}, at a CPU "
        f"utilisation of {percent(cpu, signed=False)}"
    )
    numbers = {"waves": facts.waves, "full": facts.full, "CPU": cpu}
    return Cause("too few containers", words, facts.full, facts.full >= FULL_MOST, numbers)


RULES: tuple[Rule, ...] = (long_task, sort_buffer, garbage, start_up, hardware, slots)


def by_resource(facts: Facts) -> list[Cause]:
    """Every resource with a known limit, the one with the highest relative utilisation first."""
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
    """The rates of resources whose limit is unknown, in words."""
    worth = [load for load in facts.loads if load.share is None and load.used >= WORTH_NAMING]
    ways = [load for load in worth if load.resource.startswith("network")]
    less = min(ways, key=lambda load: load.used).resource if len(ways) > 1 else ""
    return [
        f"{load.resource} {quantity(load.used, load.unit)}"
        for load in worth
        if load.resource != less
    ]


def nothing(facts: Facts) -> Cause:
    """No rule applies: the resource with the highest utilisation, if any is known."""
    causes = by_resource(facts)
    if not causes:
        return Cause("unknown", "there are no host samples and no task times", 0.0, False)
    top = causes[0]
    if top.share < IDLE_BELOW:
        limit = percent(IDLE_BELOW, signed=False)
        words = f"no known resource above {limit}; highest utilisation: {top.words}"
        return Cause("start-up and waiting", words, top.share, False, top.numbers)
    words = f"highest utilisation: {top.words}"
    return Cause("no single cause", words, top.share, False, top.numbers)


def _kind(resource: str) -> str:
    if resource == WAITING or resource.startswith("disk"):
        return "disk"
    return "network" if resource.startswith("network") else resource


def _own(load: Load, facts: Facts) -> dict[str, float]:
    known = load.resource == CPU and facts.own_cpu is not None
    return {"own_cpu": facts.own_cpu or 0.0} if known else {}


def _threads(number: float) -> str:
    """The threads of one machine, or of all hosts together; a CPU quota can be a part of a core."""
    return f"{number:.0f} threads" if number == round(number) else f"{number:.2g} cores"


def _others(load: Load, facts: Facts, *, several: bool) -> str:
    """That less than half of the CPU use is that of the job's tasks, on all workers together."""
    mean = load.share if facts.mean_cpu is None else facts.mean_cpu
    if facts.own_cpu is None or not mean or facts.own_cpu >= mean / 2:
        return ""
    own = f"only {percent(facts.own_cpu, signed=False)} by the job's tasks"
    return f"; all workers {percent(mean, signed=False)}, {own}" if several else f", {own}"


def _words(load: Load, facts: Facts) -> str:
    share = percent(load.share, signed=False)
    busiest = "host" if load.resource in DATA_PATH else "worker"
    where = f" on the busiest {busiest}" if load.varies else f" on {load.host}" if load.host else ""
    if load.resource == CPU:
        threads = f" of {_threads(facts.threads)}" if facts.threads and not where else ""
        return f"CPU {share}{threads} busy{where}{_others(load, facts, several=bool(where))}"
    if load.resource == WAITING:
        return f"processors waited for disks {share} of the time{where}"
    if load.resource == MEMORY:
        return f"memory {share} used{where}"
    if load.unit == "ratio":
        return f"{load.resource} busy {share} of the time{where}"
    return f"{load.resource} {quantity(load.used, load.unit)}, {share} of its limit{where}"
