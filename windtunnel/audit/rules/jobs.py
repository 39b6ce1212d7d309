"""MapReduce: sort buffer and spills, merges, reduce tasks, slow start, compression, speculation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from windtunnel.audit.check import in_range
from windtunnel.audit.configuration import Configuration
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.audit.rules.containers import (
    MIB,
    container_mb,
    granted_mb,
    heap_mb,
    node_mb,
    opts_of,
)

SORT_MB = "mapreduce.task.io.sort.mb"
SPILL = "mapreduce.map.sort.spill.percent"
FACTOR = "mapreduce.task.io.sort.factor"
SLOW_START = "mapreduce.job.reduce.slowstart.completedmaps"
ROW_BYTES = 100  # of TeraSort, the workload to which the prediction refers
_MOST_SORT_MB = 2047
META_BYTES = 16  # METASIZE of MapTask.MapOutputBuffer: accounting of each record in the buffer


def sort_buffer_heap(evidence: Evidence) -> Iterator[Outcome]:
    """The sort buffer against the heap of a map task."""
    conf = evidence.conf
    buffer, heap = conf.number(SORT_MB), heap_mb(conf, "map")
    if buffer is None:
        yield unknown(f"{SORT_MB} is no number")
        return
    if heap is None:
        why = "has no -Xmx: the heap depends on the memory of the host"
        yield unknown(f"{opts_of(conf, 'map')} {why}")
        return
    text = f"sort buffer {buffer:.0f} MiB, heap of a map task {heap:.0f} MiB"
    remedy = f"set {SORT_MB} = {max(1.0, 0.5 * heap):.0f}, or give map tasks a larger heap"
    if buffer >= heap:
        text += ": every map task ends with an OutOfMemoryError"
        yield failed(text, remedy, about=SORT_MB, place=conf.place(SORT_MB))
    elif buffer > 0.7 * heap:
        text += ": too little is left for the records and the code"
        yield failed(text, remedy, about=SORT_MB, place=conf.place(SORT_MB))
    else:
        yield passed(text)


def spills(evidence: Evidence) -> Iterator[Outcome]:
    """How often a map task of a sort spills, if its input is one block."""
    conf = evidence.conf
    buffer, percent = conf.number(SORT_MB), conf.number(SPILL)
    split = conf.number("mapreduce.input.fileinputformat.split.minsize") or 0.0
    split = max(split, conf.number("dfs.blocksize") or 0.0)
    if not buffer or not percent or not split:
        yield unknown("sort buffer or block size is no number")
        return
    per_row = ROW_BYTES + META_BYTES
    count = math.ceil(split / ROW_BYTES * per_row / (buffer * MIB * percent))
    needed = split / ROW_BYTES * per_row / MIB / percent
    text = (
        f"a map task of TeraSort with {split / MIB:.0f} MiB of input spills {count} times from a "
        f"buffer of {buffer:.0f} MiB at {percent:g}"
    )
    if count > 1:
        heap = heap_mb(conf, "map") or 0.0
        remedy = f"set {SORT_MB} = {math.ceil(needed / 8) * 8}"
        if needed > 0.7 * heap:
            heap = math.ceil(needed / 0.6)
            remedy += f" and mapreduce.map.java.opts = -Xmx{heap}m"
        if heap > 0.9 * container_mb(conf, "map"):
            remedy += f" and mapreduce.map.memory.mb = {math.ceil(heap / 0.8 / 256) * 256}"
        if needed > _MOST_SORT_MB:
            remedy = "no buffer holds so large a split: lower dfs.blocksize or the least split"
        yield failed(text, remedy, about=SORT_MB, place=conf.place(SORT_MB))
    else:
        yield passed(text)


def merges(evidence: Evidence) -> Iterator[Outcome]:
    """Streams of one merge against the buffers that they need."""
    conf = evidence.conf
    factor, buffer = conf.number(FACTOR), conf.number(SORT_MB)
    if factor is None or buffer is None:
        yield unknown(f"{FACTOR} or {SORT_MB} is no number")
    elif factor > buffer:  # each stream needs about 1 MiB to read without a seek for each record
        text = f"{factor:.0f} streams share {buffer:.0f} MiB: less than 1 MiB each, so disks seek"
        remedy = f"set {FACTOR} to at most {max(2, buffer // 4):.0f}, or increase {SORT_MB}"
        yield failed(text, remedy, about=FACTOR, place=conf.place(FACTOR))
    else:
        yield passed(f"{factor:.0f} streams of at least 1 MiB")


def reduces(evidence: Evidence) -> Iterator[Outcome]:
    """Reduce tasks of a job without a number of its own, against the slots of the cluster."""
    conf, hard = evidence.conf, evidence.hardware
    count, node = conf.number("mapreduce.job.reduces"), node_mb(conf)
    if count is None or node is None or hard.workers is None:
        yield unknown("the number of workers is unknown: give facts of all hosts or --cluster")
        return
    slots = node // granted_mb(conf, "reduce") * hard.workers
    text = f"{count:.0f} reduce tasks by default, {slots:.0f} containers for them"
    about, place = "mapreduce.job.reduces", conf.place("mapreduce.job.reduces")
    if slots < 1:
        yield failed(text, "see the sizes of containers", about=about, place=place)
    elif slots < count < 1.5 * slots:  # the tutorial recommends 0.95 or 1.75 times the slots
        text += ": most containers are idle in the second wave"
        yield failed(text, f"set {about} = {0.95 * slots:.0f}", about=about, place=place)
    elif count > 2 * slots:
        text += f": {math.ceil(count / slots)} waves, and every reduce task starts a JVM"
        yield failed(text, f"set {about} = {0.95 * slots:.0f}", about=about, place=place)
    elif count <= 1 and slots >= 4:
        text += ": one host sorts everything"
        yield failed(text, f"set {about} = {max(2, 0.95 * slots):.0f}", about=about, place=place)
    else:
        yield passed(text)


def slow_start(evidence: Evidence) -> Iterator[Outcome]:
    """Whether reduce tasks occupy containers while map tasks wait for them."""
    conf, hard = evidence.conf, evidence.hardware
    value, node = conf.number(SLOW_START), node_mb(conf)
    if value is None:
        yield unknown(f"{SLOW_START} is no number")
        return
    if node is None or hard.workers is None:
        yield not_applicable("the number of workers is unknown")
        return
    slots = node // granted_mb(conf, "map") * hard.workers
    tasks = conf.number("mapreduce.job.reduces") or 1.0
    taken = tasks * granted_mb(conf, "reduce") / granted_mb(conf, "map")
    text = f"reduce tasks start after {value:.0%} of the maps and take {taken:.0f} of {slots:.0f}"
    if value < 0.5 and taken >= 0.3 * slots:
        remedy = f"set {SLOW_START} = 0.8"
        yield failed(f"{text} containers", remedy, about=SLOW_START, place=conf.place(SLOW_START))
    else:
        yield passed(f"{text} containers")


def speculation(evidence: Evidence) -> Iterator[Outcome]:
    """Speculation where hosts differ, and where they do not."""
    conf, hard = evidence.conf, evidence.hardware
    on = conf.true("mapreduce.map.speculative")
    about = "mapreduce.map.speculative"
    if hard.mixed is None:
        yield not_applicable("it is unknown whether hosts differ")
    elif hard.mixed and not on:
        text = "hosts differ, and no second attempt replaces a slow task"
        yield failed(text, f"set {about} = true", about=about, place=conf.place(about))
    else:
        yield passed(
            f"speculation {'on' if on else 'off'}, hosts {'differ' if hard.mixed else 'equal'}"
        )


_SHUFFLE = "mapreduce_shuffle"
_ON_YARN = {"yarn": (_SHUFFLE,), "yarn-tez": (_SHUFFLE, "tez_shuffle")}


def framework(evidence: Evidence) -> Iterator[Outcome]:
    """Whether jobs run on YARN (MapReduce or Tez), and NodeManagers serve their shuffle."""
    conf, bad = evidence.conf, False
    name, services = "mapreduce.framework.name", "yarn.nodemanager.aux-services"
    yarn = any(one.name.startswith("yarn.") for one in conf.entries)
    shuffles = _ON_YARN.get(conf.value(name), ())
    if yarn and not shuffles:
        bad = True
        text = f"{name} = {conf.shown(name)}: jobs run in one process, not on YARN"
        yield failed(text, f"set {name} = yarn", about=name, place=conf.place(name))
    others = conf.items(services)
    if shuffles and not set(shuffles).intersection(others):
        bad = True
        text = f"{services} = '{conf.shown(services)}': reduce tasks cannot fetch map output"
        remedy = f"add {_SHUFFLE} to {services}" if others else f"set {services} = {_SHUFFLE}"
        yield failed(text, remedy, about=services, place=conf.place(services))
    if not bad:
        yield passed(f"{name} = {conf.shown(name)}")


_INPUT_BUFFER = "mapreduce.reduce.shuffle.input.buffer.percent"
_MOST_OUTPUT_BYTES = 2**31 - 1  # of one map output in the memory of a reduce task, since 2.9


def shuffle_fractions(evidence: Evidence) -> Iterator[Outcome]:
    """Largest map output in memory against the start of merges: MergeManagerImpl compares them."""
    conf = evidence.conf
    single = "mapreduce.reduce.shuffle.memory.limit.percent"
    merge = "mapreduce.reduce.shuffle.merge.percent"
    limit, start = conf.number(single), conf.number(merge)
    if limit is None or start is None:
        yield unknown(f"{single} or {merge} is no number")
    elif limit < start:
        yield passed("fractions of the shuffle's memory agree")
    elif _shuffle_bytes(conf) * start > _MOST_OUTPUT_BYTES:
        yield passed("one map output has at most 2 GiB, less than the start of merges")
    else:
        text = f"{single} = {limit:g} is not below {merge} = {start:g}"
        remedy = f"set {single} = {min(0.25, 0.8 * start):g}"
        if start <= 0:
            remedy = f"set {merge} = 0.66 and {single} = 0.25"
        place = conf.place(single) or conf.place(merge)
        text += ": every reduce task fails at its start"
        yield failed(text, remedy, about=single, place=place)


def _shuffle_bytes(conf: Configuration) -> float:
    """Memory of a reduce task for map output; 0 if the version limits no single output."""
    if in_range(conf.version, ">=2.9") is False:
        return 0.0
    given = conf.number("mapreduce.reduce.memory.totalbytes")
    heap, part = heap_mb(conf, "reduce"), conf.number(_INPUT_BUFFER)
    return (given or (heap or 0.0) * MIB) * (part or 0.0)


RULES = {
    "sort_buffer_heap": sort_buffer_heap,
    "spills": spills,
    "merges": merges,
    "reduces": reduces,
    "slow_start": slow_start,
    "speculation": speculation,
    "framework": framework,
    "shuffle_fractions": shuffle_fractions,
}
