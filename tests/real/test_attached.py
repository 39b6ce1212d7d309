"""The testbed ``attached`` on a cluster that it knows only by its configuration folder.

The cluster is that of the other tests. The studies run in processes of their own, inside its
network, as another user than the one of its daemons.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.real.conftest import LIMIT_S, by_hand, java_of_the_older_line, wait_for
from tests.support import bmc, openssh, prometheus_server, webserver
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.bottleneck.utilisation import host_uses
from windtunnel.analysis.cost.energy import energy, with_energy
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.engines.hadoop import releases
from windtunnel.hosts.leftovers import entering
from windtunnel.hosts.supervisor import python_path
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Trial
from windtunnel.testbeds.local import LocalDeployment

USER = "guest"
TINY = """\
study: attached
cluster: local-3
testbed:
  kind: attached
  conf: conf
  hosts_file: hosts
  user: guest
  containers: 4{more}
  limits: {{interval: 1 s, pending_for: 2 s, free_space: 0 %, patience: 2 min}}
set:
  hosts.worker.count: 2
  settings.mapreduce.job.ubertask.enable: {uber}
  storage.policy: HOT
workloads:
  {workload}
protocol: {{rounds: 1, seed: 7, trial_time_limit: 5 min, extra_rounds: 0}}
"""
SORT = "terasort: {rows: 20000, maps: 1, input_replication: 1, output_replication: 1}"
LONG = "pi: {maps: 40, samples_per_map: 300000000}"


@dataclass
class Attached:
    """A folder of a user with the configuration of a cluster, and nothing else of it."""

    deployment: LocalDeployment
    folder: Path

    def command(self, *words: str) -> list[str]:
        here = [sys.executable, "-m", "windtunnel", *words]
        return entering(self.deployment.registration.folder, "network", here)

    def env(self) -> dict[str, str]:
        mine = {
            "WINDTUNNEL_STATE": str(self.folder / "state"),
            "WINDTUNNEL_ALLOWED": str(self.folder / "allowed.json"),
            "PYTHONPATH": python_path(),
        }
        return os.environ | mine

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def study(self, workload: str, *, uber: bool, more: str = "") -> str:
        """The name of a study file with one workload, and with more options of the testbed."""
        text = TINY.format(workload=workload, uber=str(uber).lower(), more=more)
        name = f"{workload.partition(':')[0]}.yaml"
        (self.folder / name).write_text(text)
        return name

    def left(self) -> list[str]:
        """What is on the cluster of the user: files, and unfinished applications."""
        files, home = self.deployment.files, f"/user/{USER}"
        stored = [*files.folders(home), *(file.path for file in files.list_files(home))]
        return [*stored, *(app["id"] for app in self.unfinished() if app["user"] == USER)]

    def unfinished(self) -> list[dict[str, Any]]:
        """The applications of all users that have not finished."""
        running = self.deployment.daemons.masters._json(
            "resourcemanager",
            "/ws/v1/cluster/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING",
        )
        return list((running.get("apps") or {}).get("app", []))


@pytest.fixture(scope="module")
def attached(
    deployment: LocalDeployment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Attached]:
    """The user has what an administrator gives: a home folder, and access to ``/tmp``."""
    folder = tmp_path_factory.mktemp("attached")
    shutil.copytree(deployment.daemons.client_conf, folder / "conf")
    shutil.copy(deployment.hosts_file, folder / "hosts")
    history = "/tmp/hadoop-yarn/staging/history"
    files = deployment.files
    for made in (f"/user/{USER}", history):
        files.make_folder(made)
    files._request("PUT", f"/user/{USER}", op="SETOWNER", owner=USER)
    above = [history, *(str(p) for p in Path(history).parents if len(p.parts) > 2)]
    for place, mode in {"/tmp": "1777", **dict.fromkeys(above, "755")}.items():
        files._request("PUT", place, op="SETPERMISSION", permission=mode)
    yield Attached(deployment, folder)


def test_nothing_starts_without_an_entry_in_the_allow_list(attached: Attached) -> None:
    refused = attached("run", attached.study(SORT, uber=True), "--results", "refused")

    assert refused.returncode == 13, refused.stderr
    assert not (attached.folder / "refused").exists()
    assert attached.left() == []
    found = re.search(r"windtunnel allow (CID-\S+)", refused.stderr)
    assert found is not None
    limits = ("--space", "16 GiB", "--containers", "4", "--until", "2099-12-31")
    allowed = attached("allow", found[1], *limits)
    assert allowed.returncode == 0, allowed.stderr


@pytest.fixture
def prometheus(attached: Attached) -> Iterator[str]:
    """The options for a Prometheus server with a node exporter on each host; else none."""
    if prometheus_server.missing():
        yield ""
        return
    with prometheus_server.running(attached.deployment, attached.folder) as url:
        yield f"\n  prometheus: {{url: '{url}'}}"


@pytest.fixture
def power(attached: Attached) -> Iterator[str]:
    """The options for controllers that report 100 W, by an emulator of Redfish for each host."""
    certificate = webserver.certificate(attached.folder, "localhost")
    password = attached.folder / "bmc-password"
    password.write_text(bmc.PASSWORD)
    bmc.write_chassis(attached.folder / "redfish", {"1": bmc.power(100.0)})
    hosts = [host.name for host in attached.deployment.hosts if host.name != "client"]
    with contextlib.ExitStack() as stack:
        folder = attached.folder / "redfish"
        urls = [
            stack.enter_context(bmc.redfish(folder, certificate, attached.deployment))
            for _ in hosts
        ]
        options = {
            "protocol": "redfish",
            "addresses": dict(zip(hosts, urls, strict=True)),
            "user": bmc.USER,
            "password_file": str(password),
            "ca_file": str(certificate),
            "interval": "1 s",
        }
        yield f"\n  power: {json.dumps(options)}"


@pytest.fixture
def ssh(attached: Attached) -> Iterator[dict[str, str]]:
    """The options for an SSH server on each host; else none."""
    if openssh.missing():
        yield {}
        return
    with openssh.running(attached.deployment, attached.folder) as options:
        yield options


@pytest.fixture
def edge(attached: Attached, ssh: dict[str, str]) -> str:
    """The options for clients on the master by SSH, with a program of the cluster; else none."""
    if not ssh:
        return ""
    daemons = attached.deployment.daemons
    software, hosts = daemons.layout.software, daemons.hosts_file
    words = software.command("", heap_mb=256, hosts_file=hosts, classpath=[daemons.client_conf])
    start = shlex.join(words[:-2])
    program = attached.folder / "hadoop"
    program.write_text(f'#!/bin/sh\nexec {start} "{words[-2]}:$HADOOP_CLASSPATH" "$@"\n')
    program.chmod(0o755)
    login = {name: value for name, value in ssh.items() if name != "interval"}
    return f"\n  edge: {json.dumps({'host': 'master', 'hadoop': str(program), **login})}"


def test_a_study_runs_and_leaves_nothing(
    attached: Attached, prometheus: str, power: str, edge: str
) -> None:
    """Its clients run on an edge node."""
    study = attached.study(SORT, uber=True, more=prometheus + power + edge)
    done = attached("run", study, "--results", "tiny")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing of this run is left" in done.stderr
    results = read_results(attached.folder / "tiny")
    (trial,) = results.trials
    assert trial.verdict.valid, trial.verdict.reason
    assert trial.testbed == "attached"
    assert [phase.name for phase in trial.phases] == ["teragen", "terasort", "teravalidate"]
    assert {"other_containers", "hdfs_free_share"} <= trial.metrics.keys()
    facts: Any = results.provenance(trial)
    assert facts["software"]["attached"]["versions"]["namenode"].startswith("3.5")
    assert "machine" not in facts
    assert attached.left() == []
    client = f"{attached.folder / 'hadoop'} on an edge node" if edge else "Windtunnel's jars"
    assert facts["software"]["attached"]["client"] == client
    assert list(Path("/tmp").glob("windtunnel-wt-*")) == []
    written = (attached.folder / "tiny").rglob("*")
    secret = bmc.PASSWORD.encode()
    assert not [file for file in written if file.is_file() and secret in file.read_bytes()]
    assert trial.power_source == "metered: Redfish, 3 hosts"
    for phase in with_energy(results).trials[0].phases:
        joules = phase.metrics[energy("metered")].value
        assert joules == pytest.approx(3 * 100.0 * phase.elapsed_s, rel=0.01)
    if not prometheus:
        pytest.skip(f"run without samples of the hosts: {prometheus_server.missing()}")
    _check_samples(results, trial)
    busy = [use for uses in analyse(results).once(host_uses).values() for use in uses]
    cpu = [use.share for use in busy if (use.resource, use.host) == ("CPU", "worker-1")]
    assert cpu and all(share is not None and 0 < share <= 1 for share in cpu)
    assert not [flag for flag in trial.flags if "Prometheus" in flag or "no samples" in flag]


def _check_samples(results: Results, trial: Trial) -> None:
    """The facts and the samples of a trial are those of all hosts of the cluster."""
    facts: Any = results.provenance(trial)
    workers = {"worker-1", "worker-2"}
    monitored = facts["software"]["hosts"]
    assert facts["software"]["attached"]["host_samples"]["interval_s"] == 1.0
    assert {name for name, host in monitored.items() if host["worker"]} == workers
    assert all(host["cpu_threads"] == os.cpu_count() for host in monitored.values())
    samples = pq.read_table(results.samples_path(trial)).to_pylist()
    assert {row["host"] for row in samples} >= workers
    metrics = {row["metric"] for row in samples if row["host"] == "worker-1"}
    # the network of this cluster is the loopback interface, which is not counted
    assert {"cpu_idle", "cpu_iowait", "memory_used", "load_1min"} <= metrics


HAND = "yarn.nodemanager.disk-health-checker.interval-ms"
BY_HAND = f"""
factors:
  interval: {{default: {{settings.{HAND}: 120000}}, short: {{settings.{HAND}: 60000}}}}
baseline: {{interval: default}}
"""


def test_an_operator_changes_a_setting_of_daemons_during_a_study(
    attached: Attached, ssh: dict[str, str]
) -> None:
    """The hosts are sampled by SSH meanwhile. The clients are of another line than the cluster."""
    pi = "pi: {maps: 1, samples_per_map: 1000}"
    study = attached.folder / attached.study(
        pi, uber=True, more=f"\n  ssh: {json.dumps(ssh)}" if ssh else ""
    )
    text = study.read_text().replace("kind: attached", "kind: attached\n  apply: by-hand")
    line = "3.4" if java_of_the_older_line() else "3.5"
    releases.load(line)  # the network of the cluster does not reach any repository
    text = text.replace("set:\n", f"set:\n  software.hadoop: '{line}'\n")
    study.write_text(text + BY_HAND)
    stock, log = attached.deployment.cluster, attached.folder / "by-hand.log"
    with log.open("w") as output:
        runner = subprocess.Popen(
            attached.command("run", study.name, "--results", "by-hand"),
            cwd=attached.folder,
            env=attached.env(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    made: list[str] = []

    def change(cluster: Cluster) -> None:
        """What an operator does: edit the file of each NodeManager, and restart all of them."""
        daemons = attached.deployment.daemons
        daemons.layout.cluster = cluster
        daemons.write_settings()
        names = [name for name in daemons.running if name.startswith("nodemanager@")]
        daemons.wait_ready(300, fresh=daemons.restart_all(names))

    try:

        def operate() -> bool:
            wanted = re.findall(rf"set {HAND} = (\d+) in yarn-site.xml", log.read_text())
            for value in wanted[len(made) :]:
                change(apply_overrides(stock, {f"settings.{HAND}": int(value)}))
                made.append(value)
            return runner.poll() is not None

        wait_for(operate, "the end of the study", LIMIT_S)
    finally:
        runner.kill()
        runner.wait(30)
        if made:
            change(stock)

    said = log.read_text()
    assert runner.returncode == 0, said
    assert made in (["60000"], ["60000", "120000"])
    assert "2 of 2 NodeManagers have" in said
    assert ("the clients have 3.4, the cluster has 3.5" in said) == (line == "3.4")
    assert said.count("in force after") == len(made)
    results = read_results(attached.folder / "by-hand")
    assert [trial.verdict.valid for trial in results.trials] == [True, True]
    facts: Any = results.provenance(results.trials[0])
    assert facts["software"]["attached"]["changed_by_hand"] == {HAND: 2}
    assert attached.left() == []
    if not ssh:
        pytest.skip(f"run without samples of the hosts: {openssh.missing()}")
    assert facts["software"]["attached"]["host_samples"]["source"] == "SSH, /proc"
    assert openssh.sessions() == []
    for trial in results.trials:
        _check_samples(results, trial)
        assert not [flag for flag in trial.flags if "samples" in flag]


def test_other_tenants_come_first_and_a_killed_runner_leaves_nothing(attached: Attached) -> None:
    """The job of another user waits: the study ends its own job. Then its runner is killed."""
    study = attached.study(LONG, uber=False)
    log = attached.folder / "long.log"
    runner = _runner(attached, study, log)
    others: subprocess.Popen[bytes] | None = None
    try:
        clients = attached.folder / "long" / "logs"
        wait_for(lambda: _maps(clients) >= 1, "a job of the study", 120)
        others = _tenant(attached)
        wait_for(lambda: "abort rule" in log.read_text(), "the abort rule", 120)
        text = log.read_text()
        assert "the study ended its own job: other tenants have waited for" in text, text
        _end_tenant(attached)
        # the tenant's tasks may have ended the second attempt, too, before it submitted its job
        wait_for(lambda: _maps(clients) >= 2 or runner.poll() is not None, "the next attempt", 180)
        if runner.poll() is not None:
            before = _maps(clients)
            runner = _runner(attached, study, log, "--retry-invalid")
            wait_for(lambda: _maps(clients) > before, "an attempt of the resumed study", 180)
        runner.send_signal(signal.SIGKILL)
        runner.wait(30)
        assert attached.left() != []
    finally:
        for process in filter(None, (runner, others)):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(30)
    cleaned = attached("clean")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert attached.left() == []
    first = json.loads(
        next(iter(sorted((attached.folder / "long/trials").glob("*.json")))).read_text()
    )
    assert not first["verdict"]["valid"]
    assert first["metrics"]["other_pending_containers"]["value"] >= 1


def _runner(attached: Attached, study: str, log: Path, *more: str) -> subprocess.Popen[bytes]:
    with log.open("a") as output:
        return subprocess.Popen(
            attached.command("run", study, "--results", "long", *more),
            cwd=attached.folder,
            env=attached.env(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _maps(logs: Path) -> int:
    """The number of jobs of the study that were submitted."""
    found = logs.glob("*/clients/*-pi.log")
    return sum("Running job" in log.read_text(errors="replace") for log in found)


def _tenant(attached: Attached) -> subprocess.Popen[bytes]:
    """A job of another user that needs more containers than are free."""
    from windtunnel.engines.hadoop.client import user_process

    words = ["hadoop", "jar", "examples", "pi", "16", "1000"]
    argv, env = user_process(attached.deployment.registration, words)
    return subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _end_tenant(attached: Attached) -> None:
    """End the jobs of the other user, as an administrator would."""
    for app in attached.unfinished():
        if app["user"] != USER:
            by_hand(attached.deployment, "yarn", "application", "-kill", app["id"])
