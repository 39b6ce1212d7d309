"""HDFS: replicas, handlers, disks, folders, racks, heap of the NameNode, high availability."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from windtunnel.audit.configuration import Configuration
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.facts import AbsentFactError, UnreadableError
from windtunnel.audit.hardware import workers_of
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.cluster.settings import deprecated

BYTES_PER_FILE = 1000.0  # heap of the NameNode for each file with one block: about 1 GB a million
DATA, LOCAL = "dfs.datanode.data.dir", "yarn.nodemanager.local-dirs"
NAMES = "dfs.namenode.name.dir"


def folders(conf: Configuration, name: str) -> list[str]:
    """The paths of a list of folders, without storage types and schemes."""
    found = []
    for item in conf.items(name):
        text = item.partition("]")[2] if item.startswith("[") else item
        found.append(urlsplit(text.strip()).path if "://" in text else text.strip())
    return found


def replicas(evidence: Evidence) -> Iterator[Outcome]:
    """Replicas against DataNodes and the least number of replicas."""
    conf, hard = evidence.conf, evidence.hardware
    name, least = "dfs.replication", conf.number("dfs.namenode.replication.min")
    count, place = conf.number(name), conf.place(name)
    if count is None:
        yield unknown(f"{name} is no number")
        return
    nodes = hard.datanodes
    if least is not None and count < least:
        text = f"{name} = {count:.0f} is below dfs.namenode.replication.min = {least:.0f}"
        yield failed(f"{text}: no file can be created", about=name, place=place)
    elif nodes is not None and count > nodes:
        text = f"{name} = {count:.0f} with {nodes} DataNodes: every block stays under-replicated"
        yield failed(text, f"set {name} = {nodes}", about=name, place=place)
    elif count < 2 and (nodes is None or nodes > 1):
        text = f"{name} = {count:.0f}: a lost disk loses files"
        yield failed(text, f"set {name} = {min(3, nodes or 3)}", about=name, place=place)
    else:
        yield passed(f"{count:.0f} replicas")


def handlers(evidence: Evidence) -> Iterator[Outcome]:
    """Handlers of the NameNode: 20 times the natural logarithm of the number of DataNodes."""
    conf, hard = evidence.conf, evidence.hardware
    name = "dfs.namenode.handler.count"
    count, nodes = conf.number(name), hard.datanodes or hard.workers
    if count is None or nodes is None:
        yield unknown("the number of DataNodes is unknown: give --cluster or facts of all hosts")
        return
    wanted = max(10.0, round(20.0 * math.log(max(nodes, 2))))
    text = f"{count:.0f} handlers for {nodes} DataNodes; rule of thumb: {wanted:.0f}"
    # on one machine, more handlers serve nobody
    few = count < 0.5 * wanted and hard.shared_by == 1
    if few or count > 8.0 * wanted:
        yield failed(text, f"set {name} = {wanted:.0f}", about=name, place=conf.place(name))
    else:
        yield passed(text)


def short_circuit(evidence: Evidence) -> Iterator[Outcome]:
    """Reads past the DataNode: on, and with the socket that they need."""
    conf = evidence.conf
    name, path = "dfs.client.read.shortcircuit", "dfs.domain.socket.path"
    if conf.true(name) and not conf.value(path):
        text = f"{name} = true without {path}: DataNodes and clients do not start"
        yield failed(text, f"set {path} = /var/lib/hadoop-hdfs/dn_socket", about=name)
    elif not conf.true(name):
        text = "local blocks are read through a socket of the DataNode"
        remedy = f"set {name} = true and {path} = /var/lib/hadoop-hdfs/dn_socket"
        remedy += " (needs libhadoop, or DataNodes do not start)"
        yield failed(text, remedy, about=name, place=conf.place(name))
    else:
        yield passed(f"through {conf.value(path)}")


def disks(evidence: Evidence) -> Iterator[Outcome]:
    """Lists of data folders: twice the same, other numbers than disks, two on one disk."""
    conf, hard = evidence.conf, evidence.hardware
    bad = judged = False
    for name in (DATA, LOCAL):
        if not conf.is_set(name):
            continue
        judged, paths, place = True, folders(conf, name), conf.place(name)
        if len(set(paths)) < len(paths):
            bad = True
            text = f"{name} names {max(paths, key=paths.count)} twice"
            yield failed(text, "name each folder once", about=name, place=place)
        inside = [
            a
            for a in paths
            for b in paths
            if a != b and PurePosixPath(b) in PurePosixPath(a).parents
        ]
        if inside:
            bad = True
            yield failed(f"{name}: {inside[0]} is inside another one", about=name, place=place)
        shared = _on_one_disk(evidence, paths)
        if shared:
            bad = True
            text = f"{name}: {shared[1]} folders on the file system {shared[0]}"
            remedy = "mount each disk by itself and name one folder of each"
            yield failed(text, remedy, about=name, place=place)
        if hard.data_disks and hard.shared_by == 1 and len(set(paths)) != hard.data_disks:
            bad = True
            text = (
                f"{name} has {len(set(paths))} folders, a worker {hard.data_disks:.0f} data disks"
            )
            remedy = "name one folder of each data disk"
            yield failed(text, remedy, about=name, place=place)
    if not judged:
        yield not_applicable("no list of data folders is set")
    elif not bad:
        yield passed("one folder for each disk")


def _on_one_disk(evidence: Evidence, paths: list[str]) -> tuple[str, int] | None:
    """A file system with several of the folders, by the mounts of the facts."""
    for host in workers_of(evidence.hosts):
        try:
            points = [str(row.get("point")) for row in host.table("mounts")]
        except (UnreadableError, AbsentFactError):
            continue
        if evidence.hardware.shared_by > 1 or len(paths) < 2:
            return None
        found = [
            max((p for p in points if _below(path, p)), key=len, default="/") for path in paths
        ]
        most = max(found, key=found.count)
        if found.count(most) > 1:
            return most, found.count(most)
    return None


def _below(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def tolerated(evidence: Evidence) -> Iterator[Outcome]:
    """Failed volumes that a DataNode tolerates, against its volumes."""
    conf, name = evidence.conf, "dfs.datanode.failed.volumes.tolerated"
    count, volumes = conf.number(name) or 0.0, len(folders(conf, DATA))
    if not conf.is_set(DATA):
        yield not_applicable(f"{DATA} is not set")
    elif count >= volumes > 0:
        text = f"{name} = {count:.0f} with {volumes} volumes: the DataNode does not start"
        remedy = f"set {name} = {max(0, volumes // 4)}"
        yield failed(text, remedy, about=name, place=conf.place(name))
    elif volumes >= 4 and count == 0:
        text = (
            f"{name} = 0: if one of {volumes} disks fails, the DataNode stops, and HDFS replicates "
            "all of its blocks"
        )
        remedy = f"set {name} = {volumes // 4}"
        yield failed(text, remedy, about=name, place=conf.place(name))
    else:
        some = "all but one" if count < 0 else f"{count:.0f}"
        yield passed(f"{some} of {volumes} volumes may fail")


def _of_services(conf: Configuration, name: str) -> dict[str, str]:
    """Nameservice -> the name under which a property is set for its NameNodes.

    Hadoop reads ``NAME.SERVICE.NODE``, else ``NAME.SERVICE``, else ``NAME``. Without
    nameservices, the only key is an empty text.
    """
    found = {}
    for service in conf.items("dfs.nameservices") or [""]:
        nodes = conf.items(f"dfs.ha.namenodes.{service}" if service else "dfs.ha.namenodes")
        names = [".".join(filter(None, (name, service, node))) for node in (*nodes, "")]
        found[service] = next((one for one in names if conf.is_set(one)), name)
    return found


def lasting(evidence: Evidence) -> Iterator[Outcome]:
    """Metadata and blocks below /tmp, which a restart of the host empties."""
    conf, bad = evidence.conf, False
    for name in (*dict.fromkeys(_of_services(conf, NAMES).values()), DATA):
        low = [path for path in folders(conf, name) if path.startswith(("/tmp/", "/var/tmp/"))]
        if low and evidence.hardware.shared_by == 1:
            bad = True
            what = "a restart of the host deletes it"
            if low[0].startswith("/var/tmp/"):
                what = "systemd-tmpfiles deletes old files there"
            text = f"{name} = {low[0]}: {what}"
            remedy = f"set {name} to folders on data disks"
            yield failed(text, remedy, about=name, place=conf.place(name))
    if not bad:
        yield passed("no data below /tmp")


def metadata_copies(evidence: Evidence) -> Iterator[Outcome]:
    """Whether the metadata of each nameservice survives a disk."""
    conf = evidence.conf
    shared = _of_services(conf, "dfs.namenode.shared.edits.dir")
    for service, name in _of_services(conf, NAMES).items():
        count = len(folders(conf, name))
        if conf.value(shared[service]):
            yield passed("JournalNodes hold the edits")
        elif count < 2:
            remedy = f"name two folders on two disks in {name}, or use high availability"
            text = "the metadata of HDFS is in one folder: a lost disk loses all files"
            yield failed(text, remedy, about=name, place=conf.place(name))
        else:
            yield passed(f"{count} folders")


def topology(evidence: Evidence) -> Iterator[Outcome]:
    """Racks that HDFS does not know, and a script that is not there."""
    conf, hard = evidence.conf, evidence.hardware
    script = conf.value("net.topology.script.file.name")
    table = conf.value("net.topology.table.file.name")
    about, place = "net.topology.script.file.name", conf.place("net.topology.script.file.name")
    here = bool(script) and hard.shared_by == 1 and evidence.live.get("here")
    exists = _exists(Path(script)) if here else True
    if exists is None:
        yield unknown(f"{script}: this user may not read its folder", about)
    elif not exists:
        yield failed(f"{script} does not exist", about=about, place=place)
    elif script and not script.startswith("/"):
        yield failed(
            f"{script} is not an absolute path", "write the full path", about=about, place=place
        )
    elif hard.racks is None and not hard.virtual:
        yield not_applicable("the number of racks is unknown")
    elif (hard.racks or 1) > 1 and not script and not table:
        text = (
            f"the cluster has {hard.racks} racks, but HDFS treats all hosts as one rack: all "
            "replicas of a block can be in one rack"
        )
        yield failed(text, about=about)
    elif (hard.racks or 1) == 1:
        yield not_applicable("one rack")
    else:
        yield passed(script or table)


def _exists(path: Path) -> bool | None:
    """Whether a file exists; None if that cannot be read."""
    try:
        return path.exists()
    except OSError:
        return None


def name_heap(evidence: Evidence) -> Iterator[Outcome]:
    """The NameNode's heap against the number of files."""
    heap = evidence.conf.heaps_bytes.get("namenode")
    if heap is None:
        heap = next(
            (
                int(row["heap_bytes"])
                for host in evidence.hosts
                for row in host.facts.get("jvms", {}).get("value") or []
                if str(row.get("main", "")).endswith(".NameNode") and row.get("heap_bytes")
            ),
            None,
        )
    if heap is None or evidence.files is None:
        yield unknown("the heap of the NameNode or the number of files is unknown: give --files")
        return
    wanted = evidence.files * BYTES_PER_FILE
    text = f"heap {heap / 2**30:.2f} GiB for {evidence.files:,.0f} files"
    if heap < wanted:
        remedy = (
            f'HDFS_NAMENODE_OPTS="-Xmx{max(1, math.ceil(1.5 * wanted / 2**30))}g" in hadoop-env.sh'
        )
        yield failed(f"{text}: 1 GB for a million files is needed", remedy, about="NameNode")
    else:
        yield passed(text)


def high_availability(evidence: Evidence) -> Iterator[Outcome]:
    """Name services whose parts are missing."""
    conf, bad = evidence.conf, False
    for service in conf.items("dfs.nameservices"):
        nodes = conf.items(f"dfs.ha.namenodes.{service}")
        if len(nodes) == 1:
            bad = True
            text = f"the name service {service} has one NameNode"
            yield failed(text, f"name two in dfs.ha.namenodes.{service}", about=service)
        lacks = [
            name
            for node in nodes
            if not conf.is_set(name := f"dfs.namenode.rpc-address.{service}.{node}")
        ]
        if nodes and not conf.is_set(f"dfs.client.failover.proxy.provider.{service}"):
            lacks.append(f"dfs.client.failover.proxy.provider.{service}")
        if lacks:
            bad = True
            text = f"the name service {service} lacks {', '.join(lacks)}"
            yield failed(text, f"set {', '.join(lacks)}", about=service)
    failover, quorum = "dfs.ha.automatic-failover.enabled", "ha.zookeeper.quorum"
    for service in conf.items("dfs.nameservices") or [""]:
        name = _of_service(conf, failover, service)
        if conf.true(name) and not conf.is_set(_of_service(conf, quorum, service)):
            bad = True
            text = f"{name} = true without {quorum}: no NameNode becomes active"
            yield failed(text, f"set {quorum}", about=name, place=conf.place(name))
    if not conf.items("dfs.nameservices") and not bad:
        yield not_applicable("no name service is set")
    elif not bad:
        yield passed("name services are complete")


def _of_service(conf: Configuration, name: str, service: str) -> str:
    """The property of one name service if it is set, else that of all (HDFS HA documentation)."""
    own = f"{name}.{service}"
    return own if service and conf.is_set(own) else name


def addresses(evidence: Evidence) -> Iterator[Outcome]:
    """The file system of clients against the address of the NameNode; ports used twice."""
    conf, bad = evidence.conf, False
    system = urlsplit(conf.value("fs.defaultFS"))
    rpc = conf.value("dfs.namenode.rpc-address")
    if system.scheme == "hdfs" and rpc and conf.is_set("dfs.namenode.rpc-address"):
        host, _, port = rpc.rpartition(":")
        host, every = host.strip("[]").lower(), ("", "0.0.0.0", "::")
        same = _same_host(host, system.hostname or "") and port == str(system.port or 8020)
        if host not in every and not same:
            bad = True
            text = f"fs.defaultFS = {conf.shown('fs.defaultFS')}, the NameNode listens on {rpc}"
            yield failed(text, f"set fs.defaultFS = hdfs://{rpc}", about="fs.defaultFS")
    used: dict[str, str] = {}
    for one in conf.entries:
        value = conf.expanded(one.value)
        if not one.name.endswith("address") or not value.rpartition(":")[2].isdigit():
            continue
        if value.endswith(":0"):
            continue
        name = _present(one.name)
        other = used.setdefault(value, name)
        if other != name:
            bad = True
            text = f"{name} and {other} are both {value}"
            remedy = "give each daemon a port of its own"
            yield failed(text, remedy, about=name, place=one.place)
    if not bad:
        yield passed("addresses agree")


def _same_host(one: str, other: str) -> bool:
    """Whether two names can be of one host: a name without a domain can have any domain."""
    if "." in one and "." in other:
        return one == other
    return one.partition(".")[0] == other.partition(".")[0]


def _present(name: str) -> str:
    """The property that replaced a deprecated name; other names stay."""
    return deprecated().get(name, [name])[0]


def small_blocks(evidence: Evidence) -> Iterator[Outcome]:
    """Blocks that are too small for disks and NameNode, or larger than a map task should read."""
    conf, size = evidence.conf, evidence.conf.number("dfs.blocksize")
    if size is None:
        yield unknown("dfs.blocksize is no number")
        return
    text, about = f"blocks of {size / 2**20:.4g} MiB", "dfs.blocksize"
    small = size < 64 * 2**20 and evidence.hardware.shared_by == 1
    if small or size > 2**31:
        why = "each file needs many objects and tasks" if small else "few map tasks, long repeats"
        remedy = "set dfs.blocksize = 134217728 or 268435456"
        yield failed(f"{text}: {why}", remedy, about=about, place=conf.place(about))
    else:
        yield passed(text)


RULES = {
    "replicas": replicas,
    "handlers": handlers,
    "short_circuit": short_circuit,
    "disks": disks,
    "tolerated": tolerated,
    "lasting": lasting,
    "metadata_copies": metadata_copies,
    "topology": topology,
    "name_heap": name_heap,
    "high_availability": high_availability,
    "addresses": addresses,
    "small_blocks": small_blocks,
}
