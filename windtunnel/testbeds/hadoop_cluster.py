"""A running Hadoop cluster on any kind of hosts: the common base of the testbeds.

A testbed provides the hosts (:meth:`HadoopDeployment.place`) and their settings
(:meth:`HadoopDeployment.plan`). This module starts and ends the cluster, runs jobs and copies
files.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.cluster import ROLES, Cluster
from windtunnel.cluster.settings import engine_of, non_defaults, text_of
from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.deployment import JobRun, R
from windtunnel.engines.engine import Engine, HadoopCluster, load_engine
from windtunnel.engines.faults import Faulty
from windtunnel.engines.hadoop.cds import with_client
from windtunnel.engines.hadoop.client import DaemonClients, JobClient
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.hadoop.layout import WEB_ADDRESSES, Layout, Placement
from windtunnel.engines.hadoop.pool import Pool, Starts
from windtunnel.engines.hadoop.pool_metrics import (
    POOL_FILL,
    POOL_MEMORY,
    STOCK_STARTS,
    WARM_STARTS,
)
from windtunnel.engines.hadoop.start_up import ContainerLogs
from windtunnel.engines.hadoop.transfer import Transfer
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.java import homes_in_use
from windtunnel.engines.running import Running
from windtunnel.engines.storage_system import Ground
from windtunnel.engines.storage_systems import outside_of, storage_of
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.hosts.isolation.confine import Place
from windtunnel.hosts.isolation.folders import make_private, write_below
from windtunnel.hosts.isolation.policy import Isolation, confined
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient
from windtunnel.hosts.removal import removing
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Metric, Phase
from windtunnel.testbeds.base import Notify
from windtunnel.testbeds.hadoop_faults import HadoopFaults
from windtunnel.testbeds.hadoop_software import Installed
from windtunnel.testbeds.web_proxy import WebServer

_READY_LIMIT_S = 300.0
_FILL_LIMIT_S = 900.0
_FAILOVER_S = 30.0
_END_LIMIT_S = 120.0
_REMOVAL_LIMIT_S = 900.0  # with data in a storage that stays


class HadoopDeployment(HadoopCluster):
    """A Hadoop cluster; a supervisor on this machine runs all of its processes.

    ``client`` is the host on which jobs and transfers start, ``client_folder`` a folder on its own
    disk for the files that are put and got. ``took_s`` contains the seconds for placing the hosts
    and for starting the daemons.
    """

    testbed: ClassVar[str]
    files: WebHdfs
    faulty: Faulty
    # what is closed at the end, in order: the supervisor ends all processes
    parts: ClassVar[tuple[str, ...]] = ("supervisor", "daemons", "storage", "files", "history")
    # whether each host has a network of its own, in which the default ports are free
    own_networks: ClassVar[bool] = False

    def __init__(
        self,
        cluster: Cluster,
        installed: Installed,
        logs: Path,
        isolation: Isolation,
        notify: Notify,
    ) -> None:
        self.cluster = cluster
        self.installed = installed
        storage = storage_of(cluster)
        software = replace(installed.software, more_jars=tuple(storage.jars(cluster)))
        client = storage.client_classes(cluster)
        self.software = with_client(software, client)
        # None: nothing of the storage's client belongs in the archive
        self._client_archived = (
            None if client is None else self.software.class_archive != software.class_archive
        )
        self.logs = logs
        self.isolation = isolation
        self.notify = notify
        self.registration = Registration.create(self.testbed)
        self.id = self.registration.id
        self.hosts: Sequence[Host] = []
        self.took_s: dict[str, float] = {}
        self.faulty = HadoopFaults(self)
        self.engines: dict[str, Engine] = {}
        self.pool: Pool | None = None
        self._starts = Starts()
        self._filled: dict[MetricInfo, float] = {}

    @abstractmethod
    def place(self) -> list[Placement]:
        """The hosts, the masters first, with their roles."""

    @abstractmethod
    def plan(self, placements: Sequence[Placement]) -> Layout:
        """The settings of Hadoop on these hosts."""

    @abstractmethod
    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Change only what differs; returns one line for each change.

        Raises
        ------
        DeploymentError
            If the difference requires a new deployment.
        """

    def provenance(self) -> dict[str, Any]:
        """Java, jars with their hashes, and every setting that is not Hadoop's default."""
        settings = non_defaults(self.layout.lasting(), self.software.version)
        archived = self._client_archived
        return {
            "isolation": self.isolation.facts(),
            **self.installed.facts(),
            **({"storage": facts} if (facts := self.storage.facts()) else {}),
            **({} if archived is None else {"client_archived": archived}),
            "start": self.cluster.software.task_start,
            "engine_settings": {
                name: text_of(value)
                for name, value in self.cluster.settings.items()
                if engine_of(name)
            },
            "settings": [asdict(setting) for setting in settings],
        }

    @property
    def described(self) -> Cluster:
        """The description that the daemons follow."""
        return self.cluster

    @property
    def hosts_file(self) -> Path:
        """The file with the names and addresses of all hosts, for the JVMs."""
        return self.registration.scratch / "hosts"

    @property
    def shared(self) -> Path:
        """Folder that all hosts read."""
        return self.registration.scratch / "shared"

    @property
    def entrance(self) -> Place | None:
        """The namespaces of the client host, which a process enters; None if it is this machine."""
        return None

    @property
    def client_folder(self) -> Path:
        """A folder on the client's own disk."""
        return self.client.root / "client"

    def open(self) -> None:
        """Create the folders and start the supervisor; :meth:`close` undoes it."""
        make_private(self.logs)
        link = self.registration.folder / "logs"
        link.symlink_to(self.logs, target_is_directory=True)
        folder = self.registration.folder
        reads = [cache_root(), *homes_in_use()]
        mount_point = storage_of(self.cluster).mount_point(self.shared)
        self.isolation = confined(
            self.isolation, self.id, folder, self.logs, reads, mount_point=mount_point
        )
        self.supervisor = SupervisorClient(
            self.id, [self.registration.scratch], folder / "supervisor.log", self.isolation
        )
        self.registration.update(
            cluster=self.cluster.name,
            supervisor=self.supervisor.pid,
            network=self.isolation.network,
            mount_point=mount_point and str(mount_point),
        )

    def start(self) -> None:
        """Place the hosts, start the daemons, wait until they are ready."""
        began = time.monotonic()
        placements = self.place()
        self.took_s["hosts"] = time.monotonic() - began
        self.hosts = [placement.host for placement in placements]
        self._write_names()
        ground = Ground(self.described, placements, self.shared, own_networks=self.own_networks)
        self.storage = storage_of(self.cluster)(ground)
        self.software = replace(
            self.software,
            more_jars=(*self.software.more_jars, *self.storage.class_path()),
            more_options=self.storage.java_options(),
        )
        if outside := outside_of(self.cluster):
            self.registration.update(outside=outside)
        self.layout = self.plan(placements)
        self.daemons = Daemons(self.layout, self.storage, self.hosts_file, self.shared)
        self.daemons.write_settings()
        if self.cluster.software.task_start == "warm":
            self.pool = Pool(self.daemons, self.cluster.software.warm_jvms)
            self.pool.prepare()
        self.note_placement()
        self.daemons.start()
        if self.pool:
            self.pool.start()
        self.daemons.wait_ready(_READY_LIMIT_S, self.notify)
        self.took_s["daemons"] = time.monotonic() - began - self.took_s["hosts"]
        addresses = {host.name: host.address for host in self.hosts}
        self.files = WebHdfs(
            self._file_server,
            addresses,
            self.hosts[0],
            _FAILOVER_S if self.cluster.storage.ha else 0.0,
        )
        self.storage.prepare(self.files)
        history = self.layout.address("mapreduce.jobhistory.webapp.address")
        host = self.hosts[0]
        logs = ContainerLogs(lambda: [p.container_logs for p in self.layout.placements])
        self.history = History(history, self.files, host, check_alive=self.check_alive, logs=logs)
        clients = DaemonClients(self.daemons, self.client, self.check_alive)
        self.jobs = JobClient(clients, self.client, logs)
        make_folder = self.files.make_folder
        self.transfers = Transfer(clients, self.client, make_folder, self._namenode_logs())
        binding = self.layout.binding(self.hosts[0].address)
        self.registration.update(
            web_servers=[asdict(server) for server in self.web_servers()],
            pids=dict(self.processes()),
            client={
                "software": self.software.to_json(),
                "hosts_file": str(self.hosts_file),
                "conf": str(self.daemons.client_conf),
                "binding": binding.to_json() if binding else None,
                "account": host.account,
            },
            place=self.entrance and self.entrance.to_json(),
        )

    def _namenode_logs(self) -> list[Path]:
        """The log of each NameNode; empty if the storage system has none."""
        placed = (p.host for p in self.layout.placements if "namenode" in p.roles)
        return [host.logs / "namenode.log" for host in placed]

    def _file_server(self) -> str:
        ip, port = self.storage.web_server()
        return f"http://{ip}:{port}"

    def _write_names(self) -> None:
        table = [f"{host.address} {host.name}" for host in self.hosts]
        table += ["127.0.0.1 localhost", f"{self.hosts[0].address} {socket.gethostname()}"]
        self.hosts_file.write_text("\n".join(table) + "\n")

    def note_placement(self) -> None:
        """Write all settings to the folder of the logs."""
        placed = {"shared": self.layout.properties(), "by_host": self.layout.per_host}
        write_below(self.logs, self.logs / "placement.json", json.dumps(placed, indent=1))

    def web_servers(self) -> list[WebServer]:
        """The web servers of the daemons, those of the masters first."""
        return [
            WebServer(f"{role}@{placement.host.name}", placement.host.name, ip, port, page)
            for placement in self.layout.placements
            for role in placement.roles
            for ip, port in [self.layout.address(WEB_ADDRESSES[role], placement.host)]
            for page in ["/jmx" if ROLES[role].family == "hdfs" else "/"]  # HDFS's jars lack "/"
        ]

    def run_job(
        self,
        phase: str,
        argv: Sequence[str],
        settings: Mapping[str, str],
        *,
        deadline_s: float,
    ) -> JobRun:
        """Run a main class as one timed phase; see ``engines.deployment.Deployment``."""
        job_id, wall_s, output = self.jobs.run(phase, argv, settings, deadline_s)
        return replace(self.history.collect(phase, job_id, wall_s), output=output)

    def put(
        self,
        sources: Sequence[Path],
        folder: str,
        *,
        replication: int,
        streams: int = 1,
        deadline_s: float,
    ) -> JobRun:
        """Copy files of the client into HDFS; see ``engines.deployment.Deployment``."""
        return self.transfers.put(sources, folder, replication, streams, deadline_s)

    def get(
        self, sources: Sequence[str], folder: Path, *, streams: int = 1, deadline_s: float
    ) -> JobRun:
        """Copy files of HDFS to the client; see ``engines.deployment.Deployment``."""
        return self.transfers.get(sources, folder, streams, deadline_s)

    def run_on_client(
        self, name: str, argv: Sequence[str], *, deadline_s: float, reads: Sequence[Path] = ()
    ) -> str:
        """Run a program on the client host; see ``engines.deployment.Deployment``."""
        return self.transfers.run(name, argv, deadline_s, reads).text

    def engine(self, kind: type[R]) -> R:
        """An engine of this cluster, started at its first use; see ``engines.engine``."""
        assert issubclass(kind, Engine)
        found = self.engines.get(kind.name)
        if found is None:
            jars = load_engine(kind, self.cluster, self.software.java_version)
            # registered before its start, so that an engine that failed to start is closed, too
            self.engines[kind.name] = found = kind(self, jars)
            found.start()
            self.registration.update(pids=dict(self.processes()))
        assert isinstance(found, kind)
        return found

    def network_bytes(self) -> tuple[int, int]:
        """Bytes sent and received in the network of the deployment; see ``probes.sampler``."""
        return self.supervisor.network_bytes()

    def close_engines(self) -> None:
        """End the engines; the next use restarts them with the settings of that time."""
        while self.engines:
            self.engines.popitem()[1].close()

    def expected_copies(self, replication: int) -> str:
        """How files of workloads are kept; see ``engines.deployment.Deployment``."""
        return self.storage.expected_copies(replication)

    def storage_metrics(self, folder: str) -> Mapping[str, Metric]:
        """What the storage system reports about a folder's files."""
        return self.storage.metrics(folder, self.files)

    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one has died."""
        if not self.supervisor.alive:
            raise DeploymentError("the supervisor of the daemons has died, which ends the daemons")
        self.daemons.check_alive()
        for part in self._other_daemons():
            part.check_alive()

    def processes(self) -> Mapping[str, int]:
        """Process id of every daemon by its name."""
        found = dict(self.daemons.processes())
        for part in self._other_daemons():
            found |= part.processes()
        return found

    def _other_daemons(self) -> list[Running]:
        return [self.storage, *self.engines.values(), *([self.pool] if self.pool else [])]

    def before_phase(self) -> None:
        """Fill the pool of warm JVMs, if the cluster has one, without the limits of the hosts."""
        if self.pool is None:
            return
        self._filled = {}
        try:
            with self.unshaped():
                began = time.monotonic()
                self.pool.fill(_FILL_LIMIT_S, self.check_alive)
                took_s = time.monotonic() - began
                self._filled = {POOL_FILL: took_s, POOL_MEMORY: self.pool.memory_bytes()}
        finally:
            self._starts = self.pool.starts()

    def phase_metrics(self, phase: Phase) -> Mapping[str, Metric]:
        """The numbers of warm and stock starts since :meth:`before_phase`."""
        if self.pool is None:
            return {}
        done = self.pool.starts() - self._starts
        return numbers({WARM_STARTS: done.warm, STOCK_STARTS: done.stock, **self._filled})

    def close(self) -> None:
        """End all processes and remove all files except the logs."""
        limit_s = _REMOVAL_LIMIT_S if outside_of(self.cluster) else _END_LIMIT_S
        with removing(f"daemons and data of {self.id}", limit_s):
            try:
                with contextlib.suppress(DeploymentError):  # the supervisor ends the others
                    self.close_engines()
                self._remove_data()
            finally:
                for part in self.parts:
                    if hasattr(self, part):
                        getattr(self, part).close()
                self.registration.forget()

    def _remove_data(self) -> None:
        """Remove the data from a storage that stays, when no process can write to it any more."""
        outside = outside_of(self.cluster)
        if not outside or not hasattr(self, "daemons"):
            return
        try:
            self.daemons.stop(list(self.daemons.running))
            self.storage.remove_data()
        except DeploymentError as error:
            self.notify(
                f"data is left in {outside} ({error.message}); the next cluster of this machine "
                "that uses it removes it"
            )
