"""``audit --live``: the daemons of the cluster that a configuration directory belongs to."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.errors import ClusterAccessError, UsageError, WindtunnelError

if TYPE_CHECKING:
    from windtunnel.audit.configuration import Configuration
    from windtunnel.audit.facts import HostFacts
    from windtunnel.audit.hardware import Hardware
    from windtunnel.audit.in_force import LiveCluster
    from windtunnel.hosts.daemon import Daemon
    from windtunnel.hosts.rest import Access
    from windtunnel.inspection.endpoints import Endpoints
    from windtunnel.inspection.facts import ClusterFacts


@dataclass
class Live:
    """Running clusters by the name of their configuration.

    ``files`` is the number in HDFS; ``hosts`` are facts of hosts with the same version of Hadoop.
    """

    access: Access
    in_force: dict[str, LiveCluster] = field(default_factory=dict)
    hardware: Hardware | None = None
    files: float | None = None
    hosts: list[HostFacts] = field(default_factory=list)


def live_of(words: Sequence[str], access: Access) -> Live:
    """What ``--live`` collects; raises UsageError if no target is a configuration directory."""
    if not any(Path(word).is_dir() for word in words):
        raise UsageError(
            "--live without a configuration directory",
            remedy="name the directory with the client configuration, such as /etc/hadoop/conf.",
        )
    return Live(access)


def requests(folder: Path) -> list[str]:
    """The requests to the daemons of a configuration directory, none of which is sent."""
    from windtunnel.inspection.daemons import planned

    return planned(_where(folder))


def read_live(folder: Path, files: Configuration, into: Live) -> Configuration:
    """The configuration in force; its daemons and the hardware of the workers are noted.

    What cannot be read is noted with its reason: the audit then has UNKNOWN.
    """
    from dataclasses import replace

    from windtunnel.audit.in_force import LiveCluster, merged
    from windtunnel.cluster.secrets import masked_text
    from windtunnel.hosts.rest import RestClient
    from windtunnel.inspection.daemons import read_daemons
    from windtunnel.inspection.facts import ClusterFacts
    from windtunnel.inspection.services import read_services

    facts = ClusterFacts()
    try:
        where = _where(folder)
    except ClusterAccessError as error:
        into.in_force[files.name] = LiveCluster(files, (), (error.message,))
        return files
    with RestClient(into.access) as client:
        read_services(client, where, facts)
        read = read_daemons(client, where, facts)
    daemons = [replace(one, unread=masked_text(one.unread)) for one in read]
    live = LiveCluster(
        files, daemons, tuple(masked_text(why) for why in dict.fromkeys(facts.unread))
    )
    into.in_force[files.name] = live
    into.hosts += _versions(daemons)
    into.hardware = into.hardware or _hardware(facts)
    number = facts.facts.get("files")
    into.files = float(number.value) if number is not None else into.files
    heaps = [
        int(size)
        for host in facts.hosts.values()
        if (size := host.value("namenode_heap_bytes")) is not None
    ]
    found = merged(live)
    if heaps:
        found = replace(found, heaps_bytes={**found.heaps_bytes, "namenode": min(heaps)})
    return found


def _where(folder: Path) -> Endpoints:
    """The web addresses of the daemons; raises ClusterAccessError if the files state none."""
    from windtunnel.inspection.endpoints import endpoints
    from windtunnel.inspection.site_files import read_configuration

    try:
        where = endpoints(read_configuration(folder))
    except WindtunnelError as error:
        raise ClusterAccessError(error.message, remedy=error.remedy, reason="no address") from None
    if not (where.namenodes or where.resourcemanagers or where.history):
        raise ClusterAccessError(
            f"{folder} states no web address of a daemon",
            remedy="set fs.defaultFS and yarn.resourcemanager.hostname.",
            reason="no address",
        )
    return where


def _versions(daemons: Sequence[Daemon]) -> Iterator[HostFacts]:
    """Facts for the check of software that is not maintained, once for each version of Hadoop."""
    from windtunnel.audit.facts import HostFacts

    hosts: dict[str, list[str]] = {}
    for daemon in daemons:
        if daemon.version and daemon.host not in hosts.setdefault(daemon.version, []):
            hosts[daemon.version].append(daemon.host)
    for version, names in hosts.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        rows = [{"main": "a daemon of Hadoop", "jars": {"hadoop-common": version}}]
        facts = {"jvms": {"value": rows}}
        yield HostFacts(f"{names[0]}{more}", facts, origin="live", only=("surface-end-of-life",))


def _hardware(facts: ClusterFacts) -> Hardware:
    """The smallest worker by what the daemons report; cores are unknown, threads are known."""
    from windtunnel.audit.hardware import Hardware

    workers = [one for one in facts.hosts.values() if {"datanode", "nodemanager"} & set(one.roles)]
    stores = list(facts.with_role("datanode"))
    nodes = list(facts.with_role("nodemanager"))

    def least(name: str) -> Iterator[float]:
        for host in nodes or workers:
            if (value := host.value(name)) is not None:
                yield float(value)

    disks = [float(len(host.volumes)) for host in stores if host.volumes]
    racks = {host.value("rack") for host in workers} - {None, "/default-rack"}
    shapes = {(one.value("cores"), one.value("memory_bytes")) for one in nodes}
    known = all(None not in shape for shape in shapes)
    return Hardware(
        threads=min(least("cores"), default=None),
        memory_bytes=min(least("memory_bytes"), default=None),
        data_disks=min(disks, default=None),
        workers=len(nodes) or None,
        datanodes=len(stores) or None,
        racks=len(racks) or None,
        mixed=len(shapes) > 1 if known and shapes else None,
    )
