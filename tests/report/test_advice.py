"""Advice: files that correct the FAILs, and what has to be prepared before they are used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.audited import CLEAN, WORKER, audited, changed, failing, host, write
from windtunnel.audit.audit import Subject, run
from windtunnel.audit.configuration import read_configuration
from windtunnel.audit.facts import HostFacts
from windtunnel.audit.hardware import Hardware, of_facts, with_live
from windtunnel.report.advice import pairs, settled, site_text, write_advice
from windtunnel.study.file import load_study
from windtunnel.study.plan import make_plan


def test_advice_sets_each_property_with_its_reason(tmp_path: Path) -> None:
    spilling = audited(tmp_path / "s", changed(mapred={"mapreduce.task.io.sort.mb": "100"}))
    assert ("mapreduce.task.io.sort.mb", "192") in {(n, v) for n, v, _ in pairs(spilling.worst)}
    written = write_advice([spilling], tmp_path / "advice")
    names = {str(path.relative_to(tmp_path / "advice")) for path in written}
    assert {"mapred-site.xml", "secure-mode/core-site.xml"} <= names
    plan = make_plan(*load_study(str(tmp_path / "advice/study.yaml")))
    assert [one.levels for one in plan.treatments] == [
        {"job-spills": "present"},
        {"job-spills": "advised"},
    ]
    text = (tmp_path / "advice/mapred-site.xml").read_text()
    assert "job-spills" in text
    again = {name: dict(values) for name, values in CLEAN.items()}
    again["mapred-site.xml"]["mapreduce.task.io.sort.mb"] = "192"
    assert failing(audited(tmp_path / "again", again), "hadoop") == set()


_MEMORY = ("nodemanager.resource.memory-mb", "scheduler.maximum-allocation-mb")


@pytest.mark.parametrize("dashes", ["-", "--", "---", "----", "--- ---", "-----"])
def test_dashes_in_reasons_are_valid_in_comments(dashes: str) -> None:
    text = site_text({"a": ("1", f"is {dashes}")})
    assert text.count("<!--") == text.count("-->") == 2
    assert ElementTree.fromstring(text).findtext("property/value") == "1"


def test_advice_is_repeated_until_it_fits_together(tmp_path: Path) -> None:
    small = {f"yarn.{name}": "8192" for name in _MEMORY}
    files = changed(yarn=dict(small))
    conf = read_configuration(write(tmp_path / "c", files), "3.5.0")
    subject = Subject(confs=[conf], hardware=WORKER)
    made = settled(subject, run(subject))
    assert failing(made[0], "hadoop")
    assert failing(made[-1], "hadoop") == set()


def test_advice_about_jobs_follows_from_what_yarn_will_offer(tmp_path: Path) -> None:
    """With 8 GB a host, 160 reduce tasks are many waves; with all memory, less than one."""
    small = {f"yarn.{name}": "8192" for name in _MEMORY}
    conf = read_configuration(write(tmp_path / "c", changed(yarn=dict(small))), "3.5.0")
    subject = Subject(confs=[conf], hardware=WORKER)
    made = run(subject)
    assert ("job-reduces", "mapreduce.job.reduces") in failing(made)
    write_advice(settled(subject, made), tmp_path / "advice")
    written = "".join(p.read_text() for p in (tmp_path / "advice").glob("*.xml"))
    assert "yarn.nodemanager.resource.memory-mb" in written
    assert "mapreduce.job.reduces" not in written


def test_settings_that_need_something_first_are_not_merged_with_the_rest(tmp_path: Path) -> None:
    """With these alone, DataNodes and NodeManagers do not start."""
    made = audited(tmp_path / "c", changed(hdfs={"dfs.client.read.shortcircuit": "false"}))
    folder = tmp_path / "advice"
    write_advice([made], folder)
    files = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*.xml")}
    for name, text, needs in (
        ("hdfs-site.xml", "dfs.client.read.shortcircuit", "Needs libhadoop"),
        ("yarn-site.xml", "container-executor.class", "Needs the program container-executor"),
        ("mapred-site.xml", "mapreduce.shuffle.ssl.enabled", "Needs ssl-server.xml"),
    ):
        with_it = {file for file, content in files.items() if text in content}
        assert with_it == {f"with-preparation/{name}"}
        assert needs in files[f"with-preparation/{name}"]


def test_a_heap_is_advised_as_a_whole_value_unless_it_has_a_secret(tmp_path: Path) -> None:
    opts = "mapreduce.map.java.opts"
    for value, advised in (
        ("-Xmx300m -XX:+UseSerialGC", "-Xmx1229m -XX:+UseSerialGC"),
        ("-Xmx300m -Dstore.password=PLANTED", None),
        ("-Xmx300m -Dunusual.name=PLANTED", None),
    ):
        made = audited(tmp_path / "c", changed(mapred={opts: value}))
        assert {n: v for n, v, _ in pairs(made.worst)}.get(opts) == advised
        assert "PLANTED" not in str(made.plain())


@pytest.mark.parametrize(
    ("threads", "name"),
    [(32, "mapreduce.map.memory.mb"), (4, "yarn.scheduler.capacity.resource-calculator")],
)
def test_few_cores_are_counted_instead_of_enlarging_containers(
    threads: int, name: str, tmp_path: Path
) -> None:
    files = changed(
        mapred={"mapreduce.map.memory.mb": "512", "mapreduce.map.java.opts": "-Xmx410m"}
    )
    made = audited(tmp_path / "c", files, replace(WORKER, cores=threads / 2, threads=threads))
    assert name in {n for n, _, one in pairs(made.worst) if one.check == "containers-at-once"}


def test_only_hosts_with_workers_daemons_are_workers() -> None:
    def machine(name: str, threads: int, *mains: str) -> HostFacts:
        jvms = [{"main": f"org.apache.hadoop.{main}"} for main in mains]
        return host(name, cpu={"threads": threads}, jvms=jvms)

    hosts = [
        machine("master", 4, "hdfs.server.namenode.NameNode"),
        machine("worker-1", 32, "DataNode", "NodeManager"),
        machine("worker-2", 48, "DataNode", "NodeManager"),
        machine("store", 16, "DataNode"),
    ]
    found = of_facts(hosts)
    assert (found.workers, found.threads, found.mixed) == (2, 16, True)
    assert found.datanodes is None, "these may not be all"
    assert of_facts(hosts[:1]).workers is None
    hidden = host("hidden", cpu={"threads": 8}, jvms=PermissionError("denied"))
    found = of_facts([*hosts, hidden])
    assert (found.workers, found.threads) == (3, 8), "a host that may be a worker"


def test_the_counts_of_a_live_cluster_replace_those_of_the_facts(tmp_path: Path) -> None:
    collected = of_facts([host("master", cpu={"threads": 8}), host("worker", cpu={"threads": 8})])
    assert collected.workers == 2
    found = with_live(collected, Hardware(workers=1, datanodes=1))
    assert (found.workers, found.datanodes, found.threads) == (1, 1, 8)
    one = changed(hdfs={"dfs.replication": "1"})
    assert ("hdfs-replicas", "dfs.replication") not in failing(audited(tmp_path / "c", one, found))
