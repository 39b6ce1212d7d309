"""A testbed without Hadoop: the real runner, journal and TeraSort run on it in milliseconds.

The mock file system keeps sizes, the mock jobs count rows and checksums as Hadoop's do, so
that ``TeraSort.verify`` has everything to look at. What goes wrong, and when, is a table::

    testbed = MockTestbed(faults={(2, "terasort"): job_fails})

makes the job of the phase ``terasort`` in the second trial fail. Trials and deployments
count from 1, in the order in which they begin.
"""

from __future__ import annotations

import hashlib
import itertools
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from windtunnel.cluster import Cluster, load_text
from windtunnel.engines.deployment import Deployment, FileStatus, JobRun
from windtunnel.engines.faults import Part
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.probes import machine
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Phase, Trial
from windtunnel.results.sample import Sample
from windtunnel.study import runner as runner_module
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import Plan, Slot, make_plan
from windtunnel.study.record import study_record
from windtunnel.study.runner import Runner
from windtunnel.testbeds.base import Judgement, Notify, Realisation
from windtunnel.testbeds.local import client_only

ROWS = 1000
NUMBERS = itertools.count(1)  # a deployment's id is never used twice
CHECKSUM = 0x1F3A9C
_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_CHECKSUM = "org.apache.hadoop.examples.terasort.TeraGen$Counters:CHECKSUM"

STUDY = """\
study: toy
cluster: local-3
workloads:
  terasort: {{rows: {rows}, input_replication: 1, output_replication: 1}}
factors:
  sort:
    small: {{}}
    large: {{settings.mapreduce.task.io.sort.mb: 256}}
baseline: {{sort: small}}
protocol: {{rounds: {rounds}, seed: {seed}, extra_rounds: {extra_rounds}, warmup: {warmup},
  retry_invalid: {retry_invalid}, trial_time_limit: 1 min}}
"""


def plan_from(text: str) -> Plan:
    """The plan of a study file's text."""
    located = load_text(text, "toy.yaml")
    return make_plan(StudyFile.model_validate(located.data), located)


def toy_plan(
    *,
    rounds: int = 2,
    seed: int = 1,
    extra_rounds: int = 0,
    warmup: int = 0,
    retry_invalid: int = 1,
) -> Plan:
    """Two treatments (``small``, ``large``) that differ in a setting of job clients."""
    return plan_from(
        STUDY.format(
            rows=ROWS,
            rounds=rounds,
            seed=seed,
            extra_rounds=extra_rounds,
            warmup=warmup,
            retry_invalid=retry_invalid,
        )
    )


class MockFiles:
    """A file system: path -> status and, for small files, content."""

    def __init__(self) -> None:
        self.statuses: dict[str, FileStatus] = {}
        self.contents: dict[str, bytes] = {}

    def put(self, path: str, length_bytes: int, replication: int, content: bytes = b"") -> None:
        """Add a file."""
        self.statuses[path] = FileStatus(path, length_bytes, replication)
        self.contents[path] = content

    def change(self, path: str, **facts: Any) -> None:
        """Change what the status of a file says."""
        self.statuses[path] = replace(self.statuses[path], **facts)

    def list_files(self, path: str) -> list[FileStatus]:
        """Files directly in a folder."""
        return [s for name, s in self.statuses.items() if name.rpartition("/")[0] == path]

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        """The first bytes of a file."""
        return self.contents[path][:limit_bytes]

    def replicas(self, path: str) -> list[list[str]]:
        """One block, with its copies on the first workers."""
        return [[f"worker-{i + 1}" for i in range(self.statuses[path].replication)]]

    def checksums(self, path: str) -> list[dict[str, Any]]:
        """All files below a folder; the checksum is that of the content."""
        return [
            {
                "path": name.removeprefix(f"{path}/"),
                "bytes": status.length_bytes,
                "replication": status.replication,
                "checksum": hashlib.md5(self.contents[name]).hexdigest(),
            }
            for name, status in self.statuses.items()
            if name.startswith(f"{path}/")
        ]

    def delete(self, path: str) -> None:
        """Remove a file or folder."""
        for name in list(self.statuses):
            if name == path or name.startswith(path + "/"):
                del self.statuses[name], self.contents[name]


class MockDeployment(Deployment):
    """A running cluster that computes nothing."""

    files: MockFiles

    def __init__(self, testbed: MockTestbed, cluster: Cluster, number: int) -> None:
        self.testbed = testbed
        self.cluster = cluster
        self.number = number
        self.id = f"wt-mock-{next(NUMBERS)}"
        self.hosts: Sequence[Any] = []
        self.files = MockFiles()
        self.dead: str | None = None

    def die(self, daemon: str = "the datanode on worker-2") -> None:
        """A daemon is killed: the next look at the daemons finds out."""
        self.dead = daemon

    def check_alive(self) -> None:
        """Raise DeploymentError if a daemon has died."""
        if self.dead:
            raise DeploymentError(f"{self.dead} has died (killed by signal 9)")

    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Job settings can be changed, everything else needs a new deployment."""
        if self.testbed.dies_when_idle:
            self.testbed.dies_when_idle = False
            self.die("the nodemanager on worker-1")
            self.check_alive()
        if not client_only(self.cluster, cluster):
            raise DeploymentError("the difference needs a new deployment")
        same = self.cluster == cluster
        self.cluster = cluster
        return [] if same else ["job settings changed"]

    def provenance(self) -> dict[str, Any]:
        """Made up."""
        return {"hadoop": "mock"}

    def processes(self) -> Mapping[str, int]:
        """No processes."""
        return {}

    def run_job(
        self, phase: str, argv: Sequence[str], settings: Mapping[str, str], *, deadline_s: float
    ) -> JobRun:
        """One job of the TeraSort family; see :func:`job_run` for its numbers."""
        self.check_alive()
        trial = self.testbed.note_job(phase, settings)
        time.sleep(self.testbed.sleep_s)
        fault = self.testbed.faults.get((trial, phase))
        counters = self._write(argv, settings)
        if fault is not None:
            fault(self, phase, argv)
        self.check_alive()
        elapsed_s = self.testbed.elapsed_s(trial, phase, self.cluster)
        return job_run(phase, elapsed_s, counters | self.testbed.counters.get((trial, phase), {}))

    def _write(self, argv: Sequence[str], settings: Mapping[str, str]) -> dict[str, int]:
        program, source, target = argv[0].rsplit(".", 1)[1], *argv[1:3]
        if program == "TeraGen":
            copies = int(settings["dfs.replication"])
            self.files.put(f"{target}/part-m-00000", int(source) * 100, copies)
            return {f"{_TASK}:MAP_OUTPUT_RECORDS": int(source), _CHECKSUM: CHECKSUM}
        rows = sum(file.length_bytes for file in self.files.list_files(source)) // 100
        if program == "TeraSort":
            copies = int(settings["mapreduce.terasort.output.replication"])
            self.files.put(f"{target}/_SUCCESS", 0, copies)
            self.files.put(f"{target}/part-r-00000", rows * 100, copies)
            return {f"{_TASK}:REDUCE_OUTPUT_RECORDS": rows}
        label = "" if program == "TeraChecksum" else "checksum\t"
        self.report(target, f"{label}{CHECKSUM:x}\n")
        return {f"{_TASK}:MAP_INPUT_RECORDS": rows}

    def report(self, folder: str, text: str) -> None:
        """Write TeraValidate's report."""
        self.files.put(f"{folder}/part-r-00000", len(text), 1, text.encode())


def job_run(phase: str, elapsed_s: float, counters: Mapping[str, int] | None = None) -> JobRun:
    """A finished job with one map task."""
    end = time.time()
    task = {
        "phase": phase,
        "task": "task_1_0001_m_000000",
        "attempt": "attempt_1_0001_m_000000_0",
        "type": "MAP",
        "status": "SUCCEEDED",
        "host": "worker-1",
        "started_at": end - elapsed_s,
        "finished_at": end,
        "shuffle_finished_at": None,
        "sort_finished_at": None,
        "locality": "NODE_LOCAL",
    }
    record = Phase(
        name=phase,
        job_id="job_1_0001",
        started_at=end - elapsed_s,
        finished_at=end,
        elapsed_s=elapsed_s,
        wall_s=elapsed_s + 1,
        metrics={"cpu_time": Metric(value=elapsed_s, unit="s")},
    )
    return JobRun(record, counters or {}, [task])


# -- what can go wrong in a job -----------------------------------------------------

Fault = Callable[[MockDeployment, str, Sequence[str]], None]


def job_fails(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
    """The job ends with an error."""
    raise TrialInvalidError(f"{phase} failed (exit code 1): a made-up reason")


def daemon_dies(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
    """A DataNode is killed while the job runs."""
    deployment.die()


def dies_afterwards(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
    """A NodeManager is killed once the trial is over."""
    deployment.testbed.dies_when_idle = True


def wrong_checksum(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
    """TeraValidate counted another checksum than TeraGen (use with ``teravalidate``)."""
    deployment.report(argv[2], "checksum\tbad\n")


def ctrl_c(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
    """The user interrupts at once."""
    raise KeyboardInterrupt


# -- the testbed --------------------------------------------------------------------


def steady(trial: int, phase: str, cluster: Cluster) -> float:
    """The same seconds for every job, apart from half a percent of made-up noise."""
    return 10 + trial % 3 * 0.05


@dataclass
class MockTestbed:
    """See the module's docstring.

    ``counters`` overrides what a job counted, ``broken_deployments`` are those that do not
    come up, ``sleep_s`` is real time per job. What happened is in ``jobs`` (trial, phase,
    settings), ``deployed`` and ``open`` (deployments that were not closed).
    """

    faults: Mapping[tuple[int, str], Fault] = field(default_factory=dict)
    counters: Mapping[tuple[int, str], dict[str, int]] = field(default_factory=dict)
    broken_deployments: Sequence[int] = ()
    elapsed_s: Callable[[int, str, Cluster], float] = steady
    sleep_s: float = 0.0
    name: str = "mock"
    breakable: frozenset[Part] = frozenset()
    jobs: list[tuple[int, str, Mapping[str, str]]] = field(default_factory=list)
    deployed: list[Cluster] = field(default_factory=list)
    open: int = 0
    dies_when_idle: bool = False
    calibration: CalibrationRecord | None = None
    readied: int = 0

    def note_job(self, phase: str, settings: Mapping[str, str]) -> int:
        """The number of the trial that a job belongs to: each begins with TeraGen."""
        last = self.jobs[-1][0] if self.jobs else 0
        trial = last + 1 if phase == "teragen" else last
        self.jobs.append((trial, phase, settings))
        return trial

    def permit_open(self) -> None:
        """Nothing can be reached here."""

    def check(self, cluster: Cluster) -> Realisation:
        """Everything is possible."""
        return Realisation()

    def ready(self, clusters: Iterable[Cluster], notify: Notify) -> CalibrationRecord | None:
        """Nothing is shaped, unless a calibration is given."""
        self.readied += 1
        return self.calibration

    starts_clusters = True

    def begin_study(self, study: str, note: Notify) -> None:
        """Nothing."""

    def judge_surroundings(self, metrics: Mapping[str, Metric]) -> Judgement:
        """No judgement: nobody else uses the cluster."""
        return Judgement()

    def judge(self, rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
        """Nothing against any trial."""
        return Judgement()

    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Nothing to fetch."""

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[MockDeployment]:
        """A new deployment, or DeploymentError where the table says so."""
        self.deployed.append(cluster)
        number = len(self.deployed)
        if number in self.broken_deployments:
            raise DeploymentError("not ready after 120 s; still missing: 1 datanodes")
        self.open += 1
        try:
            yield MockDeployment(self, cluster, number)
        finally:
            self.open -= 1


@dataclass
class Diary:
    """A listener that keeps what it is told, and may act on it."""

    trials: list[Trial] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    deployments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    began: tuple[int, int] = (0, 0)
    on_trial: Callable[[Trial], None] = lambda trial: None

    def started(self, done: int, total: int) -> None:
        """The study begins or goes on."""
        self.began = (done, total)

    def deploying(self, cluster: Cluster, why: str) -> None:
        """A cluster is being started."""
        self.deployments.append(why)

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """A trial begins."""

    def phase(self, name: str) -> None:
        """A phase begins."""
        self.phases.append(name)

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """A trial is in the journal."""
        self.trials.append(trial)
        self.counts.append((done, total))
        self.on_trial(trial)

    def note(self, text: str) -> None:
        """Something to know."""
        self.notes.append(text)


def run_study(
    folder: Path,
    plan: Plan,
    testbed: MockTestbed | None = None,
    *,
    diary: Diary | None = None,
    retry_invalid: bool = False,
) -> list[Trial]:
    """Run a plan, or go on with it; returns all trials of the folder, in their order."""
    with open_journal(folder, study_record(plan)) as journal:
        testbed = testbed or MockTestbed()
        diary = diary or Diary()
        Runner(plan, journal, testbed, diary, retry_invalid=retry_invalid).run()  # type: ignore[arg-type]
    return read_results(folder).trials


def quicken() -> tuple[Any, Any]:
    """Leave out what only takes time: the idle window, git. Returns what it replaced."""
    old = machine._IDLE_WINDOW_S, runner_module.machine_facts  # type: ignore[attr-defined]
    machine._IDLE_WINDOW_S = 0.0
    runner_module.machine_facts = lambda: {"machine": "mock"}  # type: ignore[attr-defined]
    return old


def run_in_child(folder: str, sleep_s: float) -> None:
    """A whole study (4 rounds x 2 treatments) in a process of its own, to be killed."""
    quicken()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run_study(Path(folder), toy_plan(rounds=4), MockTestbed(sleep_s=sleep_s))
