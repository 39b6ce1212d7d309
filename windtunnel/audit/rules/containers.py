"""Containers: their memory and cores against each other and against the hardware."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windtunnel.audit.check import in_range
from windtunnel.audit.configuration import Configuration, number_of
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.audit.rules.scheduler import (
    COUNT_CORES,
    counts_cores,
    rounded_mb,
    step_name,
)
from windtunnel.cluster.setting_values import LEAST_MB

MIB = 1 << 20
# What YARN assumes if the value is -1 and it does not detect the hardware (yarn-default.xml).
DEFAULT_NODE_MB, DEFAULT_NODE_VCORES = 8192.0, 8.0
DEFAULT_TASK_MB = 1024.0
RESERVED = 0.1  # of the memory, for the system, DataNode and NodeManager
NODE_MB = "yarn.nodemanager.resource.memory-mb"
NODE_VCORES = "yarn.nodemanager.resource.cpu-vcores"
MOST_MB = "yarn.scheduler.maximum-allocation-mb"
TASKS = {
    "map": ("mapreduce.map.memory.mb", "mapreduce.map.java.opts"),
    "reduce": ("mapreduce.reduce.memory.mb", "mapreduce.reduce.java.opts"),
    "application master": (
        "yarn.app.mapreduce.am.resource.mb",
        "yarn.app.mapreduce.am.command-opts",
    ),
}
CHILD_OPTS = "mapred.child.java.opts"  # of map and reduce tasks without options of their own
RATIO = "mapreduce.job.heap.memory-mb.ratio"  # of a heap that is not set; since Hadoop 3.0
OLD_HEAP_MB = 200.0  # the default of CHILD_OPTS before Hadoop 3.0 was -Xmx200m


def node_mb(conf: Configuration) -> float | None:
    """Memory that a NodeManager offers, MiB; None if it detects it from the hardware."""
    return _of_node(conf, NODE_MB, DEFAULT_NODE_MB)


def node_vcores(conf: Configuration) -> float | None:
    """Cores that a NodeManager offers; None if it detects them."""
    return _of_node(conf, NODE_VCORES, DEFAULT_NODE_VCORES)


def _of_node(conf: Configuration, name: str, default: float) -> float | None:
    value = conf.number(name)
    if value is not None and value > 0:
        return value
    detects = conf.true("yarn.nodemanager.resource.detect-hardware-capabilities")
    return None if detects else default


def before_3(conf: Configuration) -> bool:
    """Whether Hadoop is known to be older than 3.0, which derives no heap from a container."""
    return in_range(conf.version, ">=3.0") is False


def opts_of(conf: Configuration, kind: str) -> str:
    """The property whose options the JVM of a task gets."""
    own = TASKS[kind][1]
    shared = kind != "application master" and not conf.is_set(own) and conf.is_set(CHILD_OPTS)
    return CHILD_OPTS if shared else own


def stated_heap_mb(conf: Configuration, kind: str) -> float | None:
    """The heap in a task's options, MiB; None if they state none."""
    opts = opts_of(conf, kind)
    found = re.findall(r"-Xmx(\d+[kKmMgGtT]?)", conf.value(opts))
    if not found and kind != "application master" and before_3(conf) and not conf.is_set(opts):
        return OLD_HEAP_MB
    size = number_of(found[-1]) if found else None
    return None if size is None else size / MIB


def heap_mb(conf: Configuration, kind: str) -> float | None:
    """The heap of a task, MiB: as stated, or from its container; None if it depends on the host."""
    heap = stated_heap_mb(conf, kind)
    if heap is None and not before_3(conf):
        return (conf.number(RATIO) or 0.8) * container_mb(conf, kind)
    return heap


def container_mb(conf: Configuration, kind: str) -> float:
    """The container of a task, MiB: as set, or from its heap, or Hadoop's default."""
    value = conf.number(TASKS[kind][0])
    if value is not None and value > 0:
        return value
    heap = None if before_3(conf) else stated_heap_mb(conf, kind)
    return heap / (conf.number(RATIO) or 0.8) if heap else DEFAULT_TASK_MB


def granted_mb(conf: Configuration, kind: str) -> float:
    """What the scheduler gives a task for its container, MiB."""
    return rounded_mb(conf, container_mb(conf, kind))


def bounds(evidence: Evidence) -> Iterator[Outcome]:
    """Least and greatest container, and what a NodeManager offers."""
    conf, bad = evidence.conf, False
    least, most, node = conf.number(LEAST_MB), conf.number(MOST_MB), node_mb(conf)
    if least is not None and most is not None and least > most:
        bad = True
        text = f"{LEAST_MB} = {least:.0f} is above {MOST_MB} = {most:.0f}"
        remedy = f"set {LEAST_MB} to at most {most:.0f}"
        yield failed(text, remedy, about=LEAST_MB, place=conf.place(LEAST_MB))
    if most is not None and node is not None and most > node and conf.is_set(MOST_MB):
        bad = True
        text = (
            f"{MOST_MB} = {most:.0f}, but a NodeManager offers {node:.0f} MiB: a larger container "
            "never starts"
        )
        remedy = f"set {MOST_MB} = {node:.0f}"
        yield failed(text, remedy, about=MOST_MB, place=conf.place(MOST_MB))
    for kind, (name, _) in TASKS.items():
        value = conf.number(name)
        ceiling = min(x for x in (most, node, float("inf")) if x is not None)
        if conf.is_set(name) and value is not None and value > ceiling:
            bad = True
            text = f"{name} = {value:.0f} is above the greatest container, {ceiling:.0f}: no {kind}"
            remedy = f"set {name} to at most {ceiling:.0f}, or raise {MOST_MB} and {NODE_MB}"
            yield failed(f"{text} starts", remedy, about=name, place=conf.place(name))
    if not bad:
        yield passed("containers fit into the bounds of the scheduler and of a NodeManager")


def rounding(evidence: Evidence) -> Iterator[Outcome]:
    """Containers that the scheduler rounds up by a quarter or more."""
    conf, bad = evidence.conf, False
    for kind, (name, _) in TASKS.items():
        value = conf.number(name)
        if not conf.is_set(name) or value is None or value <= 0:
            continue
        given = rounded_mb(conf, value)
        if given >= 1.25 * value:
            bad = True
            text = f"{name} = {value:.0f}: the scheduler gives each {kind} {given:.0f} MiB"
            remedy = f"set {step_name(conf, value)} to a divisor of {value:.0f}"
            yield failed(text, remedy, about=name, place=conf.place(name))
    if not bad:
        yield passed("the scheduler rounds no container up by a quarter")


def heaps(evidence: Evidence) -> Iterator[Outcome]:
    """The heap of each kind of task against its container."""
    conf, judged, bad = evidence.conf, 0, False
    for kind, (name, own) in TASKS.items():
        heap, box, opts = stated_heap_mb(conf, kind), conf.number(name), opts_of(conf, kind)
        if before_3(conf):
            box = container_mb(conf, kind)
        if heap is None or box is None or box <= 0:
            continue
        judged += 1
        good = f"{_heap_remedy(conf, kind, 0.8 * box)} (0.8 of the container)"
        by = "" if opts == own else f" ({opts})"
        what = f"{kind}: heap {heap:.0f} MiB{by}, container {box:.0f} MiB"
        place = conf.place(opts)
        if heap >= box:
            bad = True
            yield failed(f"{what}: YARN ends the task", good, about=own, place=place)
        elif heap > 0.9 * box:
            bad = True
            text = f"{what}: less than 10 % for the memory outside the heap"
            yield failed(text, good, about=own, place=place)
        elif heap < 0.5 * box:
            bad = True
            yield failed(f"{what}: half of it is never used", good, about=own, place=place)
    if not judged:
        yield not_applicable("no heap is set: Hadoop takes 0.8 of the container")
    elif not bad:
        yield passed("heaps fit their containers")


def _heap_remedy(conf: Configuration, kind: str, heap: float) -> str:
    """The whole value, so that the advice can contain it; not if other options may be secrets."""
    own, xmx = TASKS[kind][1], f"-Xmx{heap:.0f}m"
    value = conf.value(opts_of(conf, kind)) or "-Xmx"
    value = re.sub(r"-Xmx\S*", xmx, value)
    if not re.fullmatch(r"(-X[\w:+=-]+\s*)+", value):
        return f"set -Xmx in {own} to {heap:.0f}m"
    return f"set {own} = {value}"


def node_memory(evidence: Evidence) -> Iterator[Outcome]:
    """What a NodeManager offers against the memory of its host."""
    conf, hard = evidence.conf, evidence.hardware
    node = node_mb(conf)
    if node is None:
        yield not_applicable("NodeManagers detect their memory")
        return
    if hard.memory_bytes is None:
        yield unknown("the memory of the workers is unknown: give facts or --cluster")
        return
    have = hard.memory_bytes / MIB
    offered = node * hard.shared_by
    hosts = (
        f"{hard.shared_by} NodeManagers of one machine offer" if hard.shared_by > 1 else "offers"
    )
    text = f"{hosts} {offered:.0f} of {have:.0f} MiB"
    wanted = f"set {NODE_MB} = {(1 - RESERVED) * have / hard.shared_by // 512 * 512:.0f}"
    if offered > have:
        yield failed(
            f"{text}: more than there is", wanted, about=NODE_MB, place=conf.place(NODE_MB)
        )
    elif offered > (1 - RESERVED / 2) * have:
        text += ": nothing is left for the system, the DataNode and the page cache"
        yield failed(text, wanted, about=NODE_MB, place=conf.place(NODE_MB))
    else:
        yield passed(text)


def node_memory_unused(evidence: Evidence) -> Iterator[Outcome]:
    """Memory of the workers that no container gets."""
    conf, hard = evidence.conf, evidence.hardware
    node = node_mb(conf)
    if node is None or hard.memory_bytes is None:
        yield not_applicable("the memory of the workers or of the NodeManagers is unknown")
        return
    have, offered = hard.memory_bytes / MIB, node * hard.shared_by
    text = f"{offered:.0f} of {have:.0f} MiB for containers"
    wanted = f"set {NODE_MB} = {(1 - 2 * RESERVED) * have / hard.shared_by // 512 * 512:.0f}"
    if offered < 0.4 * have:
        yield failed(text, wanted, about=NODE_MB, place=conf.place(NODE_MB))
    else:
        yield passed(text)


def node_cores(evidence: Evidence) -> Iterator[Outcome]:
    """Cores that a NodeManager offers against the hardware threads."""
    conf, hard = evidence.conf, evidence.hardware
    vcores = node_vcores(conf)
    if vcores is None or hard.threads is None:
        detected = vcores is None
        yield (not_applicable if detected else unknown)(
            "NodeManagers detect their cores"
            if detected
            else "the cores of the workers are unknown"
        )
        return
    offered, have = vcores * hard.shared_by, hard.threads
    text = f"{offered:.0f} cores offered on {have:.0f} hardware threads"
    remedy = f"set {NODE_VCORES} = {max(1.0, have // hard.shared_by):.0f}"
    place = conf.place(NODE_VCORES)
    if offered > 2 * have:
        yield failed(f"{text}: tasks wait for each other", remedy, about=NODE_VCORES, place=place)
    elif offered < 0.5 * have:
        yield failed(f"{text}: half of them idle", remedy, about=NODE_VCORES, place=place)
    else:
        yield passed(text)


_LARGE_MB = 4096
_MAP_VCORES = "mapreduce.map.cpu.vcores"


def at_once(evidence: Evidence) -> Iterator[Outcome]:
    """Map tasks at the same time on one worker against its hardware threads."""
    conf, hard = evidence.conf, evidence.hardware
    node, cores = node_mb(conf), node_vcores(conf)
    if node is None or hard.threads is None:
        yield unknown("the cores of the workers are unknown: give facts or --cluster")
        return
    tasks = node // granted_mb(conf, "map")
    by_cores = counts_cores(conf) and cores is not None and cores // _map_vcores(conf) < tasks
    if by_cores and cores is not None:
        tasks = cores // _map_vcores(conf)
    tasks *= hard.shared_by
    text = f"{tasks:.0f} map tasks at once on {hard.threads:.0f} hardware threads"
    place = conf.place(NODE_VCORES if by_cores else NODE_MB)
    if tasks > 3 * hard.threads:
        size = _task_mb(conf, node, hard.threads / hard.shared_by)
        memory = f"mapreduce.map.memory.mb = {size:.0f}"
        offer = f"{NODE_VCORES} = {max(1.0, hard.threads // hard.shared_by):.0f}"
        count = offer if counts_cores(conf) else COUNT_CORES
        # containers that are larger than their tasks waste memory; on few cores, count cores
        first, other = (memory, count) if size <= _LARGE_MB else (count, memory)
        yield failed(text, f"set {first} (or {other})", about="map tasks", place=place)
    elif tasks < 0.5 * hard.threads:
        remedy = f"set {NODE_MB} higher or mapreduce.map.memory.mb lower"
        if by_cores:
            remedy = f"set {NODE_VCORES} higher or {_MAP_VCORES} lower"
        yield failed(f"{text}: cores idle", remedy, about="map tasks", place=place)
    else:
        yield passed(text)


def _map_vcores(conf: Configuration) -> float:
    return max(conf.number(_MAP_VCORES) or 1.0, 1.0)


def _task_mb(conf: Configuration, node: float, threads: float) -> float:
    """MiB of a map task: one for each thread of a host, in addition to an application master."""
    free = node - granted_mb(conf, "application master")
    most = conf.number(MOST_MB) or free
    return max(min(free / max(threads // 1, 1), most) // 256 * 256, 512)


RULES = {
    "bounds": bounds,
    "rounding": rounding,
    "heaps": heaps,
    "node_memory": node_memory,
    "node_memory_unused": node_memory_unused,
    "node_cores": node_cores,
    "at_once": at_once,
}
