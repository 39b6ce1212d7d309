"""The testbed ``attached``: a study on a cluster that Windtunnel did not start.

The testbed never changes a setting of a daemon, restarts or formats anything, drops a cache or
limits a host. A study that needs one of these is refused before it starts.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import ClassVar

from windtunnel.cluster import Cluster, format_bytes, format_duration
from windtunnel.cluster.settings import affects
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hadoop import releases
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.java import Java
from windtunnel.engines.progress import progress_for
from windtunnel.errors import ClusterAccessError, DeploymentError, DescriptionError
from windtunnel.hosts.leftovers import Registration
from windtunnel.inspection.queues import LeafQueues, without_root
from windtunnel.results.record import Check, Metric
from windtunnel.results.trial_metrics import OTHER_CONTAINERS
from windtunnel.testbeds.attached import by_hand, edge, host_sources
from windtunnel.testbeds.attached.access import ClusterAccess, edge_of, identify, open_access
from windtunnel.testbeds.attached.allowance import Need, check_allowed
from windtunnel.testbeds.attached.client import find_program, unknown_files
from windtunnel.testbeds.attached.deployment import TESTBED, AttachedDeployment
from windtunnel.testbeds.attached.final_settings import without_effect
from windtunnel.testbeds.attached.in_force import compared_settings, different, not_compared
from windtunnel.testbeds.attached.options import AttachedOptions, daemon_settings
from windtunnel.testbeds.attached.own_client import undefined
from windtunnel.testbeds.attached.remains import remove_earlier
from windtunnel.testbeds.attached.space import Space, space_of, written_bytes
from windtunnel.testbeds.attached.status import REQUESTS, Identity, Reading
from windtunnel.testbeds.attached.storage_policy import POLICY, storage_types
from windtunnel.testbeds.base import (
    ClusterTestbed,
    Judgement,
    Notify,
    Realisation,
    StudyRequest,
    TestbedOptions,
)
from windtunnel.testbeds.hadoop_software import Installed

_UNREACHED = (
    "hosts: this testbed does not reach the hosts of the cluster: their CPU, memory, disks and "
    "network are UNKNOWN, and the report names only bottlenecks that the task times show; "
    "if a Prometheus server monitors them, add 'prometheus: {url: ...}' to the testbed; if you can "
    "log in to them by SSH, add 'ssh: {}'"
)
_UNMETERED = (
    "power: no power meter is given, so the report cannot state the energy; add 'power' to "
    "the testbed, or import a file of a meter after the study ('windtunnel power')"
)


class AttachedTestbed(ClusterTestbed):
    """Studies on an existing cluster."""

    name: ClassVar[str] = TESTBED
    about: ClassVar[str] = "an existing cluster, by its client configuration; nothing is restarted"
    options_type = AttachedOptions
    starts_clusters = False
    fits_model = True
    no_cache_drop = "the testbed attached drops no caches on hosts of others; use 'warm'"

    def __init__(self, logs: Path, notify: Notify, options: TestbedOptions | None = None) -> None:
        if not isinstance(options, AttachedOptions):
            raise DescriptionError(
                "the testbed 'attached' requires the option 'conf', the folder with the client "
                "configuration of the cluster",
                remedy="write: testbed: {kind: attached, conf: DIR}",
                key="testbed",
            )
        self.options = options
        self.logs = logs.absolute()
        self._note: Notify = notify
        self._study = "none"
        self._software: dict[str, tuple[Software, ArtifactSet, Java]] = {}
        self._deployments = 0
        self._remains = 0
        self._identity: Identity | None = None
        self._by_hand: list[str] = []  # settings that an operator changes during the study
        self._daemons: dict[str, set[str]] = {}  # those that have to confirm each change
        self._needs: list[Need] = []  # one for each queue
        self._queues = LeafQueues()  # of the cluster
        self._start: Reading | None = None  # at the start of the study, for its abort rule
        self._space_bytes = 0

    def permit_open(self) -> None:
        """Do nothing, because no daemon is started."""

    def begin_study(self, study: str, note: Notify) -> None:
        """Keep the id of the study, the tag of its applications."""
        self._study, self._note = study, note

    def check(self, cluster: Cluster) -> Realisation:
        """Check which parts of a description this testbed does not support."""
        impossible: list[str] = []
        unrealised = [] if self.options.samples_hosts else [_UNREACHED]
        unrealised += [] if self.options.has_power else [_UNMETERED]
        if cluster.storage.kind != "hdfs":
            impossible.append(f"storage.kind: {cluster.storage.kind} is not supported here")
        if cluster.software.task_start != "stock":
            impossible.append("software.task_start: warm JVMs need NodeManagers of their own")
        try:
            releases.line_of(cluster.software.hadoop)
        except DescriptionError as error:
            impossible.append(f"software.hadoop: {error.message}")
        return Realisation(impossible, unrealised)

    def can_drop_caches(self) -> bool:
        """Never: other tenants use the caches."""
        return False

    def cache_bytes(self) -> int:
        """Infinite, because the memory is unknown: no data counts as larger than the memory."""
        return 1 << 62

    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Fetch the jars of the clients, without any change of the cluster."""
        from rich.console import Console

        version = cluster.software.hadoop
        if version not in self._software:
            progress = progress_for(Console(stderr=True))
            self._software[version] = releases.load(version, progress)

    def admit(self, request: StudyRequest) -> Realisation:
        """Check a study against the cluster and the allow list.

        Raises
        ------
        NotAllowedError
            If the allow list does not permit it.
        ClusterAccessError
            If the cluster does not answer.
        DescriptionError
            If the configuration cannot be used.
        """
        options = self.options
        for name, path in unknown_files(options).items():
            raise DescriptionError(
                f"there is no file {path}", key=f"testbed.{name}", remedy="correct the path."
            )
        if options.hadoop:
            find_program(options.hadoop)
        impossible = list(_refused(request, by_hand=options.apply is not None))
        if options.apply is not None:
            impossible += by_hand.problems(request)
            self._by_hand = list(daemon_settings(request.changes))
        with self._opened() as access:
            identity = identify(access)
            space = space_of(request, access.site, options.containers)
            self._needs = self._needed(request, identity, space)
            self._space_bytes = min(check_allowed(need).space_bytes for need in self._needs)
            impossible += self._unknown_queues(access)
            impossible += without_effect(request, access.site, options.containers)
            if options.own_jars:
                impossible += undefined(request, access.site)
            if (node := edge_of(options, "")) is not None:
                impossible += edge.refused(request)
                node.check()
            types = storage_types(request, access.status)
            impossible += types.impossible
            cluster = request.treatments[0].cluster
            in_force = list(compared_settings(access, identity, cluster, self._by_hand))
            impossible += [f"{one}; {_NO_RESTART}" for one in different(in_force)]
            unrealised = self._caveats(access, identity, cluster) + not_compared(in_force)
            unrealised += types.unrealised
            if hosts := access.host_samples():
                with closing(hosts):
                    unrealised += hosts.caveats()
            if options.apply is not None:
                unrealised += by_hand.caveats(request)
                if not impossible:
                    hand = self._changes_by_hand(access)
                    impossible += hand.unreadable(request.treatments[0].cluster)
        self._identity = identity
        return Realisation(impossible, unrealised)

    @contextmanager
    def _opened(self) -> Iterator[ClusterAccess]:
        """Access for requests, without a deployment."""
        with ExitStack() as stack:
            folder = self.logs
            if self.options.keytab:  # 'clean' removes the tickets if this process is killed
                entry = Registration.create(self.name)
                stack.callback(entry.forget)
                folder = entry.folder
            access = open_access(self.options, folder, None)
            stack.callback(access.close)
            yield access

    def _changes_by_hand(self, access: ClusterAccess) -> by_hand.ByHand:
        options = self.options
        return by_hand.ByHand(
            self._by_hand,
            access.status,
            options.apply_within,
            options.limits.interval,
            self._daemons,
        )

    def _needed(self, request: StudyRequest, identity: Identity, space: Space) -> list[Need]:
        """What the study needs on each of its queues."""
        options = self.options
        queues = dict.fromkeys(options.queue_of(one.cluster.settings) for one in request.treatments)
        return [
            Need(identity.cluster, queue, space.total, options.containers, space.words)
            for queue in queues
        ]

    def _unknown_queues(self, access: ClusterAccess) -> Iterator[str]:
        self._queues = access.status.queues()
        known = self._queues.names
        names = {without_root(one) for one in known}
        for need in self._needs:
            if known and without_root(need.queue) not in names:
                yield f"testbed.queue: there is no queue {need.queue}; {', '.join(known)}"

    def _caveats(self, access: ClusterAccess, identity: Identity, cluster: Cluster) -> list[str]:
        found = self._start = access.status.read("no tag", time.time())
        counts, versions = cluster.role_counts(), identity.versions
        notes = [f"conf: {note}" for note in access.site.conf.notes]
        for role, number in (
            ("datanode", found.datanodes),
            ("nodemanager", found.nodemanagers),
        ):
            if counts.get(role, 0) != number:
                notes.append(
                    f"hosts: {counts.get(role, 0)} hosts with the role {role} are described, and "
                    f"the cluster has {number}"
                )
        line = ".".join(versions["namenode"].split(".")[:2])
        if self.options.own_jars and line != cluster.software.hadoop[: len(line)]:
            notes.append(
                f"software.hadoop: the clients have {cluster.software.hadoop}, the cluster has "
                f"{versions['namenode']}; a difference of clients can affect times"
            )
        return notes

    def footprint(self, request: StudyRequest, expected_s: float | None) -> Sequence[str]:
        """Jobs, bytes, container-hours, paths and requests of a study."""
        options = self.options
        queues = ", ".join(need.queue for need in self._needs)
        phases = [
            (load.workload, [phase.name for phase in load.phases], load)
            for treatment in request.treatments[:1]
            for load in treatment.loads
        ]
        per_trial = ", ".join(f"{name}: {' + '.join(names)}" for name, names, _ in phases)
        longest_s = request.trials * request.trial_limit_s
        hours = options.containers * longest_s / 3600
        expected = ""
        if expected_s:
            expected = (
                f"; about {options.containers * expected_s / 3600:.3g} for the expected time, "
                f"{format_duration(round(expected_s))}"
            )
        polls = round(longest_s / options.limits.interval)
        return [
            "on the cluster:",
            f"  id {self._needs[0].cluster if self._needs else 'UNKNOWN'}, user {options.account}, "
            f"queue {queues or options.queue}",
            f"  jobs: at most {request.trials} trials, each with the phases {per_trial}",
            f"  space: at most {self._space_words()}",
            f"  bytes written: at most {format_bytes(written_bytes(request), 3)} (estimate)",
            f"  container-hours: at most {hours:.3g} ({options.containers} containers for the "
            f"time limits of all trials, {format_duration(round(longest_s))}){expected}",
            f"  paths: {options.parent}/wt-XXXXXXXX (created and removed), the job history and, if "
            "the cluster collects them, the logs of containers (kept by the cluster)",
            f"  requests: about {5 * polls} (5 every {format_duration(options.limits.interval)}, "
            "6 if some applications are not visible), and a few for each job (TeraGen: also one "
            "for each of its files, if it writes at most 200):",
            *(f"    {one}" for one in REQUESTS),
            *(f"    {one}" for one in host_sources.footprint(options)),
            *edge.footprint(options),
            "    WebHDFS below the path above; history of the study's own jobs",
            *(by_hand.footprint(request, options.apply_within) if options.apply else ()),
        ]

    def _space_words(self) -> str:
        if not self._needs:
            return "UNKNOWN"
        need = self._needs[0]  # equal for all queues
        size = format_bytes(need.space_bytes, 3)
        return f"{size} in HDFS at a time (estimate, all replicas: {need.space_words})"

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[AttachedDeployment]:
        """A folder on the cluster, ready for jobs; everything is removed at the end.

        Raises
        ------
        DeploymentError
            If the cluster does not answer, or the folder cannot be created.
        StudyStoppedError
            If what an earlier run left on the cluster cannot be removed.
        """
        assert self._needs and self._start, "a study is admitted before it is deployed"
        self.prepare(cluster)
        remove_earlier(self._needs[0].cluster, self._note)
        self._deployments += 1
        stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{self._deployments}"
        software = self._software[cluster.software.hadoop]
        registration = Registration.create(self.name)
        deployment: AttachedDeployment | None = None
        try:
            access = open_access(self.options, registration.folder, software, registration.id)
            deployment = AttachedDeployment(
                cluster,
                access,
                Installed(*software),
                registration,
                self.logs / stamp,
                self._needs,
                self._space_bytes,
                self._changes_by_hand(access),
                self._start,
                self._queues,
            )
            deployment.open(self._study)
            yield deployment
        except ClusterAccessError as error:
            raise DeploymentError(error.message, remedy=error.remedy) from error
        finally:
            left = deployment.close() if deployment is not None else []
            if deployment is None:
                registration.forget()
            self._remains += len(left)
            for one in left:
                self._note(f"NOT removed from the cluster: {one}; 'windtunnel clean' tries again")
            if deployment is not None and not self._remains:
                self._note("leftover check: nothing of this run is left on the cluster")

    def judge_surroundings(self, metrics: Mapping[str, Metric]) -> Judgement:
        """A trial is invalid if other tenants used more containers than the stated limit."""
        limit = self.options.limits.other_containers
        found = metrics.get(OTHER_CONTAINERS.name)
        if limit is None or found is None:
            return Judgement()
        got = f"other tenants had {found.value:.1f} containers on average (limit: {limit})"
        passed = found.value <= limit
        check = Check(
            name="containers of other tenants", passed=passed, expected=f"at most {limit}", got=got
        )
        return Judgement([check], thresholds={"other_containers": OTHER_CONTAINERS.of(limit)})


_NO_RESTART = "the testbed attached changes no daemons"


def _refused(request: StudyRequest, *, by_hand: bool) -> Iterator[str]:
    """The paths of the description that this testbed does not change, with the reason.

    With ``by_hand``, an operator changes settings of daemons.
    """
    for path, treatment in request.changes.items():
        name = path.removeprefix("settings.")
        if path == POLICY:
            continue
        if path == name:
            yield f"{path} (treatment {treatment}): the hosts and the software are not changed here"
        elif affects(name) != "client" and not by_hand:
            yield (
                f"{path} (treatment {treatment}): needs a restart of daemons; {_NO_RESTART}. With "
                "'apply: by-hand', the study waits until an operator has made the change"
            )
    if request.restart != "never":
        yield f"protocol.restart: {request.restart}: {_NO_RESTART}"
    if request.engines:
        yield f"workloads: need the engines {', '.join(request.engines)}; no daemons are started"
    loads = [load for one in request.treatments for load in one.loads if load.own_program]
    for name in dict.fromkeys(load.workload for load in loads):
        yield (
            f"workloads.{name}: needs a program of Windtunnel on the cluster; only Hadoop's own "
            "programs run here"
        )
