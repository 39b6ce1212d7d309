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

RESOURCES = ("cpu", "disk", "network")
MAP_SHARE = 0.85
DIRTY_SHARE = 0.1  # vm.dirty_background_ratio: what memory absorbs before the disks must keep up
CACHE_POWER = 2.0
CONTROLLER_SHARE = 0.8
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
_JOB = tuple(one.name for one in fields(Job) if one.name != "kind")


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
    """The constants by name, from a vector of logarithms."""

    log: Vector

    def __getattr__(self, name: str) -> float:
        try:
            return float(np.exp(self.log[INDEX[name]]))
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class Stage:
    """A part of a phase in which its resources work at the same time.

    ``read``, ``write``: bytes per storage host that miss the cache; ``scratch``: bytes per compute
    host on its own disks if the storage is elsewhere; ``sent``: bytes of the busiest compute host;
    ``stored``: bytes of the busiest storage host; ``crossing``: bytes that pass the switch.
    """

    cycles: Vector  # Gcycles of all tasks
    tasks: Vector
    at_once: Vector
    read: Vector
    write: Vector
    streams: Vector
    sent: Vector
    stored: Vector
    crossing: Vector


def times(c: Columns, log: Vector) -> Times:
    """Predicted times of the jobs in ``c`` for the logarithms of the constants."""
    t = Theta(log)
    stages = _STAGES[c.kind](c, t)
    elapsed: Any = t.start * (1.0 + 0.0 * c.hosts)
    cpu: Any = 0.0 * c.hosts
    resources = np.zeros((len(RESOURCES), *np.shape(c.hosts)))
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
    threads = c.cores * c.threads_per_core
    shared = np.minimum(running, threads)
    loss = np.maximum(c.threads_per_core / (1.0 + t.smt_gain) - 1.0, 0.0)
    loss = np.where(c.threads_per_core > 1.0, loss, 0.0)
    smt = 1.0 + loss * (shared - 1.0) / np.maximum(threads - 1.0, 1.0)
    busy = np.minimum(running, c.cores) / c.sockets / REFERENCE_CORES
    stall = 1.0 + t.memory_stall * busy**2 * c.clock_ghz / REFERENCE_GHZ
    guest = np.where(c.guests > 0, t.guest_cpu, 1.0)
    release = np.where(c.old > 0, t.old_release, 1.0) if c.kind != "pi" else 1.0
    busy_s = stage.cycles / c.clock_ghz * smt * stall * guest * release
    waiting = t.waiting if c.kind == "sort" else 1.0
    per_task = waiting * busy_s / stage.tasks * np.maximum(1.0, running / threads) + t.task_start
    return busy_s, per_task * waves_of(stage.tasks, running * hosts_used)


def _disk(stage: Stage, c: Columns, t: Theta) -> Vector:
    """Time of the disks of a storage host."""
    guests = np.maximum(c.guests, 1.0)
    disks, streams = np.maximum(c.disk_count / guests, 1.0), stage.streams / guests
    used = 1.0 - (1.0 - 1.0 / np.maximum(disks, 1.0 + 1e-9)) ** np.maximum(streams, 1.0)
    limit = c.controller_bytes_s * CONTROLLER_SHARE
    reading = used * (c.spindles * t.disk_read * 1e6 + c.fixed_read_bytes_s)
    writing = used * (c.spindles * t.disk_write * 1e6 + c.fixed_write_bytes_s)
    seconds = stage.read / np.minimum(reading, limit) + stage.write / np.minimum(writing, limit)
    guest = np.where(c.guests > 0, t.guest_disk, 1.0)
    guest = guest * np.where(c.guests > 1, t.guest_pinned, 1.0)
    result: Vector = seconds * guest
    return result


def _network(stage: Stage, c: Columns, t: Theta) -> Vector:
    """Time of the busiest link."""
    own = np.maximum(stage.sent / c.nic_bytes_s, stage.stored / c.store_nic_bytes_s)
    across = stage.crossing / (c.cross_bytes_s * t.shared_uplink)
    result: Vector = np.maximum(own, across)
    return result


def _cached(c: Columns, t: Theta, bytes_: Vector) -> Vector:
    """The fraction of recently written bytes that is still in memory."""
    room = t.cached * c.store_memory_bytes * c.stores
    result: Vector = np.minimum(1.0, room / np.maximum(bytes_, 1.0)) ** CACHE_POWER
    return result


def _flushed(c: Columns, bytes_: Vector) -> Vector:
    """Bytes per storage host that the disks must write while the job runs."""
    each = bytes_ / c.stores
    return np.maximum(each - DIRTY_SHARE * c.store_memory_bytes, 0.2 * each)


def _pipeline(c: Columns, data: Vector, replicas: Vector) -> tuple[Vector, Vector, Vector]:
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
    names = (one.name for one in fields(Stage))
    return Stage(**{name: given.get(name, zero) for name in names})


def _generate(c: Columns, t: Theta) -> list[Stage]:
    sent, stored, crossing = _pipeline(c, c.data_bytes, c.replicas)
    return [
        _stage(
            c,
            cycles=t.cycles_generate * c.data_bytes / 1e9,
            tasks=c.tasks,
            at_once=c.at_once,
            write=_flushed(c, c.data_bytes * c.replicas),
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
    missed = 1.0 - _cached(c, t, spilled)
    fresh = 1.0 - _cached(c, t, c.data_bytes)
    remote = np.where(c.external > 0, 1.0, np.maximum(1.0 - c.hosts / c.stores, 0.0) * 0.5)
    maps = _stage(
        c,
        cycles=MAP_SHARE * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.tasks,
        at_once=c.at_once,
        read=(c.data_bytes * fresh + spilled * missed) / c.stores,
        write=_flushed(c, spilled),
        streams=np.minimum(c.at_once * c.hosts, c.tasks) / c.stores * 2.0,
        sent=shuffled / c.hosts + remote * c.data_bytes / c.hosts,
        stored=remote * c.data_bytes / c.stores,
        crossing=shuffled,
    )
    sent, stored, crossing = _pipeline(c, c.data_bytes, c.replicas)
    reducing = c.reduces / c.hosts
    reduces = _stage(
        c,
        cycles=(1.0 - MAP_SHARE) * t.cycles_sort * c.data_bytes / 1e9,
        tasks=c.reduces,
        at_once=np.minimum(np.maximum(c.at_once, 1.0), np.maximum(reducing, 1.0)),
        read=spilled * passes * missed / c.stores,
        write=_flushed(c, spilled * passes + c.data_bytes * c.replicas),
        streams=reducing * 2.0,
        sent=sent,
        stored=stored,
        crossing=crossing,
    )
    return [maps, reduces]


def _reading(c: Columns, t: Theta, cycles: Vector, bytes_: Vector) -> Stage:
    remote = np.where(c.external > 0, 1.0, 0.0)
    return _stage(
        c,
        cycles=cycles,
        tasks=c.tasks,
        at_once=c.at_once,
        read=bytes_ / c.stores,
        streams=np.minimum(c.at_once * c.hosts, c.tasks) / c.stores,
        sent=remote * c.data_bytes / c.hosts,
        stored=remote * c.data_bytes / c.stores,
        crossing=remote * c.data_bytes,
    )


def _validate(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes))
    return [_reading(c, t, t.cycles_validate * c.data_bytes / 1e9, missed)]


def _count(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas))
    return [_reading(c, t, t.cycles_count * c.data_bytes / 1e9, missed)]


def _pi(c: Columns, t: Theta) -> list[Stage]:
    cycles = t.cycles_sample * c.samples / 1e6
    return [_stage(c, cycles=cycles, tasks=c.tasks, at_once=c.at_once, streams=1.0 + 0.0 * c.hosts)]


def _write(c: Columns, t: Theta) -> list[Stage]:
    (stage,) = _generate(c, t)
    cycles = t.cycles_validate * c.data_bytes / 1e9
    return [Stage(**{**stage.__dict__, "cycles": cycles})]


def _read(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas))
    return [_reading(c, t, t.cycles_validate * c.data_bytes / 1e9, missed)]


def _put(c: Columns, t: Theta) -> list[Stage]:
    _, stored, crossing = _pipeline(c, c.data_bytes, c.replicas + np.where(c.external > 0, 0.0, 1.0))
    return [_copying(c, t, write=_flushed(c, c.data_bytes * c.replicas), stored=stored, crossing=crossing)]


def _get(c: Columns, t: Theta) -> list[Stage]:
    missed = c.data_bytes * (1.0 - _cached(c, t, c.data_bytes * c.replicas))
    each = c.data_bytes / c.stores
    return [_copying(c, t, read=missed / c.stores, stored=each, crossing=c.data_bytes)]


def _copying(c: Columns, t: Theta, **given: Vector) -> Stage:
    """One client: its streams need its CPU, its NIC, and disks one block after the other."""
    sent = c.data_bytes * c.nic_bytes_s / c.client_nic_bytes_s
    used = np.minimum(c.streams * c.replicas / c.stores, c.disk_count)
    return _stage(
        c,
        cycles=t.cycles_validate * c.data_bytes / 1e9,
        tasks=c.streams,
        at_once=c.streams,
        streams=np.maximum(used, 1.0),
        sent=sent,
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
