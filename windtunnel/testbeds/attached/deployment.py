"""A deployment on an existing cluster: one folder and one tag, both removed at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import non_defaults, text_of
from windtunnel.cluster.stored_input import input_key
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.hadoop.client import JobClient
from windtunnel.engines.hadoop.transfer import Transfer
from windtunnel.engines.hadoop.webhdfs import STORED_PER_BYTE
from windtunnel.engines.web import Through
from windtunnel.errors import (
    DeploymentError,
    StudyStoppedError,
    TrialInvalidError,
    WindtunnelError,
)
from windtunnel.hosts.isolation.folders import make_private
from windtunnel.hosts.isolation.policy import Isolation
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient
from windtunnel.hosts.removal import removing
from windtunnel.inspection.queues import LeafQueues
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric
from windtunnel.results.sample import Recording
from windtunnel.testbeds.attached.access import ClusterAccess
from windtunnel.testbeds.attached.allowance import Need, check_allowed
from windtunnel.testbeds.attached.by_hand import ByHand
from windtunnel.testbeds.attached.client import EdgeHost
from windtunnel.testbeds.attached.clocks import clock_notes
from windtunnel.testbeds.attached.guard import ElsewhereRule, Guard, others_log
from windtunnel.testbeds.attached.history import AttachedHistory
from windtunnel.testbeds.attached.host_samples import HostSamples
from windtunnel.testbeds.attached.job_settings import TAGS, job_settings
from windtunnel.testbeds.attached.remains import end_and_remove
from windtunnel.testbeds.attached.status import Identity, Reading
from windtunnel.testbeds.attached.task_limits import REDUCES, task_limits
from windtunnel.testbeds.hadoop_software import Installed
from windtunnel.testbeds.hadoop_testbed import client_only

TESTBED = "attached"
_REMOVAL_LIMIT_S = 300.0  # requests, the supervisor, a client, the end of the applications


class AttachedDeployment(Deployment):
    """The part of an existing cluster that one run of a study uses.

    Parameters
    ----------
    needs:
        What the study needs on each of its queues, as the allow list permits it.
    space_bytes:
        The permitted space, which becomes the quota where that is possible.
    by_hand:
        Waits for the settings of daemons that an operator changes during the study.
    start:
        The state of the cluster at the start of the study, also if this is a later deployment.
    queues:
        The queues of the cluster.
    """

    here = False
    host_facts: Mapping[str, Any] = {}
    host_source: Mapping[str, Any] = {}
    host_samples: HostSamples | None = None

    def __init__(
        self,
        cluster: Cluster,
        access: ClusterAccess,
        installed: Installed,
        registration: Registration,
        logs: Path,
        needs: Sequence[Need],
        space_bytes: int,
        by_hand: ByHand,
        start: Reading,
        queues: LeafQueues,
    ) -> None:
        self.cluster = cluster
        self.access = access
        self.installed = installed
        self.logs = logs
        self.needs = needs
        self.space_bytes = space_bytes
        self.registration = registration
        self.id = self.registration.id
        self.identity: Identity = access.status.identity()
        self.by_hand = by_hand
        limits, containers = access.options.limits, access.options.containers
        log = others_log(logs)
        self.guard = Guard(
            limits, containers, self._read, start, self._elsewhere(queues), on_reading=log
        )

    def open(self, study: str) -> None:
        """Create the folder on the cluster, and start to watch; :meth:`close` undoes it.

        Parameters
        ----------
        study:
            The id of the study, which becomes a tag of its applications.
        """
        options, scratch = self.access.options, self.registration.scratch
        make_private(self.logs)
        self.supervisor = SupervisorClient(
            self.id,
            [scratch],
            self.registration.folder / "supervisor.log",
            Isolation("the machine's"),
        )
        host = EdgeHost("client", "127.0.0.1", scratch / "client", self.logs, self.supervisor)
        host.user = options.account
        self.hosts = [host]
        self.folder = self.access.own_folder(self.identity.namenode, host, self.id)
        self.root = self.folder.path
        self.access.client.settings = self._settings(study)
        # before the first change of the cluster: 'clean' finds everything from here
        facts = {
            "options": options.with_absolute_paths().model_dump(mode="json"),
            "hadoop": self.cluster.software.hadoop,
            "cluster_id": self.identity.cluster,
            "new_ancestor": self.folder.new_ancestor(),
        }
        self.registration.update(
            cluster=f"attached {self.identity.cluster}", supervisor=self.supervisor.pid
        )
        self.registration.update(attached=facts)
        marks = {"study": study, "cluster": self.identity.cluster}
        if self.access.client.edge is not None:
            self.access.client.edge.prepare(self.access.client.software.client_lib)
        self.folder.create(self.space_bytes, marks)
        self._set_policy()
        self.files = self.folder
        server = Through(self.access.site.history_server, self.access.web.http)
        webhdfs = self.access.webhdfs(self.identity.namenode, host)
        folders = self.access.site.history_folders
        self.history = AttachedHistory(server, webhdfs, host, folders, options.account)
        self.jobs = JobClient(self, host)
        self.transfers = Transfer(self, host, self.folder.make_folder)
        self.host_samples = self.access.host_samples()
        if self.host_samples is not None:
            self.host_facts = self.host_samples.facts()
            self.host_source = self.host_samples.source()
            self.host_samples.start()
        self.guard.start()

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables of the clients."""
        return self.access.client.env

    def command(self, main: str, args: Sequence[str]) -> list[str]:
        """Command line of a client."""
        return self.access.client.command(main, args)

    @property
    def client_folder(self) -> Path:
        """A folder on this machine, for the files that are put and got."""
        return self.hosts[0].root / "files"

    @property
    def _queue(self) -> str:
        """The permitted queue of the present treatment."""
        return self.access.options.queue_of(self.cluster.settings)

    def _elsewhere(self, queues: LeafQueues) -> ElsewhereRule:
        return lambda used: "" if queues.within(used, self._queue) else self._queue

    def _settings(self, study: str) -> dict[str, str]:
        """The properties of all clients."""
        tags = ("windtunnel", self.id, study)
        return job_settings(self.cluster, self.access, self.identity, self.root, tags)

    def run_job(
        self,
        phase: str,
        argv: Sequence[str],
        settings: Mapping[str, str],
        *,
        deadline_s: float,
    ) -> JobRun:
        """Run a main class as one timed phase; see ``engines.deployment.Deployment``."""
        written = {**self.access.client.settings, **settings}
        written.setdefault(REDUCES, self.access.site.get(REDUCES))
        both = {**settings, **task_limits(written, self.access.options.containers)}
        began = time.time()
        job_id, wall_s, output = self.jobs.run(phase, argv, both, deadline_s)
        ended = time.time()
        run = self.history.collect(phase, job_id, wall_s)
        notes = [*run.notes, *clock_notes(run.phase, began, ended)]
        return replace(run, output=output, notes=notes)

    def put(
        self,
        sources: Sequence[Path],
        folder: str,
        *,
        replication: int,
        streams: int = 1,
        deadline_s: float,
    ) -> JobRun:
        """Copy files of this machine into HDFS; see ``engines.deployment.Deployment``."""
        return self.transfers.put(sources, folder, replication, streams, deadline_s)

    def get(
        self, sources: Sequence[str], folder: Path, *, streams: int = 1, deadline_s: float
    ) -> JobRun:
        """Copy files of HDFS to this machine; see ``engines.deployment.Deployment``."""
        return self.transfers.get(sources, folder, streams, deadline_s)

    def run_on_client(
        self, name: str, argv: Sequence[str], *, deadline_s: float, reads: Sequence[Path] = ()
    ) -> str:
        """Run a program on this machine; see ``engines.deployment.Deployment``."""
        return self.transfers.run(name, argv, deadline_s, reads).text

    def engine(self, kind: type[Any]) -> Any:
        """Raise TrialInvalidError, because an engine would need daemons of its own."""
        raise TrialInvalidError(
            f"the testbed attached starts no daemons, so that {kind.name} cannot run"
        )

    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Use the settings of another treatment for the next jobs.

        :meth:`settle` waits for the settings that are changed by hand.

        Raises
        ------
        DeploymentError
            If more than settings of clients differs.
        """
        if not client_only(self._fixed(self.cluster), self._fixed(cluster)):
            raise DeploymentError("the difference requires other daemons")
        if self.cluster == cluster:
            return []
        before, self.cluster = self.cluster.storage.policy, cluster
        if before != cluster.storage.policy:
            self._set_policy()
        study = self.access.client.settings[TAGS].rpartition(",")[2]
        self.access.client.settings = self._settings(study)
        return ["job settings changed"]

    def _set_policy(self) -> None:
        """Store the files of the next trials, and their inputs, by the policy of the treatment.

        Inputs of other treatments keep theirs: a mover would otherwise move them.
        """
        policy = self.cluster.storage.policy
        self.folder.set_policy(self.trials, policy)
        if policy:
            self.folder.set_policy(f"{self.shared_inputs}/{input_key(self.cluster)}", policy)

    def _fixed(self, cluster: Cluster) -> Cluster:
        """The description without what may differ in addition to settings of clients."""
        same = self.by_hand.without(cluster)
        storage = same.storage.model_copy(update={"policy": None})
        return same.model_copy(update={"storage": storage})

    def settle(self, note: Callable[[str], None], stop_if_requested: Callable[[], None]) -> None:
        """Wait for changes by hand, then until no limit of the abort rule is exceeded.

        Raises
        ------
        StudyStoppedError
            If that takes longer than permitted, or the allowance has expired.
        """

        def renew() -> None:
            if failed := self.access.renew():
                note(f"{failed}; the last ticket is still valid")

        def between_checks() -> None:
            stop_if_requested()
            renew()

        renew()
        self.by_hand.wait(self.cluster, note, between_checks)
        try:
            for need in self.needs:
                check_allowed(need)
        except WindtunnelError as error:
            raise StudyStoppedError(error.message, remedy=error.remedy) from error
        self.guard.pause(note, stop_if_requested)
        self.guard.begin()

    def check_alive(self) -> None:
        """Raise DeploymentError if the abort rule requires that the job ends.

        Between trials, the abort rule ends nothing: :meth:`settle` waits.
        """
        if not self.supervisor.alive:
            raise DeploymentError("the supervisor of the clients has died")
        if self.guard.in_trial and (reason := self.guard.reason):
            raise DeploymentError(f"abort rule: the study ended its own job: {reason}")

    def surroundings(self) -> tuple[Mapping[str, Metric], list[str]]:
        """Activity of other tenants during the trial: metrics, and a remark if there was any.

        The trial has ended.
        """
        seen = self.guard.end()
        count = int(seen["other_applications"].value) if seen else 0
        if not count:
            return seen, []
        containers, waited = seen["other_containers"], seen["other_pending_containers"]
        return seen, [
            f"other tenants: {count} applications, {containers.value:.1f} containers on average, "
            f"at most {waited.value:.0f} pending"
        ]

    def recorded(self, since_s: float, until_s: float) -> Recording:
        """The samples of the hosts between two times, if the options have a source of them."""
        samples = self.host_samples
        return Recording() if samples is None else samples.record(since_s, until_s)

    def storage_metrics(self, folder: str) -> Mapping[str, Metric]:
        """Bytes of all replicas for each byte of a trial's files."""
        length, stored = self.folder.stored(folder)
        return numbers({STORED_PER_BYTE: stored / length}) if length else {}

    def processes(self) -> Mapping[str, int]:
        """None: the daemons are on other machines."""
        return {}

    def provenance(self) -> dict[str, Any]:
        """The versions that the cluster reports, the clients, and settings other than defaults."""
        site, settings = self.access.site, dict(self.access.site.public())
        settings |= {name: text_of(value) for name, value in self.cluster.settings.items()}
        facts = self.installed.facts()
        facts.pop("daemon_jvm")
        rows = non_defaults(settings, self.identity.versions["namenode"])
        return {
            **facts,
            "attached": {
                "cluster_id": self.identity.cluster,
                "versions": self.identity.versions,
                "queue": self._queue,
                "secure": site.secure,
                "client": self._client_words(),
                "containers": self.access.options.containers,
                "quota": self.folder.quota,
                "live": self.guard.live(),
                **({"changed_by_hand": self.by_hand.confirmed} if self.by_hand.names else {}),
                **({"host_samples": self.host_source} if self.host_source else {}),
            },
            "hadoop": self.identity.versions["namenode"],
            "start": self.cluster.software.task_start,
            **({"hosts": self.host_facts} if self.host_facts else {}),
            "settings": [asdict(setting) for setting in rows],
        }

    def _client_words(self) -> str:
        options = self.access.options
        if options.edge is not None:
            return f"{options.edge.hadoop} on an edge node"
        return options.hadoop or "Windtunnel's jars"

    def close(self) -> list[str]:
        """End everything of this run on the cluster; returns what is left, in words."""
        with removing(f"jobs and files of {self.id} on the cluster", _REMOVAL_LIMIT_S):
            left: list[str] = []
            with ExitStack() as ends:  # in reverse order, each also if another one fails
                ends.callback(self.access.close)
                if self.host_samples is not None:  # a source can wait for answers of hosts
                    ends.callback(self.host_samples.close)
                ends.callback(lambda: left.extend(self._end_and_remove()))
                if hasattr(self, "supervisor"):
                    ends.callback(self.supervisor.close)
                ends.callback(self.guard.close)
            if not left:
                self.registration.forget()
        return left

    def _end_and_remove(self) -> list[str]:
        if "attached" not in self.registration.facts():
            return []
        return end_and_remove(self.access, self.registration)

    def _read(self) -> Reading:
        return self.access.status.read(self.id, time.time())
