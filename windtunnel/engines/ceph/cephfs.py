"""CephFS as the file system below Hadoop: a Ceph cluster on the hosts of the description.

Its daemons are Ceph's own programs, with authentication (cephx) and BlueStore. An OSD stores its
data, journal and metadata in one file on the disk that it stands for. Hadoop reaches CephFS through
``io.windtunnel.ceph.CephFileSystem``.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import engine_of, text_of
from windtunnel.engines.ceph import mounted, programs
from windtunnel.engines.ceph.admin import Admin
from windtunnel.engines.ceph.site import (
    CLIENT,
    DATA_POOL,
    FILE_SYSTEM,
    MASTER_MB,
    MDS,
    METADATA_POOL,
    MGR,
    MIB,
    MON,
    OSD,
    OSD_MB,
    Daemon,
    configuration,
    keyring,
    only,
    plan_daemons,
)
from windtunnel.engines.deployment import copies_text
from windtunnel.engines.digest import sha256_of
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.file_server import FileServer
from windtunnel.engines.hadoop.webhdfs import STORED_PER_BYTE, WebHdfs
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Ground, Jvms, Mounted, State, StorageSystem
from windtunnel.errors import DeploymentError, SetupError
from windtunnel.hosts.base import Host, Process, ProcessSpec
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric

OWN_JAR = Path(__file__).with_name("windtunnel-ceph.jar")
_SCHEME = "ceph"
_PROFILE = "windtunnel"
_METADATA_PGS, _DATA_PGS_PER_OSD, _MOST_DATA_PGS = 8, 8, 256
# Part of the free space of a disk that its OSDs may fill, and at most this much.
_DISK_SHARE, _MOST_DISK_BYTES = 0.8, 100 << 30
_HEARTBEAT_GRACE_S = 20.0  # osd_heartbeat_grace
_SETTING = f"{_SCHEME}."


class CephFs(StorageSystem):
    """See the module's docstring."""

    name: ClassVar[str] = "cephfs"
    owner: ClassVar[str] = "ceph"
    engines: ClassVar[frozenset[str] | None] = frozenset()

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.server = FileServer(ground)
        self.daemons = plan_daemons(ground.cluster, ground.placements)
        self._uuids = {daemon.id: str(uuid.uuid4()) for daemon in self._players(OSD)}
        self._making: dict[str, Process] = {}
        self._set_up = self._open = False
        folder = ground.shared / "ceph"
        self.conf = folder / "ceph.conf"
        self._keys, self._client_keys = folder / "keyring", folder / "hadoop.keyring"
        first = self._players(MON)[0].host
        self.admin = Admin(first, self.conf)

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The reasons why Ceph cannot store the data of a cluster."""
        found, storage = [], cluster.storage
        managers = len(cluster.nodes_with(MGR))
        if managers != 1:
            found.append(f"exactly one host must have the role {MGR}, but {managers} have it")
        if storage.external:
            found.append("storage.external: not supported with cephfs yet")
        if cluster.software.task_start == "warm":
            found.append("software.task_start: warm starts need storage of kind hdfs")
        return found

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if this machine lacks Ceph's packages."""
        programs.check()

    @classmethod
    def daemons_bytes(cls, cluster: Cluster) -> int:
        """Memory of all daemons of Ceph."""
        masters = sum(len(cluster.nodes_with(role)) for role in (MON, MGR, MDS))
        return (masters * MASTER_MB + len(cluster.nodes_with(OSD)) * OSD_MB) * MIB

    @classmethod
    def jars(cls) -> Sequence[Path]:
        """The binding of Ceph, and Hadoop's file system on it."""
        return (programs.LIBRARY, OWN_JAR)

    def settings(self) -> Mapping[str, str]:
        """CephFS as the default file system."""
        package = "io.windtunnel.ceph"
        return {
            "fs.defaultFS": f"{_SCHEME}://{FILE_SYSTEM}/",
            "fs.ceph.impl": f"{package}.CephFileSystem",
            "fs.AbstractFileSystem.ceph.impl": f"{package}.CephFs",
            "ceph.conf.file": str(self.conf),
            "ceph.auth.id": CLIENT,
            "ceph.auth.keyring": str(self._client_keys),
        }

    def begin(self, jvms: Jvms) -> None:
        """Create keys and configuration; start monitors, the manager and the creation of OSDs."""
        self._jvms = jvms
        self._write_files()
        for daemon in [*self._players(MON), *self._players(MGR)]:
            self._spawn(daemon)
        self.running[self.admin.name] = self.admin.spawn()
        for daemon in self._players(OSD):
            create = programs.create(daemon, self.conf, self._options(daemon))
            argv = programs.in_folder(daemon, create)
            self._making[daemon.id] = self._run(daemon, argv, suffix="-mkfs")

    def state(self) -> State:
        """Take the next step of the set-up; returns what is still missing."""
        if not self._set_up:
            if self.admin.asked("status") is None:
                return State(serving=False, missing=["the monitors of Ceph"])
            self._create_pools()
            self._set_up = True
        if missing := self._unready():
            return State(serving=False, missing=missing)
        if not self._open:
            self.admin.open_root()
            self._open = True
        if self.server.name not in self.running:
            self.running[self.server.name] = self.server.spawn(self._jvms)
        listens = self.server.listens()
        return State(serving=True, missing=[] if listens else ["the file server"])

    def web_server(self) -> tuple[str, int]:
        """The address of Windtunnel's own server for requests of WebHDFS."""
        return self.server.address

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """The state of the replicas or cells that the monitors report; None without an answer."""
        status = self.admin.asked("status")
        if status is None:
            return None
        groups = status["pgmap"]
        active = sum(s["count"] for s in groups["pgs_by_state"] if "active" in s["state_name"])
        return Copies(
            holders=status["osdmap"]["num_up_osds"],
            wanting=int(groups.get("degraded_objects", 0)) + groups["num_pgs"] - active,
            serving=active == groups["num_pgs"] and not self._unready(status),
        )

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
        found = [pool["stats"] for pool in pools if pool["name"] == DATA_POOL]
        stored = sum(stats["stored"] for stats in found)
        used = sum(stats["bytes_used"] for stats in found)
        return numbers({STORED_PER_BYTE: used / stored}) if stored else {}

    def facts(self) -> dict[str, Any]:
        """The version of Ceph, and its configuration without keys and addresses."""
        jar = {"jar": OWN_JAR.name, "sha256": sha256_of(OWN_JAR)}
        return {"ceph": programs.version(), "options": self._given(), "hadoop": jar}

    def mounted(self, program: Sequence[str]) -> Mounted | str:
        """Mounts of ceph-fuse; a reason if this machine cannot mount it."""
        try:
            mounted.check()
        except SetupError as error:
            return f"{error.message}: {error.remedy}"
        work = self.ground.shared / "mounts"
        command = mounted.command(self.conf, work, program)
        return Mounted("ceph-fuse", command, as_root=True)

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
            self.running[name] = self.server.spawn(self._jvms)
        else:
            self._spawn(next(daemon for daemon in self.daemons if daemon.name == name))

    def close(self) -> None:
        """Close the connection to the monitors."""
        self.admin.close()

    def _players(self, role: str) -> list[Daemon]:
        return [daemon for daemon in self.daemons if daemon.role == role]

    def _given(self) -> dict[str, str]:
        """Ceph's options in the description: ``settings.ceph.NAME``."""
        return {
            name.removeprefix(_SETTING): text_of(value)
            for name, value in self.cluster.settings.items()
            if engine_of(name) == "ceph"
        }

    def _write_files(self) -> None:
        entities = ["mon.", *(d.entity for d in self.daemons if d.role != MON)]
        clients = ["client.admin", f"client.{CLIENT}"]
        keys = keyring([*entities, *clients])
        hosts = {daemon.host.name for daemon in self._players(OSD)}
        code = self.cluster.storage.code
        needed = code.hosts if code else self.cluster.replication
        text = configuration(
            self.daemons, self._keys, self._given(), separate_hosts=len(hosts) >= needed
        )
        self.conf.parent.mkdir(parents=True, exist_ok=True)
        for path, content in (
            (self.conf, text),
            (self._keys, keys),
            (self._client_keys, only(clients[1], keys)),
        ):
            path.touch(mode=0o600)
            path.write_text(content)

    def _options(self, daemon: Daemon) -> dict[str, str]:
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
        own = sum(_device(other.folder) == device for other in self._players(OSD))
        share = int(shutil.disk_usage(base).free * _DISK_SHARE / own)
        return min(share, _MOST_DISK_BYTES) // MIB * MIB

    def _spawn(self, daemon: Daemon) -> None:
        options = self._options(daemon)
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

    def _create_pools(self) -> None:
        """Register the OSDs, create pools and file system, and start OSDs and metadata servers."""
        run, osds = self.admin.run, self._players(OSD)
        for daemon in osds:
            run("osd new", uuid=self._uuids[daemon.id], id=int(daemon.id))
        copies, code = self.cluster.replication, self.cluster.storage.code
        run("osd pool create", pool=METADATA_POOL, pg_num=_METADATA_PGS)
        groups = min(_MOST_DATA_PGS, 1 << (len(osds) * _DATA_PGS_PER_OSD - 1).bit_length())
        if code:
            domain = "host" if len({d.host.name for d in osds}) >= code.hosts else "osd"
            profile = [f"k={code.data}", f"m={code.parity}", f"crush-failure-domain={domain}"]
            run("osd erasure-code-profile set", name=_PROFILE, profile=profile)
            kind = {"pool_type": "erasure", "erasure_code_profile": _PROFILE}
            run("osd pool create", pool=DATA_POOL, pg_num=groups, pgp_num=groups, **kind)
            run("osd pool set", pool=DATA_POOL, var="allow_ec_overwrites", val="true")
        else:
            run("osd pool create", pool=DATA_POOL, pg_num=groups)
        for pool in [METADATA_POOL, *([] if code else [DATA_POOL])]:
            size = {"pool": pool, "var": "size", "val": str(copies)}
            run("osd pool set", **size, yes_i_really_mean_it=copies == 1)
        run("fs new", fs_name=FILE_SYSTEM, metadata=METADATA_POOL, data=DATA_POOL, force=bool(code))
        for daemon in osds:
            self._finish_making(daemon)
            self._spawn(daemon)
        for daemon in self._players(MDS):
            self._spawn(daemon)

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

    def _unready(self, status: Mapping[str, Any] | None = None) -> list[str]:
        """What is missing until all placement groups are clean and a metadata server is active."""
        status = status or self.admin.asked("status")
        if status is None:
            return ["the monitors of Ceph"]
        found, groups = [], status["pgmap"]
        down = len(self._players(OSD)) - status["osdmap"]["num_up_osds"]
        if down > 0:
            found.append(f"{down} osds")
        states = {s["state_name"]: s["count"] for s in groups["pgs_by_state"]}
        unclean = groups["num_pgs"] - states.get("active+clean", 0)
        if unclean or not groups["num_pgs"]:
            found.append(f"{unclean} placement groups" if groups["num_pgs"] else "placement groups")
        if not any(rank["status"] == "up:active" for rank in status["fsmap"]["by_rank"]):
            found.append("the metadata server")
        return found


def _device(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev
