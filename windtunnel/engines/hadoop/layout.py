"""Derive Hadoop's settings from a cluster description: hosts and ports of the daemons.

This module decides what the description leaves open (addresses, folders, memory of containers);
settings of the description override it, each in its own site file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from windtunnel.cluster import Cluster
from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.cluster.setting_values import LEAST_MB, OWN_LEAST_MIB
from windtunnel.cluster.settings import engine_of, site_of
from windtunnel.engines.hadoop import ha
from windtunnel.engines.hadoop.history import HISTORY_FOLDER
from windtunnel.engines.hadoop.loopback import Binding
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.ports import free_ports
from windtunnel.errors import DescriptionError
from windtunnel.hosts.base import Host

MAIN_CLASS = ROLES.main_classes(HADOOP)
WEB_ADDRESSES = {
    "namenode": "dfs.namenode.http-address",
    "datanode": "dfs.datanode.http.address",
    "resourcemanager": "yarn.resourcemanager.webapp.address",
    "nodemanager": "yarn.nodemanager.webapp.address",
    "historyserver": "mapreduce.jobhistory.webapp.address",
    "journalnode": "dfs.journalnode.http-address",
}
_SHUFFLE = "mapreduce.shuffle.port"
MAX_DISK_UTILISATION = (
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage"
)
DISK_UTILISATION = "99.5"
# Hadoop's own defaults; a NodeManager has none for its address, which must survive a restart.
_USUAL_PORTS = {
    "dfs.namenode.rpc-address": 8020,
    "dfs.namenode.http-address": 9870,
    "dfs.journalnode.rpc-address": 8485,
    "dfs.journalnode.http-address": 8480,
    "dfs.datanode.address": 9866,
    "dfs.datanode.http.address": 9864,
    "dfs.datanode.ipc.address": 9867,
    "yarn.resourcemanager.address": 8032,
    "yarn.resourcemanager.scheduler.address": 8030,
    "yarn.resourcemanager.resource-tracker.address": 8031,
    "yarn.resourcemanager.admin.address": 8033,
    "yarn.resourcemanager.webapp.address": 8088,
    "yarn.nodemanager.address": 8041,
    "yarn.nodemanager.localizer.address": 8040,
    "yarn.nodemanager.webapp.address": 8042,
    "mapreduce.jobhistory.address": 10020,
    "mapreduce.jobhistory.admin.address": 10033,
    "mapreduce.jobhistory.webapp.address": 19888,
    _SHUFFLE: 13562,
}
# property that holds an address -> the role that listens there
ADDRESSES = {
    prop: role.name
    for prop in _USUAL_PORTS
    for role in ROLES.started(HADOOP)
    if prop.startswith(role.settings) and prop != _SHUFFLE
}
# addresses of a storage system
_OF_STORAGE = frozenset(
    {"fs.defaultFS", "fs.s3a.endpoint", "ozone.om.address", "ozone.scm.client.address"}
)

# What an application master and a default map or reduce container request (mapred-default.xml).
_MASTER_CONTAINER_MB = 1536
_TASK_CONTAINER_MB = 1024
_CONTAINERS_PER_CORE = 2
NAME_FOLDER = "name"  # of the NameNode's files, in the folder of its host
_LIGHT_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_NAMES_OPTION = re.compile(r"(-Djdk\.net\.hosts\.file=)\S+")


@dataclass
class Placement:
    """A host of the deployment with its roles and disks.

    ``container_logs`` is where its NodeManager stores the logs of containers: an absolute
    path without white space (YARN's launch script cannot quote it). ``data_folders`` are
    folders on disks of its own; without them, folders below the host's root replace
    ``disks`` disks. ``memory_mb`` and ``vcores`` are what its NodeManager offers; None means
    a fraction of the machine. ``processors`` is the number that a JVM inside the CPU quota of the
    host sees; None if it has no quota.
    """

    host: Host
    roles: Sequence[str]
    container_logs: Path
    disks: int = 1
    data_folders: Sequence[Path] = ()
    memory_mb: int | None = None
    vcores: int | None = None
    processors: int | None = None


@dataclass
class Layout:
    """All decisions for one deployment.

    ``settings`` are the properties of the whole deployment, ``per_host`` those of single hosts.
    ``loopback`` is the jar that makes each host's JVMs listen only on the host's address; None
    if hosts have networks of their own. With ``only_user``, a user id, the JVMs refuse other
    users. ``shared`` is the folder of files that the settings refer to. ``ha_ports`` are the ports
    of the daemons for high availability, by host and purpose.
    """

    cluster: Cluster
    software: Software
    placements: Sequence[Placement]
    loopback: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    per_host: dict[str, dict[str, str]] = field(default_factory=dict)
    shared: Path | None = None
    only_user: int | None = None
    ha_ports: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def hosts(self) -> list[Host]:
        """All hosts, in the order of the placements."""
        return [placement.host for placement in self.placements]

    def host_of(self, role: str) -> Host:
        """The first host with a role."""
        return next(p.host for p in self.placements if role in p.roles)

    def binding(self, address: str) -> Binding | None:
        """How a JVM is made to listen only on ``address``; None: it is not restricted."""
        return Binding(self.loopback, address, self.only_user) if self.loopback else None

    def address(self, prop: str, host: Host | None = None) -> tuple[str, int]:
        """IP address and port of an address property."""
        value = self.properties(host)[prop]
        name, _, port = value.rpartition(":")
        if not name or not port.isdigit():
            raise DescriptionError(
                f"'{value}' is not an address", key=f"settings.{prop}", remedy="write HOST:PORT."
            )
        known = {p.host.name: p.host.address for p in self.placements}
        return known.get(name, name), int(port)

    def properties(self, host: Host | None = None) -> dict[str, str]:
        """Every property that is set, for one host or (None) for clients."""
        own = {} if host is None else self.per_host.get(host.name, {})
        user = {
            name: _text(value)
            for name, value in self.cluster.settings.items()
            if engine_of(name) is None
        }
        return {**self.settings, **own, **user}

    def lasting(self) -> dict[str, str]:
        """The deployment-wide properties without the parts that differ between starts.

        Addresses are omitted; the folders of the jars and the name table become placeholders.
        """
        words = {
            self.software.class_archive: "<class archive>",
            self.software.lib: "<jars>",
            self.loopback: "<loopback jar>",
            self.shared: "<shared>",
        }
        words |= {jar: jar.name for jar in self.software.more_jars}
        words |= {p.host.root: f"<{p.host.name}>" for p in self.placements}
        found = {}
        for name, value in self.properties().items():
            if name in ADDRESSES or name in _OF_STORAGE or name.startswith(ha.ADDRESS_NAMES):
                continue
            lasting = _NAMES_OPTION.sub(r"\1<names>", value)
            for path, word in words.items():
                lasting = lasting.replace(str(path), word) if path else lasting
            found[name] = lasting
        return found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def container_memory_mb(cores: int, memory_bytes: int, workers: int) -> int:
    """Memory of one NodeManager, in MiB, that fills this machine's cores but not its memory.

    Two default task containers per core plus one application master, divided among the
    workers; at most half of the machine's memory; at least one application master.
    """
    wanted = _MASTER_CONTAINER_MB + _CONTAINERS_PER_CORE * cores * _TASK_CONTAINER_MB
    ceiling = memory_bytes // 2 // (1 << 20)
    each = math.ceil(min(wanted, ceiling) / workers / 512) * 512
    return max(each, 2 * _TASK_CONTAINER_MB)


@dataclass(frozen=True)
class Surroundings:
    """What all hosts of a deployment share.

    Parameters
    ----------
    cores, memory_bytes:
        Resources of the machine that all hosts of the deployment share.
    hosts_file:
        Name table for the JVMs (system property ``jdk.net.hosts.file``).
    loopback_jar:
        Jar that binds servers for all interfaces to the host's address.
    only_user:
        JVMs with this jar accept only connections of this user's processes.
    own_networks:
        Each host has a network of its own, in which the default ports are free.
    more:
        Deployment-wide properties that the testbed adds.
    shared:
        The folder of files that ``more`` refers to.
    """

    cores: int
    memory_bytes: int
    hosts_file: Path
    loopback_jar: Path | None = None
    only_user: int | None = None
    own_networks: bool = False
    more: Mapping[str, str] = field(default_factory=dict)
    shared: Path | None = None


def plan_layout(
    cluster: Cluster,
    software: Software,
    placements: Sequence[Placement],
    around: Surroundings,
) -> Layout:
    """Decide addresses, folders and memory of every daemon."""
    layout = Layout(
        cluster,
        software,
        placements,
        loopback=around.loopback_jar,
        shared=around.shared,
        only_user=around.only_user,
    )
    workers = sum("nodemanager" in p.roles for p in placements)
    layout.settings = _shared_settings(layout, around, max(workers, 1))
    for placement in placements:
        layout.per_host[placement.host.name] = _host_settings(placement)
    offered = [p.memory_mb for p in placements if p.memory_mb is not None]
    if offered:
        layout.settings["yarn.scheduler.maximum-allocation-mb"] = str(max(offered))
    layout.settings |= around.more
    _assign_addresses(layout, _USUAL_PORTS if around.own_networks else None)
    return layout


def _shared_settings(layout: Layout, around: Surroundings, workers: int) -> dict[str, str]:
    memory_mb = container_memory_mb(around.cores, around.memory_bytes, workers)
    names = " ".join([f"-Djdk.net.hosts.file={around.hosts_file}", *layout.software.options])
    # The shell that starts a container inserts the class path that YARN created.
    container_classpath = ["$CLASSPATH"]
    if layout.software.class_archive:
        # The archive needs a class path that begins with the jars.
        container_classpath[:0] = layout.software.jars
    # Other processes connect to a container by the name of its NodeManager's host.
    if binding := layout.binding("$NM_HOST"):
        names += " " + " ".join(binding.options)
        container_classpath.append(str(binding.jar))
    if len(container_classpath) > 1:
        names += f" -cp {':'.join(container_classpath)}"
    classpath = ",".join(layout.software.jars)
    storage = layout.cluster.storage
    settings = {
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        # With one loopback interface every peer has the address 127.0.0.1: use names.
        "dfs.client.use.datanode.hostname": "true",
        "dfs.datanode.use.datanode.hostname": "true",
        "dfs.namenode.safemode.extension": "0",
        "dfs.permissions.superusergroup": "supergroup",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.vmem-check-enabled": "false",
        # One second between heartbeats is negligible in a job of an hour, but a third of these
        # small jobs: start-up has to shrink with the data (docs/decisions/0009).
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
        # The same holds for the application master, which requests containers in one of its
        # heartbeats to the ResourceManager and gets them in the next.
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
        # The same holds for the wait of 400 ms if a file is closed before its DataNode has
        # reported the last block, which happens to every fourth small file here.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
        "yarn.nodemanager.resource.memory-mb": str(memory_mb),
        "yarn.nodemanager.resource.cpu-vcores": str(max(around.cores, 4)),
        LEAST_MB: str(OWN_LEAST_MIB),
        "yarn.scheduler.maximum-allocation-mb": str(memory_mb),
        MAX_DISK_UTILISATION: DISK_UTILISATION,
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
        "yarn.application.classpath": classpath,
        "mapreduce.application.classpath": classpath,
        "mapreduce.framework.name": "yarn",
        # Readable task timelines; the default format is binary Avro.
        "mapreduce.jobhistory.jhist.format": "json",
        "mapreduce.jobhistory.done-dir": f"{HISTORY_FOLDER}/done",
        "mapreduce.jobhistory.intermediate-done-dir": f"{HISTORY_FOLDER}/done_intermediate",
        "mapreduce.admin.map.child.java.opts": names,
        "mapreduce.admin.reduce.child.java.opts": names,
        # The application master is not a task: keep it small if all hosts share a machine.
        "yarn.app.mapreduce.am.admin-command-opts": f"{names} {_LIGHT_JVM}",
        # For clients only: they notice the end of a job in less than a second.
        "mapreduce.client.progressmonitor.pollinterval": "200",
    }
    datanodes = layout.cluster.role_counts().get("datanode", 1)
    settings["dfs.replication"] = str(storage.replication or min(3, datanodes))
    if storage.code:
        settings["dfs.namenode.ec.system.default.policy"] = storage.code.hdfs_policy
    if storage.block_size is not None:
        settings["dfs.blocksize"] = str(int(storage.block_size))
    return settings


def _host_settings(placement: Placement) -> dict[str, str]:
    host = placement.host
    own = {"hadoop.tmp.dir": str(host.root / "tmp")}
    if "namenode" in placement.roles:
        own["dfs.namenode.name.dir"] = f"file://{host.root}/{NAME_FOLDER}"
    folders = [f"{host.root}/disk-{i + 1}" for i in range(placement.disks)]
    local = [f"{folder}-local" for folder in folders]
    if placement.data_folders:
        folders = [f"{folder}/hdfs" for folder in placement.data_folders]
        local = [f"{folder}/yarn" for folder in placement.data_folders]
    if "journalnode" in placement.roles:
        own["dfs.journalnode.edits.dir"] = str(host.root / "journal")
    if "datanode" in placement.roles:
        own["dfs.datanode.data.dir"] = ",".join(f"file://{folder}" for folder in folders)
        own["dfs.datanode.hostname"] = host.name
    if "nodemanager" in placement.roles:
        own["yarn.nodemanager.hostname"] = host.name
        own["yarn.nodemanager.local-dirs"] = ",".join(local)
        own["yarn.nodemanager.log-dirs"] = str(placement.container_logs)
        if placement.memory_mb is not None:
            own["yarn.nodemanager.resource.memory-mb"] = str(placement.memory_mb)
        if placement.vcores is not None:
            own["yarn.nodemanager.resource.cpu-vcores"] = str(placement.vcores)
    return own


def _assign_addresses(layout: Layout, usual: Mapping[str, int] | None) -> None:
    """Give every address property its host and its default port, or a free port."""
    hosts = [placement.host for placement in layout.placements]
    available = layout.cluster.storage.ha
    each = len(ADDRESSES) + 1 + (len(ha.USUAL_PORTS) if available else 0)
    count = 0 if usual else each * len(hosts)
    ports = iter(free_ports(count, hosts[0].open_socket) if count else [])
    for placement in layout.placements:
        own = layout.per_host[placement.host.name]
        for prop, role in ADDRESSES.items():
            if role in placement.roles:
                per_host = ROLES[role].worker or (available and role in ha.HOST_ROLES)
                target = own if per_host else layout.settings
                port = next(ports) if usual is None else usual[prop]
                target[prop] = f"{placement.host.name}:{port}"
        if "nodemanager" in placement.roles:
            port = next(ports) if usual is None else usual[_SHUFFLE]
            own[_SHUFFLE] = str(port)
    if available:
        for host in hosts:
            for purpose, port in ha.USUAL_PORTS.items():
                layout.ha_ports[host.name, purpose] = next(ports) if usual is None else port
        masters, journals = (
            [p.host for p in layout.placements if role in p.roles]
            for role in ("namenode", "journalnode")
        )
        found = ha.nameservice(layout.per_host, masters, journals, layout.ha_ports)
        layout.settings |= found
    namenode = layout.settings.get("dfs.namenode.rpc-address")
    if namenode:
        layout.settings["fs.defaultFS"] = f"hdfs://{namenode}"


def site_files(properties: Mapping[str, str], version: str) -> dict[str, str]:
    """XML text of each site file by its name, properties sorted."""
    roots: dict[str, ElementTree.Element] = {}
    for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"):
        roots[name] = ElementTree.Element("configuration")
    for name, value in sorted(properties.items()):
        site = site_of(name, version)
        entry = roots.setdefault(site, ElementTree.Element("configuration"))
        prop = ElementTree.SubElement(entry, "property")
        ElementTree.SubElement(prop, "name").text = name
        ElementTree.SubElement(prop, "value").text = value
    texts = {}
    for name, root in roots.items():
        ElementTree.indent(root)
        texts[name] = '<?xml version="1.0"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
    return texts
