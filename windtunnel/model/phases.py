"""The equations of the phases: demands on CPU, disks and network, and the resulting times.

Every function works on arrays of shape (treatments,). docs/physics.md derives the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.model.columns import Columns, Theta, columns
from windtunnel.model.constants import Vector
from windtunnel.model.traffic import (
    beside_data,
    busiest,
    elsewhere,
    keepers,
    pipeline,
    working,
    written,
)

__all__ = ["RESOURCES", "Columns", "Times", "columns", "pipeline", "times"]

SAME_CODE = ("pi", "put", "get")  # work that does not depend on the release of Hadoop
RESOURCES = ("cpu", "disk", "network")
# Part of the CPU work of a sort before its last map ends: reduce tasks merge while maps run. Of
# 0.55, 0.70 and 0.85, the value with the smallest error on Cisco 2014.
MAP_SHARE = 0.85
DIRTY_SHARE = 0.1  # vm.dirty_background_ratio: what memory absorbs before the disks must keep up
LEAST_WRITTEN = 0.2  # of a small output: what the disks write while the job still runs
# Gcycles/GB of a client that copies a file: at 10 GbE a PUT takes a fifth of the time at 1 GbE
# (Intel 2012), which is 585 MB/s with one stream of a processor of 3.5 GHz.
CLIENT_CYCLES = 6.0
# Part of the start-up of a task that is in its own CPU time; the NodeManager, the shell that starts
# the container and the end of the JVM take the rest. Measured on a machine of two cores: tasks
# without work count 1.5 s, and each further one prolongs a job by 1.8 s.
START_COUNTED = 0.4
# Start-up in a JVM that waits for its task, relative to a new one: 0.9 of 2.7, 1.4 of 5.3, 0.6 of
# 1.7 and 1.6 of 5.5 s per task (TeraSort of two sizes, WordCount and Pi on the testbed local).
WARM_START = 0.3
# Disks with a stated rate reach it if a rotating disk reaches NOMINAL MB/s: a fit to one kind of
# disk finds the part of the stated rate that HDFS reaches.
NOMINAL = 50.0
CONTROLLER_SHARE = 0.8  # of the controller's rate: VMware 2011 wrote 440 of "500 to 600" MB/s
# the clock and the busy cores of a socket to which memory_stall refers
REFERENCE_GHZ = 3.0
REFERENCE_CORES = 10.0
# The most cores of a fitted socket (Cisco 2014, E5-2697 v2). Beyond, the memory is assumed to be
# faster in proportion, so that the factor of shared memory stays that of 12 cores.
FITTED_CORES = 12.0
# The largest part that the waits for memory add: with 1, a further core adds nothing. The constants
# of a fit can have no more cores do less work.
MOST_STALL = 1.0


@dataclass(frozen=True)
class Times:
    """Times of a phase in seconds; arrays of shape (treatments,).

    ``cpu_s`` is the CPU time of all tasks. ``resources_s`` has shape (3, treatments): the time that
    each of :data:`RESOURCES` alone would take. ``task_start_s`` is the part of that of the CPUs in
    which tasks start; it is empty if only the other times are known.
    """

    elapsed_s: Vector
    cpu_s: Vector
    resources_s: NDArray[np.float64]
    task_start_s: Vector = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Stage:
    """A part of a phase in which its resources work at the same time.

    Attributes
    ----------
    cycles:
        Gcycles of all tasks.
    tasks, at_once:
        Tasks, and those that may run at the same time on a host.
    read, write:
        Bytes of a storage host that miss the cache; ``streams`` share its disks.
    scratch:
        Bytes that a compute host spills to its own disks, if the data is on other hosts.
    sent, stored, crossing:
        Bytes of the busiest compute host, of the busiest storage host, and across the switch.
    """

    cycles: Vector
    tasks: Vector
    at_once: Vector
    read: Vector
    write: Vector
    scratch: Vector
    streams: Vector
    sent: Vector
    stored: Vector
    crossing: Vector


def times(c: Columns, log: Vector) -> Times:
    """Predicted times of the jobs in ``c`` for the logarithms of the constants.

    With logarithms of shape (variants, constants), all times have a leading axis of variants.
    """
    t = Theta(log)
    stages = _STAGES[c.kind](c, t)
    elapsed: Any = t.start * _start_up(c)
    cpu: Any = 0.0 * c.hosts
    resources: Any = 0.0
    starting: Any = 0.0 * c.hosts
    for stage in stages:
        busy_s, each, start = _cpu(stage, c, t)
        parts = np.stack(np.broadcast_arrays(each, _disk(stage, c, t), _network(stage, c, t)))
        moving = together(parts[1], parts[2], 1.0 + 1.0 / t.coupling_network)
        elapsed = elapsed + together(parts[0], moving, 1.0 + 1.0 / t.coupling_cpu)
        resources = resources + parts
        cpu = cpu + busy_s
        starting = starting + start
    return Times(elapsed, cpu, resources, starting)


def together(one: Vector, other: Vector, power: float) -> Vector:
    """The time of two resources that overlap in part: the p-norm of their times."""
    longest, shortest = np.maximum(one, other), np.minimum(one, other)
    ratio = shortest / np.maximum(longest, 1e-12)
    return longest * (1.0 + ratio**power) ** (1.0 / power)


def waves_of(tasks: Vector, slots: Vector) -> Vector:
    """Waves of tasks: whole ones when few, fluid when many."""
    fluid = np.maximum(tasks / slots, 1e-12)
    whole = np.ceil(fluid - 1e-9)
    return np.where(fluid <= 1.0, 1.0, fluid + (whole - fluid) / fluid)


def _cpu(stage: Stage, c: Columns, t: Theta) -> tuple[Vector, Vector, Vector]:
    """CPU time of all tasks, the elapsed time if only CPU and start-up counted, and the start-up.

    The start-up is a part of the elapsed time.
    """
    hosts_used = np.minimum(c.hosts, np.maximum(stage.tasks, 1.0))
    running = np.maximum(1.0, np.minimum(stage.at_once, stage.tasks / hosts_used))
    cores = c.cores * np.where(c.pooled > 0, c.hosts / hosts_used, 1.0)
    threads = cores * c.threads_per_core
    shared = np.minimum(running, threads)
    loss = np.maximum(c.threads_per_core / (1.0 + t.smt_gain) - 1.0, 0.0)
    loss = np.where(c.threads_per_core > 1.0, loss, 0.0)
    smt = 1.0 + loss * (shared - 1.0) / np.maximum(threads - 1.0, 1.0)
    busy = np.minimum(np.minimum(running, cores) / c.sockets, FITTED_CORES) / REFERENCE_CORES
    waits = t.memory_stall * busy**2 * c.clock_ghz / REFERENCE_GHZ
    stall = 1.0 + np.minimum(waits, MOST_STALL)
    guest = np.where(c.guests > 0, t.guest_cpu, 1.0)
    release = np.where(c.old > 0, t.old_release, 1.0) if c.kind not in SAME_CODE else 1.0
    busy_s = stage.cycles / c.clock_ghz * smt * stall * guest * release
    waiting = t.waiting if c.kind == "sort" else 1.0
    crowded = np.maximum(1.0, running / threads)  # tasks and their start-up share the threads
    task_start = t.task_start * _start_up(c)
    per_task = (waiting * busy_s / stage.tasks + task_start) * crowded
    used_s = busy_s + START_COUNTED * stage.tasks * task_start
    waves = waves_of(stage.tasks, running * hosts_used)
    return used_s, per_task * waves, task_start * crowded * waves


def _start_up(c: Columns) -> Vector:
    """Start-up relative to that in new JVMs."""
    found: Vector = np.where(c.warm > 0, WARM_START, 1.0)
    return found


def _disk(stage: Stage, c: Columns, t: Theta) -> Vector:
    """Time of the disks of a storage host."""
    guests = np.maximum(c.guests, 1.0)
    disks, streams = np.maximum(c.disk_count / guests, 1.0), stage.streams / guests
    used = 1.0 - (1.0 - 1.0 / np.maximum(disks, 1.0 + 1e-9)) ** np.maximum(streams, 1.0)
    limit = c.controller_bytes_s * CONTROLLER_SHARE
    # Hadoop 2 and later read ahead (HADOOP-7714, dfs.datanode.readahead.bytes)
    ahead = np.where(c.old > 0, t.old_release, 1.0)
    reading = used * t.disk_read * (c.spindles * 1e6 + c.fixed_read_bytes_s / NOMINAL) / ahead
    writing = used * t.disk_write * (c.spindles * 1e6 + c.fixed_write_bytes_s / NOMINAL)
    seconds = stage.read / np.minimum(reading, limit) + stage.write / np.minimum(writing, limit)
    guest = np.where(c.guests > 0, t.guest_disk, 1.0)
    guest = guest * np.where((c.guests > 1) & (c.pinned > 0), t.guest_pinned, 1.0)
    own = t.disk_write * (c.scratch_spindles * 1e6 + c.scratch_fixed_bytes_s / NOMINAL)
    spilling = stage.scratch / np.maximum(own, 1.0)
    result: Vector = np.maximum(seconds, spilling) * guest
    return result


def _network(stage: Stage, c: Columns, t: Theta) -> Vector:
    """Time of the busiest link."""
    own = np.maximum(stage.sent / c.nic_bytes_s, stage.stored / c.store_nic_bytes_s)
    across = stage.crossing / (c.cross_bytes_s * t.shared_uplink)
    result: Vector = np.maximum(own, across)
    return result


def _cached(c: Columns, t: Theta, bytes_: Vector, holders: Vector) -> Vector:
    """The fraction of recently written bytes that is still in the memory of ``holders`` hosts."""
    room = t.cached * c.store_memory_bytes * holders
    found: Vector = np.minimum(1.0, room / np.maximum(bytes_, 1.0))
    return found


def _flushed(c: Columns, each: Vector) -> Vector:
    """What the disks of a host must write of ``each`` bytes while the job runs."""
    return np.maximum(each - DIRTY_SHARE * c.store_memory_bytes, LEAST_WRITTEN * each)


def _stage(c: Columns, **given: Vector) -> Stage:
    zero = 0.0 * c.hosts
    return Stage(**{one.name: given.get(one.name, zero) for one in fields(Stage)})


def _generate(c: Columns, t: Theta) -> list[Stage]:
    hosts = working(c, c.tasks)
    sent, stored, crossing = pipeline(c, c.data_bytes, c.replicas, hosts)
    running = np.minimum(c.at_once * c.hosts, c.tasks)
    return [
        _stage(
            c,
            cycles=t.cycles_generate * c.data_bytes / 1e9,
            tasks=c.tasks,
            at_once=c.at_once,
            write=_flushed(c, written(c, c.data_bytes, c.stores, hosts)),
            streams=written(c, running, c.stores, hosts),
            sent=sent,
            stored=stored,
            crossing=crossing,
        )
    ]


def _sort(c: Columns, t: Theta) -> list[Stage]:
    mapping, reducing = working(c, c.tasks), working(c, c.reduces)
    spilled = c.data_bytes * c.spilled
    shuffled = spilled * np.maximum(c.hosts - 1.0, 0.0) / c.hosts
    segments = np.maximum(spilled / c.reduces / c.shuffle_bytes, 1.0)
    more = np.maximum(np.log(segments) / np.log(c.merge_factor) - 1.0, 0.0)
    passes = np.minimum(1.0, segments - 1.0) + more
    missed = 1.0 - _cached(c, t, spilled, c.hosts)
    fresh = 1.0 - _cached(c, t, c.data_bytes, c.stores)
    remote = np.where(beside_data(c), np.maximum(1.0 - c.hosts / c.stores, 0.0) * 0.5, elsewhere(c))
    local = np.where(c.external > 0, 0.0, 1.0)  # spills are on the disks that hold the data
    maps = _stage(
        c,
        cycles=MAP_SHARE * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.tasks,
        at_once=c.at_once,
        read=busiest(c, c.data_bytes * fresh, c.stores, mapping)
        + local * spilled * missed / mapping,
        write=_flushed(c, local * spilled / mapping),
        scratch=(1.0 - local) * spilled * (1.0 + missed) / mapping,
        streams=busiest(c, np.minimum(c.at_once * c.hosts, c.tasks), c.stores, mapping) * 2.0,
        sent=shuffled / np.minimum(mapping, reducing) + remote * c.data_bytes / mapping,
        stored=remote * c.data_bytes / c.stores,
        crossing=shuffled + elsewhere(c) * c.data_bytes,
    )
    sent, stored, crossing = pipeline(c, c.data_bytes, c.replicas, reducing)
    each = c.reduces / reducing
    output = written(c, c.data_bytes, keepers(c, reducing), reducing)
    reduces = _stage(
        c,
        cycles=(1.0 - MAP_SHARE) * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.reduces,
        at_once=np.minimum(np.maximum(c.at_once, 1.0), np.maximum(each, 1.0)),
        read=local * spilled * passes * missed / reducing,
        write=_flushed(c, local * spilled * passes / reducing + output),
        scratch=(1.0 - local) * spilled * passes * (1.0 + missed) / reducing,
        streams=each * 2.0,
        sent=sent,
        stored=stored,
        crossing=crossing,
    )
    return [maps, reduces]


def _reading(c: Columns, cycles: Vector, missed: Vector, holders: Vector) -> Stage:
    """Tasks read all data, of which the disks of the holders read what memory missed."""
    hosts, remote = working(c, c.tasks), elsewhere(c)
    return _stage(
        c,
        cycles=cycles,
        tasks=c.tasks,
        at_once=c.at_once,
        read=busiest(c, missed, holders, hosts),
        streams=busiest(c, np.minimum(c.at_once * c.hosts, c.tasks), holders, hosts),
        sent=remote * c.data_bytes / hosts,
        stored=remote * c.data_bytes / c.stores,
        crossing=remote * c.data_bytes,
    )


def _validate(c: Columns, t: Theta) -> list[Stage]:
    holders = keepers(c, working(c, c.tasks))  # one task for each file of the sort
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, holders))
    return [_reading(c, t.cycles_validate * c.data_bytes / 1e9, missed, holders)]


def _count(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, c.stores))
    return [_reading(c, t.cycles_count * c.data_bytes / 1e9, missed, c.stores)]


def _pi(c: Columns, t: Theta) -> list[Stage]:
    cycles = t.cycles_sample * c.samples / 1e6
    return [_stage(c, cycles=cycles, tasks=c.tasks, at_once=c.at_once, streams=1.0 + 0.0 * c.hosts)]


def _write(c: Columns, t: Theta) -> list[Stage]:
    (stage,) = _generate(c, t)
    cycles = t.cycles_validate * c.data_bytes / 1e9
    return [Stage(**{**stage.__dict__, "cycles": cycles})]


def _read(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, c.stores))
    return [_reading(c, t.cycles_validate * c.data_bytes / 1e9, missed, c.stores)]


def _put(c: Columns, t: Theta) -> list[Stage]:
    outside = np.ones_like(c.hosts)  # a client outside of the storage hosts
    _, stored, crossing = pipeline(c, c.data_bytes, c.replicas, outside=outside)
    return [
        _copying(
            c,
            np.where(c.coded > 0, c.replicas, 1.0),  # the client computes the cells of a code
            write=_flushed(c, c.data_bytes * c.replicas / c.stores),
            stored=stored,
            crossing=crossing,
            streams=9.0 * c.disk_count,  # memory takes the blocks and writes them to all disks
        )
    ]


def _get(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, c.stores))
    each = c.data_bytes / c.stores
    # a stream reads one block after the other, each from one disk
    reading = np.maximum(c.streams / c.stores, 1.0)
    read = missed / c.stores * np.maximum(c.stores / c.streams, 1.0)
    once = np.ones_like(c.hosts)
    return [_copying(c, once, read=read, stored=each, crossing=c.data_bytes, streams=reading)]


def _copying(c: Columns, factor: Vector, **given: Vector) -> Stage:
    """One client: its streams need its CPU, its NIC and the uplink of its rack.

    Each byte of data is ``factor`` bytes on the network.
    """
    link = np.minimum(c.client_nic_bytes_s, c.client_cross_bytes_s)
    return _stage(
        c,
        cycles=CLIENT_CYCLES * c.data_bytes / 1e9,
        tasks=c.streams,
        at_once=c.streams,
        sent=c.data_bytes * factor * c.nic_bytes_s / link,
        **given,
    )


_STAGES: Mapping[str, Callable[[Columns, Theta], list[Stage]]] = {
    "generate": _generate,
    "sort": _sort,
    "validate": _validate,
    "count": _count,
    "pi": _pi,
    "write": _write,
    "read": _read,
    "put": _put,
    "get": _get,
}
