"""The similarity report: dimensionless groups at full size and in the model.

Results of a model apply to the full size as far as these groups agree: a group matches within 10 %,
is near within 30 % and is broken otherwise, with a consequence for the results. Absolute seconds of
a model are never those of the full size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

from windtunnel.cluster import Cluster
from windtunnel.results.record import SimilarityGroup, SimilarityState
from windtunnel.results.similarity import state_of
from windtunnel.testbeds.base import Load
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.sizes import CPU_S_PER_BYTE, Size, sizes, wave_s
from windtunnel.testbeds.scaled.tasks import MIB, Tasks, number

PLACEMENT = "replicas that the busiest host receives : mean"


def similarity(cluster: Cluster, scale: Scale, loads: Sequence[Load]) -> list[SimilarityGroup]:
    """All groups: those of the hardware, then those of each workload.

    The model is compared with the full-size description of which it is made, before slots, disks
    and waves are combined.
    """
    full, model = sizes(cluster, scale)
    found = [*_hardware(full, model)]
    for load in loads:
        if load.data_bytes and load.tasks:
            found += _of_tasks(load, full, model)
        if load.data_bytes:
            found += _of_data(load, full, model)
        if load.tasks:
            found += _start_up(load, full, model)
        if load.data_bytes and load.tasks:
            found.append(_fixed_cpu(load, full, model))
    return found


def _group(
    name: str,
    pair: Sequence[float | None],
    more: str,
    less: str,
    *,
    workload: str | None = None,
    unit: str = "ratio",
    state: SimilarityState | None = None,
) -> SimilarityGroup:
    """A group; ``more`` and ``less`` are the consequences of a larger or smaller model value."""
    full, model = pair
    found = state or state_of(full, model)
    says = ""
    if found in ("near", "broken") and full is not None and model is not None:
        says = more if model > full else less
    return SimilarityGroup(
        name=name, workload=workload, full=full, model=model, unit=unit, state=found, says=says
    )


def _hardware(full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = (full, model)
    yield _group(
        "disk : network",
        [size.disk("write") / size.nic for size in pair],
        more="disks are too fast relative to the network, which binds too early",
        less="disks are too slow relative to the network and bind too early",
    )
    yield _group(
        "disk : CPU",
        [size.disk("read") / size.cores for size in pair],
        more="disks are too fast relative to the CPUs, which bind too early",
        less="disks are too slow relative to the CPUs and bind too early",
        unit="bytes/s per core",
    )
    yield _group(
        "network : CPU",
        [size.nic / size.cores for size in pair],
        more="the network is too fast relative to the CPUs, which bind too early",
        less="the network is too slow relative to the CPUs and binds too early",
        unit="bytes/s per core",
    )
    yield _group(
        "slots per core",
        [size.per_core * size.rate for size in pair],
        more="more tasks share a core: start-up and waiting take more of the time",
        less="fewer tasks share a core: CPUs can be idle although they would not be at full size",
    )
    yield _group(
        "slots left by an application master",
        [1 - size.tasks.master_slots / size.slots for size in pair],
        more="the application master takes a smaller fraction of the slots than at full size",
        less="the application master takes a larger fraction of the slots than at full size: jobs "
        "have more waves, most with the fewest workers",
        unit="share",
    )
    yield _group(
        "CPU of a single task, fraction of its host",
        [size.rate_of_task * len(size.task_hosts) / size.task_cores for size in pair],
        more="a single task can use more of the CPU of its host: tails of waves and single "
        "streams are too fast; phases with all slots busy are not affected",
        less="a single task has too little CPU: tails of waves are too slow",
        unit="share",
    )
    daemons = [size.daemon_share for size in pair]
    yield _group(
        "CPU of daemons, fraction of their hosts",
        daemons,
        more="daemons leave a smaller fraction of the CPUs for tasks, most at the fewest cores",
        less="daemons leave a larger fraction of the CPUs for tasks",
        unit="share",
        state=state_of(*(1 - share for share in daemons)),
    )
    yield _group(
        "streams per disk",
        [size.slots / max(size.disks, 1) for size in pair],
        more="more streams compete for a disk than at full size",
        less="fewer streams compete for a disk than at full size",
    )
    yield _group("replication", [s.cluster.stored_per_byte for s in pair], _REPLICAS, _REPLICAS)
    yield _group(
        "(N-1)/N",
        [(size.workers - 1) / size.workers if size.workers else None for size in pair],
        more="a larger fraction of the shuffle crosses the network",
        less="a smaller fraction of the shuffle crosses the network",
        unit="share",
    )
    yield _group("racks", [float(len(s.fabric.racks)) for s in pair], _RACKS, _RACKS)
    yield _group(
        "oversubscription",
        [size.oversubscription for size in pair],
        more="uplinks have less capacity per NIC than at full size",
        less="uplinks have more capacity per NIC than at full size",
    )
    vms = [sum(max(1, len(h.guests)) for h in s.hosts) / len(s.hosts) for s in pair]
    yield _group("VMs per host", vms, _GUESTS, _GUESTS)


_REPLICAS = "other amounts of data are written and sent"
_RACKS = "replicas have other places, and other fractions of the traffic cross uplinks"
_GUESTS = "another number of virtual machines share a host"


def _of_tasks(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    yield _group(
        "waves of maps",
        waves(load, full, model),
        more="more waves: the effect of start-up is larger, that of stragglers smaller",
        less="fewer waves: hosts can be idle, and the effect of the last wave is larger",
        workload=load.workload,
    )
    yield _group(
        "slots in use, mean over all waves of maps",
        [several / math.ceil(several) for several in waves(load, full, model)],
        more="the last wave of maps uses more of the slots than at full size",
        less="the last wave of maps leaves more slots idle than at full size: choose a number of "
        "maps that fills all waves",
        workload=load.workload,
        unit="share",
    )
    if load.writers:
        return
    yield _group(
        "reduce tasks of the busiest worker : mean",
        imbalance(load, full, model),
        more="some workers run more reduce tasks than others, and the job waits for them: choose "
        "a multiple of the number of workers",
        less="reduce tasks are spread more equally over the workers than at full size",
        workload=load.workload,
    )
    yield _group(
        "spills per map",
        [_spills(size.tasks, data) for size, data in pair],
        more="maps spill and merge more often: too much disk traffic",
        less="maps spill and merge less often: too little disk traffic",
        workload=load.workload,
    )
    yield _group(
        "reducer data : buffer",
        [
            data / reduces / size.tasks.reduce_buffer if reduces else None
            for (size, data), reduces in zip(pair, reduces_of(load, full, model), strict=True)
        ],
        more="reducers write more of the shuffle to disk than at full size",
        less="reducers keep more of the shuffle in memory: too little disk traffic",
        workload=load.workload,
    )


def reduces_of(load: Load, full: Size, model: Size) -> tuple[int, int]:
    """The reduce tasks of a workload, at full size and in the model."""
    given = zip((full, model), counts(load.reduces, load), strict=True)
    found = [n or int(number(size.cluster, "mapreduce.job.reduces", 1)) for size, n in given]
    return found[0], found[1]


def imbalance(load: Load, full: Size, model: Size) -> Sequence[float | None]:
    """Reduce tasks of the worker with most of them, divided by their mean over the workers."""
    return [
        math.ceil(reduces / size.workers) * size.workers / reduces
        if reduces and size.workers
        else None
        for size, reduces in zip((full, model), reduces_of(load, full, model), strict=True)
    ]


def counts(tasks: int | None, load: Load) -> tuple[int | None, int | None]:
    """A number of tasks at full size and in the model."""
    return tasks, tasks and max(1, round(tasks * load.task_fraction))


def replica_imbalance(load: Load, full: Size, model: Size) -> Sequence[float | None]:
    """Replicas that the busiest host receives, divided by their mean: the expected value.

    The NameNode places all replicas but the first by chance. Their number on a host has the
    binomial distribution; the largest of N normal values is expected at Blom's quantile (Blom
    1958, Statistical estimates and transformed beta-variables). None without such replicas.
    """
    copies = load.phases[0].write_bytes / load.data_bytes if load.phases else 0.0
    found: list[float | None] = []
    for size, data in ((full, load.data_bytes), (model, load.model_bytes)):
        hosts = size.cluster.holders
        received = math.ceil(data / size.tasks.block_bytes) * (round(copies) - 1)
        if hosts < 2 or received < 1 or size.cluster.storage.code is not None:
            found.append(None)
            continue
        largest = NormalDist().inv_cdf((hosts - 0.375) / (hosts + 0.25))
        found.append(min(hosts, 1 + largest * math.sqrt((hosts - 1) / received)))
    return found


def _of_data(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    placed = replica_imbalance(load, full, model)
    if None not in placed:
        yield _group(
            PLACEMENT,
            placed,
            more="with fewer blocks, some hosts receive more replicas than others by chance: "
            "phases that write replicas are too slow, and their trials differ more",
            less="replicas are spread more equally over the hosts than at full size",
            workload=load.workload,
        )
    copies = full.cluster.stored_per_byte
    for noun, busy in (("tasks running", True), ("between jobs", False)):
        yield _group(
            f"data that the cache can hold, {noun}",
            [min(1.0, size.cache(busy=busy) / (data * copies)) for size, data in pair],
            more="caches hold more of the data in the model: disk reads are too fast "
            "(drop caches between phases: 'cache: drop')",
            less="caches hold less of the data in the model: disk reads are too slow",
            workload=load.workload,
            unit="share",
        )


def _spills(tasks: Tasks, data: float) -> float:
    buffer = tasks.sort_mib * MIB * tasks.spill_share
    return float(max(1, math.ceil(min(tasks.block_bytes, data) / buffer)))


def start_shares(load: Load, full: Size, model: Size) -> tuple[float, float]:
    """Start-up as a fraction of the time of all tasks, at full size and in the model (estimates).

    A reduce task takes as long for a byte as a map task. Its waiting for map tasks is not counted.
    """
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    writers, reduces = counts(load.writers, load), reduces_of(load, full, model)
    found = []
    for number_of, (size, data), reducers in zip(writers, pair, reduces, strict=True):
        if number_of:
            starts, work = size.start_s(number_of), wave_s(load, size, data, number_of)
        else:
            blocks = data / size.tasks.block_bytes
            starts = size.start_s() * (math.ceil(blocks) + reducers)
            work = size.task_s() * blocks * (2 if reducers else 1)
        found.append(starts / (starts + work))
    return found[0], found[1]


def waves(load: Load, full: Size, model: Size) -> tuple[float, float]:
    """The waves of the map tasks of a workload, at full size and in the model."""
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    found = [
        (writers or math.ceil(data / size.tasks.block_bytes)) / size.slots
        for (size, data), writers in zip(pair, counts(load.writers, load), strict=True)
    ]
    return found[0], found[1]


def _start_up(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    """Start-up of a task as a fraction of its time; the state depends on the rest, the work.

    The task time of a workload without data is unknown.
    """
    shares: Sequence[float | None] = [None, None]
    state: SimilarityState = "unknown"
    if load.data_bytes:
        known = start_shares(load, full, model)
        shares, state = known, state_of(*(1 - share for share in known))
    ours = "unknown" if shares[1] is None else f"{shares[1] * 100:.0f} %"
    yield _group(
        "start-up, fraction of task time",
        shares,
        more=f"start-up is about {ours} of a task in the model: phases that are short at full size "
        "are not meaningful, and all differences are too small",
        less=f"start-up is about {ours} of a task in the model, less than at full size",
        workload=load.workload,
        unit="share",
        state=state,
    )


def fixed_cpu_shares(load: Load, full: Size, model: Size) -> tuple[float, float]:
    """CPU time of tasks that does not depend on the data, as a fraction of their CPU time.

    The values for full size and for the model are estimates. A sort moves each byte four times: in
    and out of a map task, in and out of a reduce task. A writer moves it once.
    """
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    writers, reduces = counts(load.writers, load), reduces_of(load, full, model)
    found = []
    for number_of, (size, data), reducers in zip(writers, pair, reduces, strict=True):
        tasks = number_of or math.ceil(data / size.tasks.block_bytes) + reducers
        fixed = tasks * size.fixed_cpu_s(writer=bool(number_of))
        work = data * CPU_S_PER_BYTE * (1 if number_of else 4)
        found.append(fixed / (fixed + work))
    return found[0], found[1]


def _fixed_cpu(load: Load, full: Size, model: Size) -> SimilarityGroup:
    """The state depends on the rest, the work of the CPUs on the data."""
    shares = fixed_cpu_shares(load, full, model)
    return _group(
        "fixed CPU time of tasks, fraction of their CPU time",
        shares,
        more=f"about {shares[1] * 100:.0f} % of the CPU time of tasks does not depend on the data: "
        "CPUs bind too early, and differences of disks and networks are too small",
        less="a smaller fraction of the CPU time of tasks is independent of the data than at full "
        "size: CPUs bind too late",
        workload=load.workload,
        unit="share",
        state=state_of(*(1 - share for share in shares)),
    )
