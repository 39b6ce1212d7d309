"""A Ceph cluster on the hosts of a description: the part that all file systems on it share.

Its daemons are Ceph's own programs, with authentication (cephx) and BlueStore. An OSD stores its
data, journal and metadata in one file on the disk that it stands for.
"""

from __future__ import annotations

import shutil
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import engine_of, text_of
from windtunnel.engines.ceph import programs
from windtunnel.engines.ceph.admin import Admin
from windtunnel.engines.ceph.site import (
    GATEWAY_MB,
    MASTER_MB,
    MDS,
    MGR,
    MIB,
    MON,
    OSD,
    OSD_MB,
    RGW,
    Daemon,
    configuration,
    keyring,
    plan_daemons,
)
from windtunnel.engines.deployment import copies_text
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.file_server import FileServer
from windtunnel.engines.hadoop.webhdfs import STORED_PER_BYTE, WebHdfs
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import (
    Ground,
    Jvms,
    State,
    StorageSystem,
    no_warm_starts,
    not_single,
)
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, Process, ProcessSpec
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric

OWN_JAR = Path(__file__).with_name("windtunnel-ceph.jar")
_PROFILE = "windtunnel"
_DATA_PGS_PER_OSD, _MOST_DATA_PGS = 8, 256
# Part of the free space of a disk that its OSDs may fill, and at most this much.
_DISK_SHARE, _MOST_DISK_BYTES = 0.8, 100 << 30
_HEARTBEAT_GRACE_S = 20.0  # osd_heartbeat_grace
_SETTING = "ceph."


class CephCluster(StorageSystem):
    """Monitors, a manager, OSDs, and the daemons of the service with which Hadoop uses them.

    ``needs`` are the packages of this machine, ``service`` is the role of the service's daemons,
    ``client`` the client of Ceph with which the service or Hadoop uses the data, ``single`` are the
    roles that exactly one host has, and ``data_pool`` is the pool with the content of the files.
    """

    owner: ClassVar[str] = "ceph"
    engines: ClassVar[frozenset[str] | None] = frozenset()
    stores: ClassVar[str] = OSD
    moves_data_back: ClassVar[bool] = True
    needs: ClassVar[programs.Needs]
    service: ClassVar[str]
    client: ClassVar[str]
    single: ClassVar[tuple[str, ...]] = (MGR,)
    data_pool: ClassVar[str]

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.server = FileServer(ground)
        roles = (MON, MGR, OSD, self.service)
        self.daemons = plan_daemons(ground.cluster, ground.placements, roles)
        self._uuids = {daemon.id: str(uuid.uuid4()) for daemon in self.players(OSD)}
        self._making: dict[str, Process] = {}
        self._set_up = False
        self.folder = ground.shared / "ceph"
        self.conf = self.folder / "ceph.conf"
        self._keys = self.folder / "keyring"
        first = self.players(MON)[0].host
        self.admin = Admin(first, self.conf)

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The reasons why Ceph cannot store the data of a cluster."""
        found = [*not_single(cluster, *cls.single), *no_warm_starts(cluster)]
        if cluster.storage.external:
            found.append(f"storage.external: not supported with {cls.name} yet")
        return found

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if this machine lacks Ceph's packages."""
        programs.check(cls.needs, cls.name)

    @classmethod
    def daemons_bytes(cls, cluster: Cluster) -> int:
        """Memory of all daemons of Ceph."""
        masters = sum(len(cluster.nodes_with(role)) for role in (MON, MGR, MDS))
        gateways = len(cluster.nodes_with(RGW))
        osds = len(cluster.nodes_with(OSD))
        return (masters * MASTER_MB + gateways * GATEWAY_MB + osds * OSD_MB) * MIB

    def begin(self, jvms: Jvms) -> None:
        """Create keys and configuration; start monitors, the manager and the creation of OSDs."""
        self._jvms = jvms
        self.write_files()
        for daemon in [*self.players(MON), *self.players(MGR)]:
            self.spawn(daemon)
        self.running[self.admin.name] = self.admin.spawn()
        for daemon in self.players(OSD):
            create = programs.create(daemon, self.conf, self.daemon_options(daemon))
            argv = programs.in_folder(daemon, create)
            self._making[daemon.id] = self._run(daemon, argv, suffix="-mkfs")

    def state(self) -> State:
        """Take the next step of the set-up; returns what is still missing."""
        if not self._set_up:
            if self.admin.queried("status") is None:
                return State(serving=False, missing=["the monitors of Ceph"])
            self._start_osds()
            self.start_service()
            self._set_up = True
        status = self.admin.queried("status")
        if status is None:
            return State(serving=False, missing=["the monitors of Ceph"])
        if missing := self._unready(status):
            return State(serving=False, missing=missing + self.service_unready(status))
        if missing := self.open_files(status):
            return State(serving=False, missing=missing)
        if self.server.name not in self.running:
            self._start_server()
        listens = self.server.listens()
        return State(serving=True, missing=[] if listens else ["the file server"])

    @abstractmethod
    def create_pools(self) -> None:
        """Create the pools of the service; called before the OSDs start."""

    def start_service(self) -> None:
        """Start the daemons of the service that can wait for the OSDs; called once."""
        return

    @abstractmethod
    def open_files(self, status: Mapping[str, Any]) -> list[str]:
        """Take the next step until clients can create files; returns what is still missing.

        ``status`` is the status that the monitors report: all placement groups are clean.
        """

    @abstractmethod
    def service_unready(self, status: Mapping[str, Any]) -> list[str]:
        """The parts of the running service that do not serve."""

    def replicas(self) -> int | None:
        """Replicas of every file, if Hadoop's client does not know them."""
        return None

    def web_server(self) -> tuple[str, int]:
        """The address of Windtunnel's own server for requests of WebHDFS."""
        return self.server.address

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """The state of the replicas or cells that the monitors report; None without an answer."""
        status = self.admin.queried("status")
        osds = None if status is None else self.admin.queried("osd dump")
        if status is None or osds is None:
            return None
        groups = status["pgmap"]
        active = sum(s["count"] for s in groups["pgs_by_state"] if "active" in s["state_name"])
        return Copies(
            holders=sum(bool(osd["up"] and osd["in"]) for osd in osds["osds"]),
            wanting=int(groups.get("degraded_objects", 0)) + groups["num_pgs"] - active,
            serving=active == groups["num_pgs"]
            and not self._unready(status)
            and not self.service_unready(status),
        )

    def decommission(self, host: str) -> None:
        """Mark the OSDs of a host out, so that their data is copied to others."""
        self._mark("osd out", host)

    def recommission(self, host: str) -> None:
        """Mark the OSDs of a host in."""
        self._mark("osd in", host)

    def _mark(self, command: str, host: str) -> None:
        self.admin.run(command, ids=[d.id for d in self.players(OSD) if d.host.name == host])

    def sure_s(self) -> float:
        """The monitors notice a dead OSD after the grace of its heartbeats."""
        return _HEARTBEAT_GRACE_S + 5.0

    def expected_copies(self, replication: int) -> str:
        """All files have the replication of the pool: that of the cluster, or all its cells."""
        code = self.cluster.storage.code
        return copies_text(code.hosts if code else self.cluster.replication)

    def metrics(self, folder: str, files: WebHdfs) -> Mapping[str, Metric]:
        """Raw bytes of the data pool for each byte that clients have stored there."""
        pools = self.admin.run("df").get("pools", [])
        found = [pool["stats"] for pool in pools if pool["name"] == self.data_pool]
        stored = sum(stats["stored"] for stats in found)
        used = sum(stats["bytes_used"] for stats in found)
        return numbers({STORED_PER_BYTE: used / stored}) if stored else {}

    def facts(self) -> dict[str, Any]:
        """The version of Ceph, and its configuration without keys and addresses."""
        return {"ceph": programs.version(), "options": self._given()}

    def plays(self, name: str) -> bool:
        """Whether it starts a daemon of this name."""
        own = {self.admin.name, self.server.name}
        return name in own or any(daemon.name == name for daemon in self.daemons)

    def restart(self, name: str) -> None:
        """Restart a daemon with the data that it has."""
        if name == self.admin.name:
            self.admin.close()
            self.running[name] = self.admin.spawn()
        elif name == self.server.name:
            self._start_server()
        else:
            self.spawn(next(daemon for daemon in self.daemons if daemon.name == name))

    def close(self) -> None:
        """Close the connection to the monitors."""
        self.admin.close()

    def players(self, role: str) -> list[Daemon]:
        """The daemons of a role."""
        return [daemon for daemon in self.daemons if daemon.role == role]

    def _given(self) -> dict[str, str]:
        """Ceph's options in the description: ``settings.ceph.NAME``."""
        return {
            name.removeprefix(_SETTING): text_of(value)
            for name, value in self.cluster.settings.items()
            if engine_of(name) == "ceph"
        }

    def write_files(self) -> str:
        """Write the configuration and the keyring; returns the keyring."""
        entities = ["mon.", *(d.entity for d in self.daemons if d.role != MON)]
        clients = ["client.admin", f"client.{self.client}"]
        keys = keyring(list(dict.fromkeys([*entities, *clients])))
        hosts = {daemon.host.name for daemon in self.players(OSD)}
        code = self.cluster.storage.code
        needed = code.hosts if code else self.cluster.replication
        # for the pools that Ceph's own daemons create
        own = {"osd_pool_default_size": str(self.cluster.replication)}
        options = {**own, **self.options(), **self._given()}
        text = configuration(self.daemons, self._keys, options, separate_hosts=len(hosts) >= needed)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_private(self.conf, text)
        write_private(self._keys, keys)
        return keys

    def options(self) -> dict[str, str]:
        """Ceph's options that the service needs, in addition to those of all clusters."""
        return {}

    def daemon_options(self, daemon: Daemon) -> dict[str, str]:
        """The options of one daemon."""
        options = {"public-addr": daemon.host.address}
        if daemon.role == OSD:
            options["cluster-addr"] = daemon.host.address
            options["osd-uuid"] = self._uuids[daemon.id]
            options["bluestore-block-size"] = str(self._disk_bytes(daemon))
            options["crush-location"] = f"host={daemon.host.name} root=default"
        return options

    def _disk_bytes(self, daemon: Daemon) -> int:
        """The size of the file of an OSD: a part of the free space of its disk."""
        base = daemon.folder
        while not base.exists():
            base = base.parent
        device = base.stat().st_dev
        own = sum(_device(other.folder) == device for other in self.players(OSD))
        share = int(shutil.disk_usage(base).free * _DISK_SHARE / own)
        return min(share, _MOST_DISK_BYTES) // MIB * MIB

    def spawn(self, daemon: Daemon) -> None:
        """Start a daemon; creates the data of a monitor at its first start."""
        options = self.daemon_options(daemon)
        steps = [programs.run(daemon, self.conf, options)]
        if daemon.role == MON and not daemon.folder.exists():
            keys = {**options, "keyring": str(self._keys)}
            steps.insert(0, programs.create(daemon, self.conf, keys))
        argv = programs.in_folder(daemon, *steps)
        self.running[daemon.name] = self._run(daemon, argv)

    def _run(self, daemon: Daemon, argv: Sequence[str], suffix: str = "") -> Process:
        host: Host = daemon.host
        name = daemon.name.partition("@")[0]
        log = host.logs / f"{name}{suffix}.log"
        return host.spawn(ProcessSpec(f"{daemon.name}{suffix}", argv, log, host.root))

    def _start_osds(self) -> None:
        """Register the OSDs, create the pools, and start the OSDs."""
        osds = self.players(OSD)
        for daemon in osds:
            self.admin.run("osd new", uuid=self._uuids[daemon.id], id=int(daemon.id))
        self.create_pools()
        for daemon in osds:
            self._finish_making(daemon)
            self.spawn(daemon)

    def create_data_pool(self) -> None:
        """Create the pool of the content of the files, with replicas or an erasure code."""
        run, osds, name = self.admin.run, self.players(OSD), self.data_pool
        groups = min(_MOST_DATA_PGS, 1 << (len(osds) * _DATA_PGS_PER_OSD - 1).bit_length())
        code = self.cluster.storage.code
        if code is None:
            self.create_pool(name, groups)
            return
        domain = "host" if len({d.host.name for d in osds}) >= code.hosts else "osd"
        profile = [f"k={code.data}", f"m={code.parity}", f"crush-failure-domain={domain}"]
        run("osd erasure-code-profile set", name=_PROFILE, profile=profile)
        kind = {"pool_type": "erasure", "erasure_code_profile": _PROFILE}
        run("osd pool create", pool=name, pg_num=groups, pgp_num=groups, **kind)

    def pool_size(self) -> int:
        """Replicas or cells of each object of the data pool, as the monitors report them."""
        return int(self.admin.run("osd pool get", pool=self.data_pool, var="size")["size"])

    def create_pool(self, name: str, groups: int) -> None:
        """Create a pool with the replication of the cluster and a number of placement groups."""
        copies = self.cluster.replication
        self.admin.run("osd pool create", pool=name, pg_num=groups)
        size = {"pool": name, "var": "size", "val": str(copies)}
        self.admin.run("osd pool set", **size, yes_i_really_mean_it=copies == 1)

    def _start_server(self) -> None:
        self.running[self.server.name] = self.server.spawn(self._jvms, self.replicas())

    def _finish_making(self, daemon: Daemon) -> None:
        process = self._making.pop(daemon.id)
        code = process.wait(60)
        if code != 0:
            raise DeploymentError(
                f"the data folder of {daemon.name} could not be created (exit code {code})",
                remedy="see the log; the usual causes are a full disk and one without direct I/O.",
                log=process.log,
                tail=tail(process.log),
            )

    def _unready(self, status: Mapping[str, Any]) -> list[str]:
        """What is missing until all OSDs are up and all placement groups are clean."""
        found, groups = [], status["pgmap"]
        down = len(self.players(OSD)) - status["osdmap"]["num_up_osds"]
        if down > 0:
            found.append(f"{down} osds")
        states = {s["state_name"]: s["count"] for s in groups["pgs_by_state"]}
        unclean = groups["num_pgs"] - states.get("active+clean", 0)
        if unclean or not groups["num_pgs"]:
            found.append(f"{unclean} placement groups" if groups["num_pgs"] else "placement groups")
        return found


def write_private(path: Path, text: str) -> None:
    """Write a file that only this account can read."""
    path.touch(mode=0o600)
    path.write_text(text)


def _device(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev
