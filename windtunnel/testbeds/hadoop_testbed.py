"""What the testbeds that run Hadoop's daemons on this machine have in common."""

from __future__ import annotations

import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import affects, engine_of, non_defaults, text_of
from windtunnel.engines.artifacts import ArtifactSet, cache_root
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.engine import java_of, load_engine
from windtunnel.engines.engine import line_of as engine_line
from windtunnel.engines.faulty import Part
from windtunnel.engines.hadoop import lines
from windtunnel.engines.hadoop.daemons import HEAP_MB
from windtunnel.engines.hadoop.layout import ADDRESSES, MAIN_CLASS
from windtunnel.engines.hadoop.software import JVM_OPTIONS, Software
from windtunnel.engines.java import Java
from windtunnel.engines.progress import progress_for
from windtunnel.engines.registry import ENGINES
from windtunnel.errors import DescriptionError, NotRealisableError, StorageFullError
from windtunnel.hosts.isolation.folders import refuse_shared
from windtunnel.hosts.isolation.policy import Isolation, isolation, refusal
from windtunnel.hosts.remains import state_root
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.record import Phase
from windtunnel.testbeds.base import Judgement, Realisation, Row, Tell
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment

# Resident memory of the daemons, measured on Linux with Java 17: masters together, a worker.
_MASTERS_BYTES = 800 << 20
_WORKER_BYTES = 450 << 20
_MINIMUM_FREE_DISK_BYTES = 1 << 30

D = TypeVar("D", bound=HadoopDeployment)


class HadoopTestbed(ABC, Generic[D]):
    """Finds the software, opens and closes deployments.

    Parameters
    ----------
    logs:
        Folder for the daemons' logs; a deployment makes a folder of its own in it.
    tell:
        Receives a line whenever there is something to report.
    """

    name: str
    # what faults can break wherever Hadoop's daemons are processes of ours
    breakable: frozenset[Part] = frozenset({"daemons"})

    def __init__(self, logs: Path, tell: Tell) -> None:
        self.logs = logs.absolute()
        self.tell = tell
        self._software: dict[str, tuple[Software, ArtifactSet, Java]] = {}
        self._engines: dict[str, tuple[ArtifactSet, Java | None]] = {}
        self._deployments = 0
        self._permit_open = False

    def permit_open(self) -> None:
        """Let root start clusters that other accounts of this machine can reach."""
        self._permit_open = True

    @property
    def isolation(self) -> Isolation:
        """How deployments are isolated from the other accounts of this machine."""
        return isolation([state_root(), self.logs])

    def isolated(self, found: Realisation) -> Realisation:
        """What was found of a description, with what was found of the isolation."""
        refused = refusal(self.isolation, permit_open=self._permit_open)
        caveat = self.isolation.caveat
        return Realisation(
            [*found.impossible, *([refused] if refused else [])],
            [*found.unrealised, *([caveat] if caveat and not refused else [])],
        )

    def _refuse_open(self, unguarded: Sequence[str]) -> None:
        found = self.isolation
        if refused := refusal(found, permit_open=self._permit_open, unguarded=unguarded):
            raise NotRealisableError(refused)

    @abstractmethod
    def new_deployment(self, cluster: Cluster, software: Software, logs: Path) -> D:
        """A deployment that has not been opened yet."""

    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Find Java, fetch and verify the jars; see that there is room for data."""
        from rich.console import Console

        _refuse_odd_folders()
        refuse_shared(state_root(), "WINDTUNNEL_STATE")
        refuse_shared(cache_root(), "WINDTUNNEL_CACHE")
        refuse_shared(self.logs, "--results")
        unguarded = [name for name in engines if not ENGINES[name].guarded]
        self._refuse_open(unguarded)
        version, progress = cluster.software.hadoop, progress_for(Console(stderr=True))
        if version not in self._software:
            self._software[version] = lines.load(version, progress)
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
                f"only {free >> 20} MiB are free for the daemons' data",
                remedy="free some space, or set WINDTUNNEL_STATE to a folder on a larger disk.",
            )

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[D]:
        """A running cluster, ready for jobs.

        Raises
        ------
        DeploymentError
            If a daemon does not come up.
        """
        self.prepare(cluster)
        self._deployments += 1
        stamp = time.strftime("%Y%m%d-%H%M%S")
        logs = self.logs / f"{stamp}-{self._deployments}"
        deployment = self.new_deployment(cluster, self._software[cluster.software.hadoop][0], logs)
        try:
            deployment.open()
            deployment.start(self.tell)
            yield deployment
        finally:
            deployment.close()

    def ready(self, clusters: Iterable[Cluster], tell: Tell) -> CalibrationRecord | None:
        """Nothing to see to: nothing is shaped."""
        return None

    def judge(self, rows: Sequence[Row], phases: Sequence[Phase]) -> Judgement:
        """Nothing: the machine is the cluster, and what binds there is a finding."""
        return Judgement()

    def provenance(self, deployment: Deployment) -> dict[str, Any]:
        """Java, jars with their hashes, and every setting that is not Hadoop's default."""
        assert isinstance(deployment, HadoopDeployment)
        software, artifacts, java = self._software[deployment.cluster.software.hadoop]
        return {
            "isolation": deployment.isolation.facts(),
            "hadoop": software.version,
            "java": _told(java),
            "class_archive": software.class_archive is not None,
            "daemon_jvm": {"options": list(JVM_OPTIONS), "heap_mb": HEAP_MB},
            "jars": _named(artifacts),
            "engines": {
                name: {"jars": _named(found)} | ({"java": _told(own)} if own else {})
                for name, (found, own) in self._engines.items()
            },
            "engine_settings": {
                name: text_of(value)
                for name, value in deployment.cluster.settings.items()
                if engine_of(name)
            },
            "settings": [
                asdict(setting)
                for setting in non_defaults(deployment.layout.lasting(), software.version)
            ],
        }


def _named(artifacts: ArtifactSet) -> list[dict[str, str]]:
    """The jars of a set as provenance has them."""
    return [
        {"name": jar.name, "version": jar.version, "sha256": jar.sha256} for jar in artifacts.jars
    ]


def _told(java: Java) -> dict[str, str]:
    """A Java as provenance has it."""
    return {"version": java.version, "vendor": java.vendor, "source": java.source}


def impossible_with_hadoop(cluster: Cluster) -> list[str]:
    """Why Hadoop's daemons cannot run a description on this machine, whatever the testbed."""
    impossible = []
    roles = cluster.role_counts()
    needed = _daemons_bytes(cluster)
    free = psutil.virtual_memory().available
    if needed > free:
        impossible.append(
            f"{roles.get('nodemanager', 0)} workers need about {needed / 2**30:.1f} GiB for their "
            f"daemons alone; {free / 2**30:.1f} GiB are free"
        )
    impossible += [
        f"exactly one host must have the role {role}"
        for role in ("namenode", "resourcemanager", "historyserver")
        if roles.get(role, 0) != 1
    ]
    impossible += _odd_addresses(cluster)
    try:
        lines.line_of(cluster.software.hadoop)
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
    engines = {role for kind in ENGINES.values() for role in kind.roles}
    unknown = {str(role) for role in roles if role not in MAIN_CLASS} - {"client"} - engines
    if unknown:
        impossible.append(f"no engine for the roles {', '.join(sorted(unknown))}")
    if cluster.storage.kind != "hdfs":
        impossible.append(f"storage of kind '{cluster.storage.kind}' has no engine here")
    return impossible


def _daemons_bytes(cluster: Cluster) -> int:
    """Resident memory of Hadoop's daemons, about."""
    return _MASTERS_BYTES + cluster.role_counts().get("nodemanager", 0) * _WORKER_BYTES


def _refuse_too_little_memory(cluster: Cluster, engines: Collection[str]) -> None:
    """The daemons of engines come on top of Hadoop's: seen before anything is started."""
    beside = {name: ENGINES[name].memory_bytes(cluster) for name in engines}
    needed, free = _daemons_bytes(cluster) + sum(beside.values()), psutil.virtual_memory().available
    if needed <= free:
        return
    named = [f"{name} {size / 2**30:.1f}" for name, size in beside.items() if size]
    raise NotRealisableError(
        f"Hadoop's daemons need about {_daemons_bytes(cluster) / 2**30:.1f} GiB"
        + (f", and beside them {', '.join(named)} GiB" if named else "")
        + f"; {free / 2**30:.1f} GiB are free",
        remedy="end other programs, or take fewer workers.",
    )


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
