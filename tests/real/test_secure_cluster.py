"""A secure cluster that Windtunnel did not start: Kerberos, TLS, SPNEGO; only its files known."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import wait_for
from tests.support import secure_cluster as support
from tests.support.secure_cluster import SecureCluster
from windtunnel.analysis.analyse import analyse
from windtunnel.cluster.loading import load_cluster
from windtunnel.report.sections import headline
from windtunnel.results.folder import read_results


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    if why := support.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("secure")
    with support.secure_cluster(folder) as running:
        yield running


def access(cluster: SecureCluster) -> list[str]:
    return ["--ca-file", str(cluster.ca_file), "--keytab", str(cluster.keytab)]


def planted_in(texts: list[str]) -> list[str]:
    return [secret for secret in support.SECRETS for text in texts if secret in text]


def test_the_description_is_the_truth(cluster: SecureCluster) -> None:
    words = ["inspect", str(cluster.conf), *access(cluster), "--output", "secure.yaml"]
    done = cluster.client(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    file = cluster.folder / "secure.yaml"
    made = load_cluster(file)
    assert {name: (host.count, host.roles) for name, host in made.hosts.items()} == {
        "master": (1, ("namenode", "resourcemanager", "historyserver")),
        "worker": (1, ("datanode", "nodemanager")),
    }
    cores = len(os.sched_getaffinity(0))
    for host in made.hosts.values():
        assert host.cpu is not None and host.cpu.threads == cores
        assert host.memory is not None
    assert made.hosts["worker"].disks is not None and len(made.hosts["worker"].disks) == 1
    assert made.software.hadoop == "3.5.0"
    assert (made.storage.replication, int(made.storage.block_size or 0)) == (1, 64 << 20)
    assert made.settings["io.file.buffer.size"] == "65536"
    assert made.settings["yarn.nodemanager.resource.memory-mb"] == "4096"
    assert not [name for name in made.settings if "principal" in name or "address" in name]
    sources = json.loads((cluster.folder / "secure.sources.json").read_text())
    assert {queue["name"] for queue in sources["queues"]} >= {"root.default", "root.etl"}
    assert sources["unread"] == []
    texts = [file.read_text(), json.dumps(sources), done.stdout, done.stderr]
    assert planted_in(texts) == []


STUDY = """
study: copies
cluster: secure.yaml
testbed:
  kind: attached
  conf: {conf}
  principal: ann
  keytab: {keytab}
  krb5_conf: {krb5}
  ca_file: {ca_file}
  containers: 4
  limits: {{free_space: 1 %}}
set: {{settings.mapreduce.task.io.sort.mb: 64}}
workloads:
  transfer: {{size: 2 MB, files: 1, replication: 1}}
  terasort: {{size: 2 MB, maps: 2, reduces: 1, input_replication: 1, output_replication: 1}}
protocol: {{rounds: 1, extra_rounds: 0}}
"""


def test_a_study_runs_with_tickets_of_a_keytab(
    cluster: SecureCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the written description to verified trials."""
    monkeypatch.setenv("WINDTUNNEL_ALLOWED", str(cluster.folder / "allowed.json"))
    krb5 = cluster.realm.environment["KRB5_CONFIG"]
    text = STUDY.format(
        conf=cluster.conf, keytab=cluster.keytab, krb5=krb5, ca_file=cluster.ca_file
    )
    (cluster.folder / "study.yaml").write_text(text)
    refused = cluster.client("run", "study.yaml", "--results", "copies")
    assert refused.returncode == 13, refused.stdout + refused.stderr
    found = re.search(r"CID-[0-9a-f-]+", refused.stderr)
    assert found is not None
    limits = ["--space", "16 GiB", "--containers", "4", "--until", "2099-12-31"]
    allowed = cluster.client("allow", found[0], "--queue", "default", *limits)
    assert allowed.returncode == 0, allowed.stderr
    done = cluster.client("run", "study.yaml", "--results", "copies")
    assert done.returncode == 0, done.stdout + done.stderr
    trials = read_results(cluster.folder / "copies").trials
    assert all(trial.verdict.valid for trial in trials), [trial.verdict for trial in trials]
    phases = {trial.workload: [phase.name for phase in trial.phases] for trial in trials}
    assert phases == {
        "transfer": ["put", "get"],
        "terasort": ["teragen", "terasort", "teravalidate"],
    }
    written = [p for p in (cluster.folder / "copies").rglob("*") if p.is_file()]
    stored = [file.read_text(errors="replace") for file in written]
    assert planted_in([*stored, done.stdout, done.stderr]) == []


def test_the_history_of_its_jobs_is_imported(cluster: SecureCluster) -> None:
    """The jobs are those of the study."""
    words = ["import", "history", "--conf", str(cluster.conf), *access(cluster)]
    deadline = time.monotonic() + 120
    while True:  # the history server lists a job some time after its end
        done = cluster.client(*words, "--results", f"jobs-{time.time_ns()}")
        if "3 jobs, 0 not read" in done.stdout or time.monotonic() > deadline:
            break
        time.sleep(1)
    assert done.returncode == 0 and "3 jobs, 0 not read" in done.stdout, done.stdout + done.stderr
    (folder, *_) = sorted(cluster.folder.glob("jobs-*"), reverse=True)
    results = read_results(folder)
    assert [trial.verdict.valid for trial in results.trials] == [True] * 3
    first = results.trials[0]
    assert first.parameters["user"] == "ann" and first.workload.startswith("TeraGen")
    assert [trial.metrics["maps"].value for trial in results.trials] == [2, 2, 1]
    assert first.metrics["hdfs_bytes_written"].value == 2_000_000
    settings = [dict(results.provenance(trial)["settings"]) for trial in results.trials]  # type: ignore[call-overload]
    assert [one["mapreduce.job.reduces"] for one in settings] == ["0", "1", "1"]
    assert [one["mapreduce.task.io.sort.mb"] for one in settings] == ["64"] * 3
    assert headline(analyse(results))
    stored = [file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()]
    assert planted_in([*stored, done.stdout, done.stderr]) == []

    url = "https://master.wt:9871/webhdfs/v1/history/done"
    keytab = ["--keytab", f"{cluster.folder}/master.keytab", "--principal", "mapred/master.wt"]
    trust = ["--ca-file", str(cluster.ca_file)]
    deadline = time.monotonic() + 120
    while True:  # the history server moves files some time after the end of a job
        name = f"files-{time.time_ns()}"
        done = cluster.client("import", "history", url, *keytab, *trust, "--results", name)
        if "3 jobs, 0 not read" in done.stdout or time.monotonic() > deadline:
            break
        time.sleep(1)
    assert done.returncode == 0, done.stdout + done.stderr
    by_file = read_results(cluster.folder / name).trials
    assert [t.parameters["job"] for t in by_file] == [t.parameters["job"] for t in results.trials]
    for a, b in zip(by_file, results.trials, strict=True):
        assert a.phases[-1].finished_at == b.phases[-1].finished_at
        assert a.metrics["cpu_time"] == b.metrics["cpu_time"]


def test_a_cut_network_leaves_only_what_clean_removes(
    cluster: SecureCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client loses the cluster while its job runs; the job goes on without it."""
    monkeypatch.setenv("WINDTUNNEL_ALLOWED", str(cluster.folder / "allowed.json"))
    text = (cluster.folder / "study.yaml").read_text()
    work = "workloads:\n  pi: {maps: 1, samples_per_map: 1000}\n"
    text = re.sub(r"workloads:\n(  .*\n)+", work, text)
    # the map needs all memory of the NodeManager, so that it waits for ever and computes nothing
    text = text.replace("set: {", "set: {settings.mapreduce.map.memory.mb: 4096, ")
    text = text.replace("extra_rounds: 0}", "extra_rounds: 0, retry_invalid: 0}")
    (cluster.folder / "cut.yaml").write_text(text)
    log = cluster.folder / "cut.log"
    with log.open("w") as output:
        runner = cluster.start("run", "cut.yaml", "--results", "cut", output=output)
    try:
        logs = cluster.folder / "cut" / "logs"
        wait_for(lambda: _running(logs), "a job of the study", 120)
        cluster.link("edge", up=False)
        try:
            runner.wait(240)
            unreachable = cluster.client("clean")
        finally:
            cluster.link("edge", up=True)
    finally:
        runner.kill()
        runner.wait(30)
    assert "the cluster cannot be watched" in log.read_text()
    assert "NOT removed from the cluster" in log.read_text()
    assert "nothing of this run is left" not in log.read_text()
    assert unreachable.returncode == 12, unreachable.stdout + unreachable.stderr
    assert cluster.unfinished() != []
    cleaned = cluster.client("clean")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert cluster.unfinished() == []
    assert planted_in([log.read_text(), cleaned.stdout, cleaned.stderr]) == []


def _running(logs: Path) -> bool:
    found = logs.glob("*/clients/*-pi.log")
    return any("Running job" in log.read_text(errors="replace") for log in found)


def test_its_audit_is_better_than_that_of_a_default_configuration(cluster: SecureCluster) -> None:
    """With the facts of both hosts, requests to their ports, and the settings in force."""
    plain = cluster.folder / "plain"
    plain.mkdir()
    (plain / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name>"
        "<value>hdfs://master.wt:8020</value></property></configuration>"
    )
    facts = []
    for host in ("master", "worker"):
        facts.append(f"{cluster.folder}/{host}-facts.json")
        collect = [sys.executable, "-m", "windtunnel", "audit", "collect", "--out", facts[-1]]
        cluster.run(host, *collect)
    probes = ["--probe", "master.wt", "--probe", "worker.wt"]
    before = cluster.client("audit", str(plain), *facts, "--hadoop", "3.5", "--json")
    assert before.returncode == 0, before.stderr
    (cluster.folder / "before.json").write_text(before.stdout)
    words = ["audit", str(cluster.conf), *facts, *probes, "--compare", "before.json"]
    words += ["--live", *access(cluster)]
    page = cluster.folder / "audit.html"
    shown = cluster.client(*words, "--full", "--html", str(page))
    after = cluster.client(*words, "--json")

    assert after.returncode == 0, after.stderr
    made = json.loads(after.stdout)
    passed = {r["check"] for r in made["results"] if r["status"] == "PASS"}
    assert passed >= {
        "secure-authentication",
        "secure-authorization",
        "secure-rpc",
        "secure-data-transfer",
        "secure-web-authentication",
        "secure-web-hdfs",
        "probe-open",
        "setting-in-force",
    }
    tls = {(p["host"], p["port"]) for p in made["probes"] if p["answers"] and p["tls"]}
    assert tls >= {("master.wt", 9871), ("master.wt", 8090), ("worker.wt", 8044)}
    scores = {
        name: {one["area"]: one["percent"] for one in json.loads(text)["scores"]}
        for name, text in (("before", before.stdout), ("after", after.stdout))
    }
    assert scores["after"]["security"] > scores["before"]["security"]
    assert planted_in([shown.stdout, page.read_text(), before.stdout, after.stdout]) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "its certificate is not trusted"),
        (["--ca-file", "tls.crt"], "there is no Kerberos ticket"),
        (["--ca-file", "tls.crt", "--keytab", "ann.keytab", "--principal", "bob"], "keytab"),
    ],
)
def test_access_that_is_refused(words: list[str], message: str, cluster: SecureCluster) -> None:
    done = cluster.client("inspect", str(cluster.conf), *words, "--output", "none.yaml")
    assert done.returncode == 12
    assert message in done.stderr and "what to do" in done.stderr
    assert not (cluster.folder / "none.yaml").exists()
