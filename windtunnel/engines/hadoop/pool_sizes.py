"""How many JVMs wait on each host for the containers of MapReduce (see ``pool.py``)."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.cluster.setting_values import (
    CALCULATOR,
    SCHEDULER,
    counts_vcores,
    granted_mib,
    whole,
)
from windtunnel.cluster.settings import default_of

JVM_BYTES = 280 << 20  # resident, measured with Java 17 and heaps of 256 to 820 MiB
MEMORY_AT_MOST = 0.75  # of the available memory; daemons need the rest, tasks run in these JVMs


def pool_sizes(
    settings: Mapping[str, str], workers: int, version: str, jvms: int | None = None
) -> dict[str, int]:
    """JVMs of each kind on a host: a wave of maps, its part of the reduces, one master.

    One JVM more than the host's part of the reduces waits, because reduces and speculative attempts
    do not spread evenly; none if ``mapreduce.job.reduces`` is 0. ``jvms`` is the number for all
    tasks of a host, in all waves. At most half of these JVMs wait for reduces.
    """

    def number(name: str, otherwise: int) -> int:
        found = whole(settings.get(name, default_of(name, version)))
        return found if found and found > 0 else otherwise

    def at_once(kind: str) -> int:
        """The containers of a kind that run on a host at once."""
        memory = number("yarn.nodemanager.resource.memory-mb", 8192)
        wanted = number(f"mapreduce.{kind}.memory.mb", 1024)
        most = int(memory // granted_mib(wanted, lambda n: settings.get(n, default_of(n, version))))
        if counts_vcores(settings.get(SCHEDULER, ""), settings.get(CALCULATOR, "")):
            vcores = number("yarn.nodemanager.resource.cpu-vcores", 8)
            most = min(most, vcores // number(f"mapreduce.{kind}.cpu.vcores", 1))
        return max(1, most)

    maps = at_once("map")
    reduces = 1 - (-number("mapreduce.job.reduces", 1) // max(workers, 1))
    if whole(settings.get("mapreduce.job.reduces")) == 0:
        reduces = 0
    if jvms is not None:
        reduces = min(reduces, jvms // 2)
        maps = jvms - reduces
    else:
        reduces = min(reduces, at_once("reduce"))
    return {"map": maps, "reduce": reduces, "master": 1}


def fitted(sizes: Mapping[str, int], workers: int, memory_bytes: int) -> dict[str, int]:
    """The sizes that fit: the JVMs of all hosts use at most 3/4 of the available memory.

    If they need more, fewer JVMs for map tasks wait, then fewer for reduce tasks.
    """
    room = int(MEMORY_AT_MOST * memory_bytes / max(workers, 1) / JVM_BYTES)
    found = {}
    for kind in ("master", "reduce", "map"):
        found[kind] = min(sizes[kind], max(0, room))
        room -= found[kind]
    return {kind: found[kind] for kind in sizes}


def pool_note(
    settings: Mapping[str, str],
    workers: int,
    version: str,
    memory_bytes: int,
    jvms: int | None = None,
) -> str:
    """The size of the pool of a deployment, for the plan."""
    wanted = pool_sizes(settings, workers, version, jvms)
    sizes = fitted(wanted, workers, memory_bytes)
    each = sum(sizes.values())
    note = (
        f"warm JVMs: {each} per worker ({sizes['map']} for maps, {sizes['reduce']} for reduces, "
        f"{sizes['master']} for an application master), {each * workers} in all, about "
        f"{each * workers * JVM_BYTES / 2**30:.1f} GiB; other containers start a new JVM"
    )
    if sizes["map"] < wanted["map"]:
        which = "that software.warm_jvms requests" if jvms else "of one wave"
        note += f"; the memory is too small for the {wanted['map']} maps {which}"
    return note
