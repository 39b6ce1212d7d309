"""The equations of the phases: demands on CPU, disks and network, and the resulting times.

Every function works on arrays of shape (treatments,). docs/physics.md derives the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.model.constants import INDEX, Vector
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job

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


@dataclass(frozen=True)
class Columns:
    """Jobs of one kind as columns; each is an array of shape (treatments,) or one number."""

    kind: str
    values: dict[str, Any]

    def __getattr__(self, name: str) -> Vector:
        try:
            found: Vector = self.values[name]
        except KeyError:
            raise AttributeError(name) from None
        return found


_HARDWARE = tuple(one.name for one in fields(Hardware) if one.name != "assumed")
_JOB = tuple(one.name for one in fields(Job) if one.name not in ("kind", "software"))


def columns(kind: str, rows: Sequence[tuple[Hardware, Job]]) -> Columns:
    """Rows of one kind as columns."""
    values: dict[str, Any] = {
        name: np.array([getattr(hosts, name) for hosts, _ in rows], dtype=float)
        for name in _HARDWARE
    }
    values |= {
        name: np.array([getattr(work, name) for _, work in rows], dtype=float) for name in _JOB
    }
    return Columns(kind, values)


@dataclass(frozen=True)
class Times:
    """Times of a phase in seconds; arrays of shape (treatments,).

    ``cpu_s`` is the CPU time of all tasks. ``resources_s`` has shape (3, treatments): the time that
    each of :data:`RESOURCES` alone would take.
    """

    elapsed_s: Vector
    cpu_s: Vector
    resources_s: NDArray[np.float64]


@dataclass(frozen=True)
class Theta:
    """The constants by name, from logarithms of shape (constants,) or (variants, constants).

    A constant is a number, or an array of shape (variants, 1).
    """

    log: Vector

    def __getattr__(self, name: str) -> Any:
        try:
            values = np.exp(self.log[..., INDEX[name]])
        except KeyError:
            raise AttributeError(name) from None
        return values[:, None] if values.ndim else values


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
    for stage in stages:
        busy_s, each = _cpu(stage, c, t)
        parts = np.stack(np.broadcast_arrays(each, _disk(stage, c, t), _network(stage, c, t)))
        moving = together(parts[1], parts[2], 1.0 + 1.0 / t.coupling_network)
        elapsed = elapsed + together(parts[0], moving, 1.0 + 1.0 / t.coupling_cpu)
        resources = resources + parts
        cpu = cpu + busy_s
    return Times(elapsed, cpu, resources)


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


def _cpu(stage: Stage, c: Columns, t: Theta) -> tuple[Vector, Vector]:
    """CPU time of all tasks, and the elapsed time if only CPU and start-up counted."""
    hosts_used = np.minimum(c.hosts, np.maximum(stage.tasks, 1.0))
    running = np.maximum(1.0, np.minimum(stage.at_once, stage.tasks / hosts_used))
    cores = c.cores * np.where(c.pooled > 0, c.hosts / hosts_used, 1.0)
    threads = cores * c.threads_per_core
    shared = np.minimum(running, threads)
    loss = np.maximum(c.threads_per_core / (1.0 + t.smt_gain) - 1.0, 0.0)
    loss = np.where(c.threads_per_core > 1.0, loss, 0.0)
    smt = 1.0 + loss * (shared - 1.0) / np.maximum(threads - 1.0, 1.0)
    busy = np.minimum(running, cores) / c.sockets / REFERENCE_CORES
    stall = 1.0 + t.memory_stall * busy**2 * c.clock_ghz / REFERENCE_GHZ
    guest = np.where(c.guests > 0, t.guest_cpu, 1.0)
    release = np.where(c.old > 0, t.old_release, 1.0) if c.kind not in SAME_CODE else 1.0
    busy_s = stage.cycles / c.clock_ghz * smt * stall * guest * release
    waiting = t.waiting if c.kind == "sort" else 1.0
    crowded = np.maximum(1.0, running / threads)  # tasks and their start-up share the threads
    task_start = t.task_start * _start_up(c)
    per_task = (waiting * busy_s / stage.tasks + task_start) * crowded
    used_s = busy_s + START_COUNTED * stage.tasks * task_start
    return used_s, per_task * waves_of(stage.tasks, running * hosts_used)


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
    guest = guest * np.where(c.guests > 1, t.guest_pinned, 1.0)
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


def _keepers(c: Columns) -> Vector:
    """Hosts that hold the output: a single replica stays on the host of its task."""
    single = (c.replicas <= 1.0) & (c.external <= 0)
    return np.where(single, np.minimum(c.hosts, c.stores), c.stores)


def _flushed(c: Columns, each: Vector) -> Vector:
    """What the disks of a host must write of ``each`` bytes while the job runs."""
    return np.maximum(each - DIRTY_SHARE * c.store_memory_bytes, LEAST_WRITTEN * each)


def pipeline(c: Columns, data: Vector, replicas: Vector) -> tuple[Vector, Vector, Vector]:
    """Bytes that a compute host sends, that a storage host moves, and that cross the switch.

    The first replica of a write stays on the host of the task, unless the storage is elsewhere.
    The busiest direction of a storage host is what it receives; it forwards one replica less.
    """
    first = np.where(c.external > 0, 1.0, 0.0)
    remote = data * np.maximum(replicas - 1.0 + first, 0.0)
    # With one host there is no other.
    remote = np.where((c.stores <= 1) & (c.external <= 0), 0.0, remote)
    sends = np.where(c.external > 0, data, np.minimum(remote, data)) / c.hosts
    forwards = np.maximum(remote - data, 0.0) / c.stores
    sends = np.where(c.external > 0, sends, sends + forwards)
    return sends, np.maximum(remote / c.stores, forwards), remote


def _stage(c: Columns, **given: Vector) -> Stage:
    zero = 0.0 * c.hosts
    return Stage(**{one.name: given.get(one.name, zero) for one in fields(Stage)})


def _generate(c: Columns, t: Theta) -> list[Stage]:
    sent, stored, crossing = pipeline(c, c.data_bytes, c.replicas)
    return [
        _stage(
            c,
            cycles=t.cycles_generate * c.data_bytes / 1e9,
            tasks=c.tasks,
            at_once=c.at_once,
            write=_flushed(c, c.data_bytes * c.replicas / c.stores),
            streams=np.minimum(c.at_once * c.hosts, c.tasks) * c.replicas / c.stores,
            sent=sent,
            stored=stored,
            crossing=crossing,
        )
    ]


def _sort(c: Columns, t: Theta) -> list[Stage]:
    spilled = c.data_bytes * c.spilled
    shuffled = spilled * np.maximum(c.hosts - 1.0, 0.0) / c.hosts
    segments = np.maximum(spilled / c.reduces / c.shuffle_bytes, 1.0)
    more = np.maximum(np.log(segments) / np.log(c.merge_factor) - 1.0, 0.0)
    passes = np.minimum(1.0, segments - 1.0) + more
    missed = 1.0 - _cached(c, t, spilled, c.hosts)
    fresh = 1.0 - _cached(c, t, c.data_bytes, c.stores)
    remote = np.where(c.external > 0, 1.0, np.maximum(1.0 - c.hosts / c.stores, 0.0) * 0.5)
    local = np.where(c.external > 0, 0.0, 1.0)  # spills are on the disks that hold the data
    maps = _stage(
        c,
        cycles=MAP_SHARE * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.tasks,
        at_once=c.at_once,
        read=c.data_bytes * fresh / c.stores + local * spilled * missed / c.hosts,
        write=_flushed(c, local * spilled / c.hosts),
        scratch=(1.0 - local) * spilled * (1.0 + missed) / c.hosts,
        streams=np.minimum(c.at_once * c.hosts, c.tasks) / c.stores * 2.0,
        sent=shuffled / c.hosts + remote * c.data_bytes / c.hosts,
        stored=remote * c.data_bytes / c.stores,
        crossing=shuffled,
    )
    sent, stored, crossing = pipeline(c, c.data_bytes, c.replicas)
    reducing = c.reduces / c.hosts
    reduces = _stage(
        c,
        cycles=(1.0 - MAP_SHARE) * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.reduces,
        at_once=np.minimum(np.maximum(c.at_once, 1.0), np.maximum(reducing, 1.0)),
        read=local * spilled * passes * missed / c.hosts,
        write=_flushed(
            c, local * spilled * passes / c.hosts + c.data_bytes * c.replicas / _keepers(c)
        ),
        scratch=(1.0 - local) * spilled * passes * (1.0 + missed) / c.hosts,
        streams=reducing * 2.0,
        sent=sent,
        stored=stored,
        crossing=crossing,
    )
    return [maps, reduces]


def _reading(c: Columns, cycles: Vector, missed: Vector, holders: Vector) -> Stage:
    """Tasks read all data, of which the disks of the holders read what memory missed."""
    remote = np.where(c.external > 0, 1.0, 0.0)
    return _stage(
        c,
        cycles=cycles,
        tasks=c.tasks,
        at_once=c.at_once,
        read=missed / holders,
        streams=np.minimum(c.at_once * c.hosts, c.tasks) / holders,
        sent=remote * c.data_bytes / c.hosts,
        stored=remote * c.data_bytes / c.stores,
        crossing=remote * c.data_bytes,
    )


def _validate(c: Columns, t: Theta) -> list[Stage]:
    keepers = _keepers(c)
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, keepers))
    return [_reading(c, t.cycles_validate * c.data_bytes / 1e9, missed, keepers)]


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
    first = np.where(c.external > 0, 0.0, 1.0)  # a client outside of the storage hosts
    _, stored, crossing = pipeline(c, c.data_bytes, c.replicas + first)
    written = _flushed(c, c.data_bytes * c.replicas / c.stores)
    # memory takes the blocks and writes them to all disks
    return [
        _copying(c, write=written, stored=stored, crossing=crossing, streams=9.0 * c.disk_count)
    ]


def _get(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas, c.stores))
    each = c.data_bytes / c.stores
    # a stream reads one block after the other, each from one disk
    reading = np.maximum(c.streams / c.stores, 1.0)
    read = missed / c.stores * np.maximum(c.stores / c.streams, 1.0)
    return [_copying(c, read=read, stored=each, crossing=c.data_bytes, streams=reading)]


def _copying(c: Columns, **given: Vector) -> Stage:
    """One client: its streams need its CPU and its NIC."""
    return _stage(
        c,
        cycles=CLIENT_CYCLES * c.data_bytes / 1e9,
        tasks=c.streams,
        at_once=c.streams,
        sent=c.data_bytes * c.nic_bytes_s / c.client_nic_bytes_s,
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
