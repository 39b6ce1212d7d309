"""The times after which Hadoop notices a fault, and the comparison with the time of a trial.

The formulas, with the classes of Hadoop 3.4 and 3.5 that contain them:

DataNode
    The NameNode counts a silent DataNode as dead after 2 x
    ``dfs.namenode.heartbeat.recheck-interval`` (ms) + 10 x ``dfs.heartbeat.interval`` (s)
    (``DatanodeManager``). It checks once per recheck interval, in steps of 5 s
    (``HeartbeatManager``).
Orders of new replicas
    The NameNode repeats an order that was not carried out after
    ``dfs.namenode.reconstruction.pending.timeout-sec`` (s). It checks once per timeout, at least
    every 5 minutes (``PendingReconstructionBlocks``).
Decommissioned DataNode
    The NameNode orders the copies at its next check of such hosts, every
    ``dfs.namenode.decommission.interval`` (s) (``DatanodeAdminManager``).
NodeManager, application master
    The ResourceManager counts a silent one as lost after
    ``yarn.nm.liveness-monitor.expiry-interval-ms`` and
    ``yarn.am.liveness-monitor.expiry-interval-ms``. It checks three times per interval
    (``NMLivelinessMonitor``, ``AMLivelinessMonitor``). If a NodeManager is lost, so are the
    application masters on its host.
Tasks on a lost host
    The application master repeats an unfinished task of that host when it has given up stopping its
    container: ``yarn.client.nodemanager-connect.max-wait-ms`` after the ResourceManager has noticed
    the loss (``NMProxy``, ``TaskAttemptImpl``). Finished map tasks are repeated at once. Measured
    in two trials: 180 s, the default.
Full disk
    The NodeManager checks its disks every ``yarn.nodemanager.disk-health-checker.interval-ms`` and
    stops using those above ``...max-disk-utilization-per-disk-percentage`` and those with less
    free space than ``...min-free-space-per-disk-mb`` (``LocalDirsHandlerService``,
    ``DirectoryCollection``). Each heartbeat of a DataNode contains
    its free space, and the NameNode places no block on a full one.

The disk check of a DataNode (``dfs.datanode.disk.check.*``, ``DatasetVolumeChecker``) is not in
this list: it runs after I/O errors and tests the access to three directories without reading or
writing data, so a full or a slow disk passes it. No daemon notices a slow disk or a slow NIC.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import default_of, text_of
from windtunnel.engines.hadoop.excluded import CHECK_INTERVAL
from windtunnel.engines.hadoop.layout import DISK_UTILISATION, MAX_DISK_UTILISATION

RECHECK = "dfs.namenode.heartbeat.recheck-interval"
HEARTBEAT = "dfs.heartbeat.interval"
PENDING = "dfs.namenode.reconstruction.pending.timeout-sec"
DECOMMISSION, EVERY = CHECK_INTERVAL
NODE_EXPIRY = "yarn.nm.liveness-monitor.expiry-interval-ms"
MASTER_EXPIRY = "yarn.am.liveness-monitor.expiry-interval-ms"
NODE_CONNECT = "yarn.client.nodemanager-connect.max-wait-ms"
DISK_CHECK = "yarn.nodemanager.disk-health-checker.enable"
DISK_CHECK_INTERVAL = "yarn.nodemanager.disk-health-checker.interval-ms"
LEAST_FREE = "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb"

_OURS = {
    MAX_DISK_UTILISATION: DISK_UTILISATION,
    DECOMMISSION: EVERY,
}  # defaults of Windtunnel's own clusters
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|d)?\s*", re.IGNORECASE)
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_HEARTBEAT_STEP_S = 5.0
_PENDING_CHECK_S = 300.0
_UNNOTICED = "only clients and tasks notice it"


@dataclass(frozen=True)
class Setting:
    """The value of a property on a cluster; ``default_by`` is whose default it is, or empty."""

    name: str
    value: str
    default_by: str = ""

    def words(self) -> str:
        """The setting in words: ``dfs.heartbeat.interval = 3 (Hadoop's default)``."""
        mark = f" ({self.default_by}'s default)" if self.default_by else ""
        return f"{self.name} = {self.value}{mark}"

    def seconds(self, unit: str = "ms") -> float | None:
        """The value in seconds; a number without a unit is in ``unit``. None if it is no time."""
        found = _TIME.fullmatch(self.value)
        return None if found is None else float(found[1]) * _UNITS_S[(found[2] or unit).lower()]


@dataclass(frozen=True)
class Detection:
    """How one part of Hadoop notices a fault.

    Parameters
    ----------
    event:
        The event in words: ``the NameNode notices it``.
    settings:
        The settings that determine the time.
    after_s:
        Seconds from the fault to the event at the earliest; None if it never happens.
    at_most_s:
        Seconds to the event at the latest, because Hadoop checks at intervals.
    otherwise:
        The consequence if it does not happen during the trial.
    ends_with_fault:
        Whether the event can no longer happen after the fault was undone.
    watched:
        Whether a trial waits for the event after its last phase, for the ``watch`` of the fault.
    follows:
        Whether the event can only happen after the previous detection, whose note includes it.
    """

    event: str
    settings: tuple[Setting, ...]
    after_s: float | None
    at_most_s: float | None
    otherwise: str = _UNNOTICED
    ends_with_fault: bool = True
    watched: bool = False
    follows: bool = False

    def words(self) -> str:
        """The detection in words: ``the NameNode notices it after 14 s to 21 s: SETTINGS``."""
        said = self.never() if self.after_s is None else f"{self.event} {self.when()}"
        return f"{said}: {self.basis()}"

    def never(self) -> str:
        """The event negated: ``the NodeManager never notices it``."""
        return re.sub(r" (notices|repeats) ", r" never \1 ", self.event, count=1)

    def when(self) -> str:
        """The time: ``after 14 s to 21 s``, ``within 120 s``."""
        latest = _seconds(self.at_most_s or 0.0)
        return f"after {_seconds(self.after_s)} to {latest}" if self.after_s else f"within {latest}"

    def basis(self) -> str:
        """The settings that determine the time."""
        return ", ".join(setting.words() for setting in self.settings)


def setting(cluster: Cluster, name: str) -> Setting:
    """The value of a property of Hadoop on a cluster, and whose default it is."""
    default = default_of(name, cluster.software.hadoop)
    if name in cluster.settings:
        value = text_of(cluster.settings[name])
        return Setting(name, value, "Hadoop" if value == default else "")
    if name in _OURS:
        return Setting(name, _OURS[name], "Windtunnel")
    return Setting(name, default or "", "Hadoop")


def lost_daemons(
    cluster: Cluster, roles: Collection[str], *, containers: bool
) -> Iterator[Detection]:
    """How the masters notice that they do not hear from daemons any more.

    Parameters
    ----------
    roles:
        The roles of the silent daemons; only DataNodes and NodeManagers are noticed by a master.
    containers:
        Whether the containers on the hosts of the NodeManagers are also silent.
    """
    if "datanode" in roles:
        yield from _lost_datanode(cluster)
    if "nodemanager" in roles:
        yield from _lost_nodemanager(cluster, containers=containers)


def decommissioned(cluster: Cluster) -> Iterator[Detection]:
    """When the NameNode copies the blocks of a decommissioned DataNode; nothing without HDFS."""
    interval = setting(cluster, DECOMMISSION)
    if cluster.storage.kind == "hdfs" and (interval_s := interval.seconds("s")) is not None:
        yield Detection(
            "the NameNode orders the copies",
            (interval,),
            0.0,
            interval_s,
            otherwise="no block is copied",
            watched=True,
        )


def full_disk(cluster: Cluster, roles: Collection[str], used: float) -> Iterator[Detection]:
    """How the daemons of a host notice that the fraction ``used`` of one of its disks is in use."""
    heartbeat = setting(cluster, HEARTBEAT)
    if "datanode" in roles and used >= 1 and (step_s := heartbeat.seconds("s")) is not None:
        yield Detection("the NameNode notices it", (heartbeat,), 0.0, step_s)
    if "nodemanager" not in roles:
        return
    event = "the NodeManager notices it"
    enabled, most = setting(cluster, DISK_CHECK), setting(cluster, MAX_DISK_UTILISATION)
    interval = setting(cluster, DISK_CHECK_INTERVAL)
    if enabled.value.lower() == "false":
        yield Detection(event, (enabled,), None, None)
    elif used < 1 and 100 * used <= _number(most.value):
        if _number(setting(cluster, LEAST_FREE).value) <= 0:  # else the size of the disk decides
            yield Detection(event, (most,), None, None)
    elif (interval_s := interval.seconds()) is not None:
        yield Detection(event, (interval,), 0.0, interval_s)


def _lost_datanode(cluster: Cluster) -> Iterator[Detection]:
    recheck, heartbeat = setting(cluster, RECHECK), setting(cluster, HEARTBEAT)
    pending = setting(cluster, PENDING)
    recheck_s, heartbeat_s = recheck.seconds(), heartbeat.seconds("s")
    if recheck_s is not None and heartbeat_s is not None:
        after_s = 2 * recheck_s + 10 * heartbeat_s
        yield Detection(
            "the NameNode notices it",
            (recheck, heartbeat),
            after_s,
            after_s + recheck_s + _HEARTBEAT_STEP_S,
            watched=True,
        )
    if (pending_s := pending.seconds("s")) is not None:
        yield Detection(
            "the NameNode repeats an order of a replica that a lost DataNode did not carry out",
            (pending,),
            pending_s,
            pending_s + min(pending_s, _PENDING_CHECK_S),
            otherwise="such blocks stay under-replicated",
            ends_with_fault=False,
            watched=True,
        )


def _lost_nodemanager(cluster: Cluster, *, containers: bool) -> Iterator[Detection]:
    node, master = setting(cluster, NODE_EXPIRY), setting(cluster, MASTER_EXPIRY)
    node_s, master_s = node.seconds(), master.seconds()
    if node_s is not None:
        yield Detection("the ResourceManager notices it", (node,), node_s, node_s * 4 / 3)
    if containers and node_s is not None:
        yield from _unfinished_tasks(cluster, node, node_s)
    # the loss of a NodeManager includes that of its containers
    if containers and master_s is not None and (node_s is None or master_s < node_s):
        yield Detection(
            "the ResourceManager notices the loss of an application master there",
            (master,),
            master_s,
            master_s * 4 / 3,
        )


def _unfinished_tasks(cluster: Cluster, node: Setting, node_s: float) -> Iterator[Detection]:
    connect = setting(cluster, NODE_CONNECT)
    event = "the application master repeats the unfinished tasks of that host"
    otherwise = "they are not repeated"
    connect_s = connect.seconds()
    if connect.value.strip() == "-1":  # it waits for ever
        yield Detection(event, (connect,), None, None, otherwise, follows=True)
    elif connect_s is not None:
        yield Detection(
            event,
            (node, connect),
            node_s + connect_s,
            node_s * 4 / 3 + connect_s,
            otherwise,
            # it can stop them as soon as it reaches the NodeManager again
            ends_with_fault=False,
            follows=True,
        )


@dataclass(frozen=True)
class Window:
    """The time of a trial in which a fault can be noticed; all times in seconds.

    Parameters
    ----------
    limit_s:
        The limit of the trial.
    after_s:
        The time of the fault, from the start of its phase; 0 if it depends on progress.
    lasts_s:
        The duration of the fault; None if it lasts to the end of the trial.
    watch_s:
        The time for which the trial waits for full replication after its last phase.
    restarts:
        Whether the end of the fault restarts daemons, which then register again.
    """

    limit_s: float
    after_s: float = 0.0
    lasts_s: float | None = None
    watch_s: float = 0.0
    restarts: bool = False

    def notes(self, detections: Collection[Detection]) -> Iterator[str]:
        """The events that cannot be noticed in that time, each with its settings and a remedy."""
        if self.after_s >= self.limit_s:
            yield (
                f"it is injected {_seconds(self.after_s)} into its phase, but the limit of the "
                f"trial is {_seconds(self.limit_s)}, so it is never injected: raise "
                "protocol.trial_time_limit or reduce 'after'"
            )
            return
        before = ""
        for detection in detections:
            found = self._note(detection)
            if found and not (detection.follows and before):
                yield found
            before = found

    def _note(self, detection: Detection) -> str:
        if detection.after_s is None or detection.at_most_s is None:
            return (
                f"{detection.never()}: {detection.otherwise}. {detection.basis()}. Change this "
                "setting or the fault"
            )
        left_s = self.limit_s - self.after_s + (self.watch_s if detection.watched else 0.0)
        lasts_s = self.lasts_s if detection.ends_with_fault else None
        ends = lasts_s is not None and lasts_s <= left_s
        window_s = left_s if lasts_s is None else min(left_s, lasts_s)
        if detection.at_most_s <= window_s:
            return ""
        surely = detection.after_s >= window_s
        if ends:
            until = "until a daemon registers again, " if self.restarts else ""
            said = f"ends after {_seconds(window_s)}, " + (
                f"but {detection.event} only after {_seconds(detection.after_s)}: "
                f"{until}{detection.otherwise}"
                if surely
                else f"but {detection.event} {detection.when()}: possibly {detection.otherwise}"
            )
            remedy = "Reduce this time by its settings, or set a longer 'lasts'"
        else:
            late = f"after {_seconds(detection.after_s)}" if surely else detection.when()
            said = (
                f"{detection.event} {late}, but the limit of the trial is "
                f"{_seconds(self.limit_s)}: {'' if surely else 'possibly '}{detection.otherwise}"
            )
            remedy = "Reduce this time by its settings, or raise protocol.trial_time_limit"
        return f"{said}. {detection.basis()}. {remedy}"


def _seconds(value: float) -> str:
    """Always in seconds, so that the times of a sentence can be compared."""
    return f"{round(value, 1):.12g} s"


def _number(text: str) -> float:
    """A percentage as a number; 100, which is Hadoop's maximum, if it is none."""
    try:
        return float(text)
    except ValueError:
        return 100.0
