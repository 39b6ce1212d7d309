"""The testbed ``local``: real daemons on this machine, unshaped, no privileges needed."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import affects, non_defaults
from windtunnel.engines.artifacts import ArtifactSet, cache_root
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.hadoop import lines, loopback
from windtunnel.engines.hadoop.client import JobClient
from windtunnel.engines.hadoop.daemons import HEAP_MB, Daemons
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.hadoop.layout import ADDRESSES, MAIN_CLASS, Placement, plan_layout
from windtunnel.engines.hadoop.software import JVM_OPTIONS, Software
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.java import Java
from windtunnel.engines.progress import progress_for
from windtunnel.errors import DeploymentError, NotRealisableError, StorageFullError
from windtunnel.hosts.base import Host
from windtunnel.hosts.local import DROP_CACHES, LocalHost, SupervisorClient
from windtunnel.hosts.remains import Registration, state_root
from windtunnel.testbeds.base import Realisation, Tell

_READY_LIMIT_S = 120.0
# Resident memory of the daemons, measured on Linux with Java 17: masters together, a worker.
_MASTERS_BYTES = 800 << 20
_WORKER_BYTES = 450 << 20
_MINIMUM_FREE_DISK_BYTES = 1 << 30


class LocalDeployment:
    """A Hadoop cluster of this machine."""

    def __init__(self, cluster: Cluster, software: Software, logs: Path) -> None:
        self.cluster = cluster
        self.software = software
        self.logs = logs
        self.registration = Registration.create("local")
        self.id = self.registration.id
        self.hosts: Sequence[Host] = []

    def open(self) -> None:
        """Make the folders and start the supervisor; :meth:`close` undoes it."""
        self.logs.mkdir(parents=True, exist_ok=True)
        link = self.registration.folder / "logs"
        link.symlink_to(self.logs, target_is_directory=True)
        self.supervisor = SupervisorClient(
            self.id, [self.registration.scratch], self.registration.folder / "supervisor.log"
        )
        self.registration.update(supervisor=self.supervisor.pid, cluster=self.cluster.name)

    def start(self, tell: Tell) -> None:
        """Place the hosts, start the daemons, wait until they are ready."""
        scratch = self.registration.scratch
        names = scratch / "hosts"
        placements = self._place(scratch, names)
        self.hosts = [placement.host for placement in placements]
        self.layout = plan_layout(
            self.cluster,
            self.software,
            placements,
            cores=psutil.cpu_count() or 1,
            memory_bytes=psutil.virtual_memory().total,
            hosts_file=names,
            # all hosts are this machine: nobody else is to reach their ports
            loopback_jar=loopback.place(scratch / "shared"),
        )
        self.daemons = Daemons(self.layout, names, scratch / "shared")
        self.daemons.write_settings()
        placed = {"shared": self.layout.properties(), "by_host": self.layout.per_host}
        (self.logs / "placement.json").write_text(json.dumps(placed, indent=1))
        self.daemons.start()
        self.daemons.wait_ready(_READY_LIMIT_S, tell)
        addresses = {host.name: host.address for host in self.hosts}
        self.files = WebHdfs(self.layout.address("dfs.namenode.http-address"), addresses)
        history = self.layout.address("mapreduce.jobhistory.webapp.address")
        self.history = History(history, self.files, check_alive=self.check_alive)
        self.jobs = JobClient(self.daemons, self.hosts[0])
        binding = self.layout.binding(self.hosts[0].address)
        self.registration.update(
            endpoints=self.endpoints(),
            pids=dict(self.processes()),
            client={
                "software": self.software.to_json(),
                "hosts_file": str(names),
                "conf": str(self.daemons.client_conf),
                "binding": binding.to_json() if binding else None,
            },
        )

    def _place(self, scratch: Path, names: Path) -> list[Placement]:
        network = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(254) + 1}"
        placements: list[Placement] = []
        for class_name, host_class in self.cluster.hosts.items():
            for number in range(1, host_class.count + 1):
                name = class_name if host_class.count == 1 else f"{class_name}-{number}"
                # Only Linux has all of 127/8 on its loopback interface.
                last = len(placements) + 1 if sys.platform == "linux" else 1
                address = f"{network}.{last}" if sys.platform == "linux" else "127.0.0.1"
                host = LocalHost(name, address, scratch / name, self.logs / name, self.supervisor)
                data = [disk for disk in host_class.disks or () if disk.use == "data"]
                disks = sum(disk.count for disk in data) or 1
                roles = [r for r in host_class.roles_of(number - 1) if r in MAIN_CLASS]
                containers = self.registration.folder / "logs" / name / "containers"
                placements.append(Placement(host, roles, containers, disks))
        table = [f"{p.host.address} {p.host.name}" for p in placements]
        table += ["127.0.0.1 localhost", f"{placements[0].host.address} {socket.gethostname()}"]
        names.write_text("\n".join(table) + "\n")
        return placements

    def endpoints(self) -> dict[str, str]:
        """Web addresses of the masters."""
        props = {
            "namenode": "dfs.namenode.http-address",
            "resourcemanager": "yarn.resourcemanager.webapp.address",
            "historyserver": "mapreduce.jobhistory.webapp.address",
        }
        found = {}
        for role, prop in props.items():
            ip, port = self.layout.address(prop)
            found[role] = f"http://{ip}:{port}/"
        return found

    def run_job(
        self,
        phase: str,
        argv: Sequence[str],
        settings: Mapping[str, str],
        *,
        deadline_s: float,
    ) -> JobRun:
        """Run a main class as one timed phase; see ``engines.deployment.Deployment``."""
        job_id, wall_s = self.jobs.run(phase, argv, settings, deadline_s)
        return replace(self.history.collect(phase, job_id, wall_s), output=self.jobs.output)

    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one has died."""
        if not self.supervisor.alive:
            raise DeploymentError("the supervisor of the daemons has died, and they with it")
        self.daemons.check_alive()

    def processes(self) -> Mapping[str, int]:
        """Process id of every daemon by its name."""
        return {name: process.pid for name, process in self.daemons.running.items()}

    def close(self) -> None:
        """End all processes and remove all that is not a log."""
        for part in ("supervisor", "files", "history"):
            if hasattr(self, part):
                getattr(self, part).close()
        self.registration.forget()


class LocalTestbed:
    """Real daemons on this machine.

    Parameters
    ----------
    logs:
        Folder for the daemons' logs; a deployment makes a folder of its own in it.
    tell:
        Receives a line whenever there is something to report.
    """

    name = "local"

    def __init__(self, logs: Path, tell: Tell) -> None:
        self.logs = logs.absolute()
        self.tell = tell
        self._software: dict[str, tuple[Software, ArtifactSet, Java]] = {}
        self._deployments = 0

    def check(self, cluster: Cluster) -> Realisation:
        """What of the description this machine can and cannot realise."""
        impossible, unrealised = [], []
        roles = cluster.role_counts()
        workers = roles.get("nodemanager", 0)
        needed = _MASTERS_BYTES + workers * _WORKER_BYTES
        free = psutil.virtual_memory().available
        if needed > free:
            impossible.append(
                f"{workers} workers need about {needed / 2**30:.1f} GiB for their daemons alone; "
                f"{free / 2**30:.1f} GiB are free"
            )
        impossible += [
            f"exactly one host must have the role {role}"
            for role in ("namenode", "resourcemanager", "historyserver")
            if roles.get(role, 0) != 1
        ]
        impossible += _odd_addresses(cluster)
        unknown = {str(role) for role in roles if role not in MAIN_CLASS} - {"client"}
        if unknown:
            impossible.append(f"no engine for the roles {', '.join(sorted(unknown))}")
        if cluster.storage.kind != "hdfs":
            impossible.append(f"storage of kind '{cluster.storage.kind}' has no engine here")
        for name, host_class in cluster.hosts.items():
            if host_class.vms:
                impossible.append(f"hosts.{name}.vms: virtual machines need the testbed 'scaled'")
            if host_class.disks or host_class.nics or host_class.cpu:
                unrealised.append(
                    f"hosts.{name}: CPU, disks and NICs are this machine's, shared by all hosts"
                )
        if cluster.network is not None:
            unrealised.append("network: all hosts talk over the loopback interface, unshaped")
        return Realisation(impossible, unrealised)

    def can_drop_caches(self) -> bool:
        """Whether the machine's page cache can be emptied: root on Linux."""
        return os.access(DROP_CACHES, os.W_OK)

    def cache_bytes(self) -> int:
        """All memory of this machine, which all hosts share."""
        return psutil.virtual_memory().total

    def prepare(self, cluster: Cluster) -> None:
        """Find Java, fetch and verify the jars; see that there is room for data."""
        _refuse_odd_folders()
        version = cluster.software.hadoop
        if version not in self._software:
            from rich.console import Console

            self._software[version] = lines.load(version, progress_for(Console(stderr=True)))
        there = next(p for p in (state_root(), *state_root().parents) if p.exists())
        free = shutil.disk_usage(there).free
        if free < _MINIMUM_FREE_DISK_BYTES:
            raise StorageFullError(
                f"only {free >> 20} MiB are free for the daemons' data",
                remedy="free some space, or set WINDTUNNEL_STATE to a folder on a larger disk.",
            )

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[LocalDeployment]:
        """A running cluster, ready for jobs.

        Raises
        ------
        DeploymentError
            If a daemon does not come up.
        """
        self.prepare(cluster)
        deployment = self._new(cluster)
        try:
            deployment.open()
            deployment.start(self.tell)
            yield deployment
        finally:
            deployment.close()

    def _new(self, cluster: Cluster) -> LocalDeployment:
        self._deployments += 1
        stamp = time.strftime("%Y%m%d-%H%M%S")
        logs = self.logs / f"{stamp}-{self._deployments}"
        return LocalDeployment(cluster, self._software[cluster.software.hadoop][0], logs)

    def reconfigure(self, deployment: Deployment, cluster: Cluster) -> list[str]:
        """Rewrite the clients' settings if only those differ.

        Raises
        ------
        DeploymentError
            If more differs: the caller then deploys anew.
        """
        assert isinstance(deployment, LocalDeployment)
        if not client_only(deployment.cluster, cluster):
            raise DeploymentError("the difference needs a new deployment")
        if deployment.cluster == cluster:
            return []
        deployment.cluster = deployment.layout.cluster = cluster
        deployment.daemons.write_client_settings()
        return ["job settings changed"]

    def provenance(self, deployment: Deployment) -> dict[str, Any]:
        """Java, jars with their hashes, and every setting that is not Hadoop's default."""
        assert isinstance(deployment, LocalDeployment)
        software, artifacts, java = self._software[deployment.cluster.software.hadoop]
        return {
            "hadoop": software.version,
            "java": {"version": java.version, "vendor": java.vendor, "source": java.source},
            "class_archive": software.class_archive is not None,
            "daemon_jvm": {"options": list(JVM_OPTIONS), "heap_mb": HEAP_MB},
            "jars": [
                {"name": jar.name, "version": jar.version, "sha256": jar.sha256}
                for jar in artifacts.jars
            ],
            "settings": [
                asdict(setting)
                for setting in non_defaults(deployment.layout.lasting(), software.version)
            ],
        }


def _odd_addresses(cluster: Cluster) -> list[str]:
    """Addresses in the description's settings that are not HOST:PORT."""
    return [
        f"settings.{name}: '{value}' is no address (HOST:PORT)"
        for name, value in cluster.settings.items()
        if name in ADDRESSES and not re.fullmatch(r"[^:\s]+:\d{1,5}", str(value))
    ]


def _refuse_odd_folders() -> None:
    """Hadoop's scripts and lists of folders cannot take white space or commas."""
    for variable, folder in (
        ("WINDTUNNEL_STATE", state_root()),
        ("WINDTUNNEL_CACHE", cache_root()),
    ):
        if any(c.isspace() or c == "," for c in str(folder)):
            raise NotRealisableError(
                f"the folder '{folder}' has white space or a comma in its name, "
                "which Hadoop cannot take",
                remedy=f"set {variable} to another folder.",
            )


def client_only(old: Cluster, new: Cluster) -> bool:
    """Whether two descriptions differ in nothing but settings that only job clients read."""
    if old.model_copy(update={"settings": {}}) != new.model_copy(update={"settings": {}}):
        return False
    names = set(old.settings) | set(new.settings)
    changed = {name for name in names if old.settings.get(name) != new.settings.get(name)}
    return all(affects(name) == "client" for name in changed)
