"""The hardware of the workers, from collected facts or from a cluster description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from windtunnel.audit.facts import AbsentFactError, HostFacts, UnreadableError
from windtunnel.cluster import Cluster
from windtunnel.cluster.host_counts import compute_classes

_PARTITION = re.compile(r"/dev/(?:(?P<nvme>(?:nvme\d+n|mmcblk)\d+)|(?P<other>[a-z]+))(p?\d+)?$")
_OF_SYSTEM = re.compile(r"/|/(boot|var|usr|opt|home|tmp)(/.*)?")


@dataclass(frozen=True)
class Hardware:
    """One worker: the smallest of them where they differ. None is unknown.

    ``shared_by`` workers are processes of the same machine. ``mixed`` states whether the hosts
    differ. ``data_disks`` counts the disks for data of one worker.
    """

    cores: float | None = None
    threads: float | None = None
    memory_bytes: float | None = None
    data_disks: float | None = None
    workers: int | None = None
    datanodes: int | None = None
    racks: int | None = None
    mixed: bool | None = None
    shared_by: int = 1
    virtual: bool = False


def of_facts(hosts: Sequence[HostFacts]) -> Hardware:
    """The hardware that collected facts describe; all unknown without facts.

    If a DataNode or a NodeManager runs on some hosts, only these are workers, and the hosts whose
    processes could not be read.
    """
    if not hosts:
        return Hardware()
    nodes = _with_daemons(hosts, "NodeManager")
    workers = workers_of(hosts)
    shapes = {
        (one.number("cpu", "threads"), round((one.number("memory", "total_bytes") or 0) / 2**30))
        for one in workers
    }
    disks = [count for count in map(_disks, workers) if count is not None]
    several = len(hosts) > 1  # the facts of one host do not state how many there are
    return Hardware(
        cores=_least(workers, "cpu", "cores"),
        threads=_least(workers, "cpu", "threads"),
        memory_bytes=_least(workers, "memory", "total_bytes"),
        data_disks=min(disks) if disks else None,
        workers=len(nodes or workers) if several else None,
        mixed=len(shapes) > 1 if several else None,
        virtual=any(one.facts.get("cpu", {}).get("value", {}).get("virtual") for one in workers),
    )


def workers_of(hosts: Sequence[HostFacts]) -> list[HostFacts]:
    """The hosts with a DataNode or NodeManager; all hosts if none runs on any."""
    return _with_daemons(hosts, "DataNode", "NodeManager") or list(hosts)


def with_live(collected: Hardware, live: Hardware) -> Hardware:
    """Facts of hosts, which know more of a worker, with the counts that daemons report."""
    return replace(
        collected,
        workers=live.workers or collected.workers,
        datanodes=live.datanodes or collected.datanodes,
        racks=live.racks or collected.racks,
        mixed=collected.mixed if live.mixed is None else live.mixed,
    )


def _with_daemons(hosts: Sequence[HostFacts], *daemons: str) -> list[HostFacts]:
    """The hosts that run one of these daemons, or may; none if no host is known to run one."""
    running = [_classes(one) for one in hosts]
    if not any(found and found.intersection(daemons) for found in running):
        return []
    pairs = zip(hosts, running, strict=True)
    return [one for one, found in pairs if found is None or found.intersection(daemons)]


def _classes(host: HostFacts) -> set[str] | None:
    """The simple names of the main classes of a host's JVMs; None if they are unknown."""
    try:
        return {str(row.get("main", "")).rpartition(".")[2] for row in host.table("jvms")}
    except (UnreadableError, AbsentFactError):
        return None


def _least(hosts: Sequence[HostFacts], fact: str, key: str) -> float | None:
    found = [value for value in (one.number(fact, key) for one in hosts) if value is not None]
    return min(found) if found else None


def _disks(host: HostFacts) -> float | None:
    """The disks of a host without those that hold only the system; None if they are unknown."""
    try:
        disks = {str(row.get("name")) for row in host.table("disks")}
    except (UnreadableError, AbsentFactError):
        return None
    system = disks & _system_disks(host)
    return float(len(disks - system) or len(disks))


def _system_disks(host: HostFacts) -> set[str]:
    """The disks all of whose mounted partitions are parts of the system.

    A file system on a logical volume states no disk; the disk of ``/boot`` is then found.
    """
    try:
        mounts = host.table("mounts")
    except (UnreadableError, AbsentFactError):
        return set()
    points: dict[str, set[str]] = {}
    for row in mounts:
        found = _PARTITION.match(str(row.get("device", "")))
        if found:
            points.setdefault(found["nvme"] or found["other"], set()).add(str(row.get("point")))
    return {
        disk
        for disk, used in points.items()
        if any(one == "/" or one.startswith("/boot") for one in used)
        and all(_OF_SYSTEM.fullmatch(one) for one in used)
    }


def of_cluster(cluster: Cluster) -> Hardware:
    """The hardware of a described cluster."""
    classes = [one for _, one, _ in compute_classes(cluster)]
    threads = [float(one.cpu.threads) for one in classes if one.cpu and one.cpu.threads]
    cores = [float(one.cpu.cores) for one in classes if one.cpu and one.cpu.cores]
    memory = [float(one.memory) for one in classes if one.memory]
    disks = [
        float(sum(disk.count for disk in one.disks if disk.use == "data"))
        for one in classes
        if one.disks
    ]
    network, roles = cluster.network, cluster.role_counts()
    guests = sum(guest.count for one in classes for guest in one.vms)
    shapes = {
        (one.memory, one.cpu and one.cpu.threads, one.cpu and one.cpu.clock) for one in classes
    }
    return Hardware(
        cores=min(cores) if cores else None,
        threads=min(threads) if threads else None,
        memory_bytes=min(memory) if memory else None,
        data_disks=min(disks) if disks else None,
        workers=roles.get("nodemanager") or None,
        datanodes=roles.get("datanode") or None,
        racks=(network.spread_over or len(network.racks) or None) if network else None,
        mixed=len(shapes) > 1,
        virtual=bool(guests),
    )
