"""The common base of the testbeds that run Hadoop's daemons on this machine."""

from __future__ import annotations

import re
import shutil
import time
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.containers import never_started
from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.cluster.settings import Value, affects, text_of
from windtunnel.engines.artifacts import ArtifactSet, cache_root
from windtunnel.engines.engine import java_of, load_engine
from windtunnel.engines.engine import line_of as engine_line
from windtunnel.engines.faults import Part
from windtunnel.engines.hadoop import releases
from windtunnel.engines.hadoop.layout import ADDRESSES
from windtunnel.engines.hadoop.pool_sizes import pool_note
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.java import Java
from windtunnel.engines.progress import progress_for
from windtunnel.engines.registry import ENGINES
from windtunnel.engines.storage_systems import (
    HDFS,
    needs_new_storage,
    outside_of,
    storage_of,
    storage_system,
)
from windtunnel.errors import DescriptionError, NotRealisableError, StorageFullError
from windtunnel.hosts.isolation.folders import refuse_shared
from windtunnel.hosts.isolation.policy import Isolation, isolation, refusal
from windtunnel.hosts.leftovers import clean_this_machine, state_root
from windtunnel.testbeds.base import (
    ClusterTestbed,
    Notify,
    Realisation,
    StudyRequest,
    TestbedOptions,
)
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment
from windtunnel.testbeds.hadoop_software import Installed

# Resident memory of the daemons, measured on Linux with Java 17: masters together, a worker.
_MASTERS_BYTES = 800 << 20
_WORKER_BYTES = 450 << 20
_SHORT_CIRCUIT = "dfs.client.read.shortcircuit"
_WITHOUT_DAEMONS = {"client", "management"}  # hosts on which no engine starts anything
_MINIMUM_FREE_DISK_BYTES = 1 << 30

D = TypeVar("D", bound=HadoopDeployment)


class HadoopTestbed(ClusterTestbed, Generic[D]):
    """Finds the software and opens and closes deployments, which have separate log folders."""

    # the components into which faults can be injected if Hadoop's daemons are our child processes
    breakable: ClassVar[frozenset[Part]] = frozenset({"daemons"})

    def __init__(self, logs: Path, notify: Notify, options: TestbedOptions | None = None) -> None:
        self.logs = logs.absolute()
        self.notify = self._note = notify
        self._software: dict[str, tuple[Software, ArtifactSet, Java]] = {}
        self._engines: dict[str, tuple[ArtifactSet, Java | None]] = {}
        self._deployments = 0
        self._permit_open = False
        self._cleaned = False

    def permit_open(self) -> None:
        """Permit root to start clusters that other accounts of this machine can reach."""
        self._permit_open = True

    def begin_study(self, study: str, note: Notify) -> None:
        """Remove what killed commands left on this machine: it would compute during the trials."""
        self._note, self._cleaned = note, True
        clean_this_machine(note)

    def isolation(self, cluster: Cluster) -> Isolation:
        """How a deployment is isolated from the other accounts of this machine."""
        return isolation([state_root(), self.logs], outside_of(cluster))

    def isolated(self, cluster: Cluster, found: Realisation) -> Realisation:
        """The result of the check of a description, with that of the isolation."""
        isolated = self.isolation(cluster)
        refused = refusal(isolated, permit_open=self._permit_open)
        caveat = isolated.caveat
        return Realisation(
            [*found.impossible, *([refused] if refused else [])],
            [*found.unrealised, *([caveat] if caveat and not refused else [])],
        )

    def own_settings(self, cluster: Cluster) -> dict[str, Value]:
        """The sizes of containers that the testbed sets unless the description does, in MiB.

        Empty by default: the description determines all of them.
        """
        return {}

    def admit(self, request: StudyRequest) -> Realisation:
        """Refuse treatments whose jobs need containers that YARN never starts.

        Also those with settings that their engines cannot have.
        """
        several = len(request.treatments) > 1
        refused = []
        for one in request.treatments:
            lead = f"treatment {one.id}: " if several else ""
            if any(load.tasks for load in one.loads):
                own = {**self.own_settings(one.cluster), **one.cluster.settings}
                found = never_started(own)
                refused += [f"{lead}settings.{name}: {message}" for name, message, _ in found]
            for engine in request.engines:
                given = ENGINES[engine].refused_settings(one.cluster)
                refused += [
                    f"{lead}settings.{name}: {reason}: remove it" for name, reason in given.items()
                ]
        return Realisation(refused)

    def pool_notes(self, cluster: Cluster, settings: Mapping[str, object]) -> list[str]:
        """The size of the pool of warm JVMs, if the description has warm starts.

        Parameters
        ----------
        settings:
            The settings of the NodeManagers and of the jobs.
        """
        if cluster.software.task_start == "stock":
            return []
        texts = {name: str(value) for name, value in settings.items()}
        workers = len(cluster.nodes_with("nodemanager"))
        free = psutil.virtual_memory().available
        software = cluster.software
        return [pool_note(texts, workers, software.hadoop, free, software.warm_jvms)]

    def _refuse_open(self, cluster: Cluster, unguarded: Sequence[str]) -> None:
        found = self.isolation(cluster)
        if refused := refusal(found, permit_open=self._permit_open, unguarded=unguarded):
            raise NotRealisableError(refused)

    @abstractmethod
    def new_deployment(self, cluster: Cluster, installed: Installed, logs: Path) -> D:
        """A deployment that has not been opened yet."""

    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Find Java, fetch and verify the jars, and check the free space for data."""
        from rich.console import Console

        _refuse_odd_folders()
        refuse_shared(state_root(), "WINDTUNNEL_STATE")
        refuse_shared(cache_root(), "WINDTUNNEL_CACHE")
        refuse_shared(self.logs, "--results")
        unguarded = [name for name in engines if not ENGINES[name].guarded]
        self._refuse_open(cluster, unguarded)
        storage_of(cluster).check_machine()
        version, progress = cluster.software.hadoop, progress_for(Console(stderr=True))
        if version not in self._software:
            self._software[version] = releases.load(version, progress)
        java = self._software[version][2].version
        for name in engines:
            kind = ENGINES[name]
            found = load_engine(kind, cluster, java, progress)
            self._engines[engine_line(kind, cluster).lock] = found, java_of(kind, cluster)
        _refuse_too_little_memory(cluster, engines)
        there = next(p for p in (state_root(), *state_root().parents) if p.exists())
        free = shutil.disk_usage(there).free
        if free < _MINIMUM_FREE_DISK_BYTES:
            raise StorageFullError(
                f"only {free >> 20} MiB are free for the data of the daemons",
                remedy="free some space, or set WINDTUNNEL_STATE to a folder on a larger disk.",
            )

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[D]:
        """A running cluster, ready for jobs.

        Raises
        ------
        DeploymentError
            If a daemon does not start.
        """
        if not self._cleaned:  # a command without a study
            clean_this_machine(self._note)
        self.prepare(cluster)
        self._deployments += 1
        stamp = time.strftime("%Y%m%d-%H%M%S")
        logs = self.logs / f"{stamp}-{self._deployments}"
        installed = Installed(*self._software[cluster.software.hadoop], self._engines)
        deployment = self.new_deployment(cluster, installed, logs)
        try:
            deployment.open()
            deployment.start()
            yield deployment
        finally:
            deployment.close()


def impossible_with_hadoop(cluster: Cluster) -> list[str]:
    """The reasons why Hadoop's daemons cannot run a description on this machine."""
    impossible = []
    roles = cluster.role_counts()
    needed = _daemons_bytes(cluster)
    free = psutil.virtual_memory().available
    if needed > free:
        impossible.append(
            f"{_working_nodes(cluster)} workers need about {needed / 2**30:.1f} GiB only for "
            f"their daemons; {free / 2**30:.1f} GiB are free"
        )
    several = {"journalnode", *(["namenode"] if cluster.storage.ha else [])}
    impossible += [
        f"exactly one host must have the role {role.name}"
        for role in ROLES.started(HADOOP)
        if not role.worker
        and (not role.storage or cluster.storage.kind in role.storage)
        and roles.get(role.name, 0) != 1
        and role.name not in several
    ]
    impossible += _odd_addresses(cluster)
    try:
        releases.line_of(cluster.software.hadoop)
    except DescriptionError as error:
        impossible.append(f"software.hadoop: {error.message}")
    for name in cluster.software.engines:
        if name not in ENGINES:
            impossible.append(f"software.engines.{name}: there is no such engine")
            continue
        try:
            engine_line(ENGINES[name], cluster)
        except DescriptionError as error:
            impossible.append(f"software.engines.{name}: {error.message}")
    storage = storage_system(cluster.storage.kind)
    owners = {HADOOP, *([storage.owner] if storage else []), *ENGINES}
    startable = {role.name for name in owners for role in ROLES.started(name)}
    unknown = set(roles) - _WITHOUT_DAEMONS - startable
    if unknown:
        impossible.append(f"no engine supports the roles {', '.join(sorted(unknown))}")
    if storage is None:
        impossible.append(f"storage of kind '{cluster.storage.kind}' is not supported")
    else:
        impossible += storage.problems(cluster)
    impossible += [
        f"{key} needs Hadoop's native library (libhadoop), which its published jars do not "
        "contain: set it to false, or remove it"
        for key in _short_circuit(cluster)
    ]
    if cluster.storage.policy:
        impossible.append(
            "storage.policy: the disks of this testbed have no storage types; the testbed attached "
            "supports it"
        )
    return impossible


def _short_circuit(cluster: Cluster) -> Iterator[str]:
    """The keys of the description that switch short-circuit reads of HDFS on."""
    if cluster.storage.short_circuit:
        yield "storage.short_circuit"
    given = text_of(cluster.settings.get(_SHORT_CIRCUIT, ""))
    if cluster.storage.kind == HDFS and given.strip().lower() == "true":
        yield f"settings.{_SHORT_CIRCUIT}"


def _daemons_bytes(cluster: Cluster) -> int:
    """Approximate resident memory of Hadoop's daemons."""
    storage = storage_system(cluster.storage.kind)
    own = storage.daemons_bytes(cluster) if storage else 0
    return _MASTERS_BYTES + _working_nodes(cluster) * _WORKER_BYTES + own


def _working_nodes(cluster: Cluster) -> int:
    workers = {*ROLES.workers(HADOOP)}
    return sum(bool(workers & {*node.roles}) for node in cluster.nodes())


def _refuse_too_little_memory(cluster: Cluster, engines: Collection[str]) -> None:
    """Raise an error if the daemons of Hadoop and of the engines need more than the free memory."""
    more = {name: ENGINES[name].memory_bytes(cluster) for name in engines}
    needed, free = _daemons_bytes(cluster) + sum(more.values()), psutil.virtual_memory().available
    if needed <= free:
        return
    named = [f"{name} {size / 2**30:.1f} GiB" for name, size in more.items() if size]
    raise NotRealisableError(
        f"Hadoop's daemons need about {_daemons_bytes(cluster) / 2**30:.1f} GiB"
        + (f", and in addition {', '.join(named)}" if named else "")
        + f"; {free / 2**30:.1f} GiB are free",
        remedy="end other programs, or use fewer workers.",
    )


def _odd_addresses(cluster: Cluster) -> list[str]:
    """Addresses in the settings of the description that are not HOST:PORT."""
    return [
        f"settings.{name}: '{value}' is not an address (HOST:PORT)"
        for name, value in cluster.settings.items()
        if name in ADDRESSES and not re.fullmatch(r"[^:\s]+:\d{1,5}", str(value))
    ]


def _refuse_odd_folders() -> None:
    """Raise an error for white space and commas, which Hadoop's scripts do not support."""
    for variable, folder in (
        ("WINDTUNNEL_STATE", state_root()),
        ("WINDTUNNEL_CACHE", cache_root()),
    ):
        if any(c.isspace() or c == "," for c in str(folder)):
            raise NotRealisableError(
                f"the path '{folder}' contains white space or a comma, "
                "which Hadoop does not support",
                remedy=f"set {variable} to another folder.",
            )


def client_only(old: Cluster, new: Cluster) -> bool:
    """Whether two descriptions differ only in settings that only job clients read."""
    if old.model_copy(update={"settings": {}}) != new.model_copy(update={"settings": {}}):
        return False
    if needs_new_storage(old, new):
        return False
    names = set(old.settings) | set(new.settings)
    changed = {name for name in names if old.settings.get(name) != new.settings.get(name)}
    return all(affects(name) == "client" for name in changed)
