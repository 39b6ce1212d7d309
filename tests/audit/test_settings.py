"""Bad settings of Hadoop: each is found, and a clean configuration raises no alarm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.audited import (
    CLEAN,
    DISKS,
    GIB,
    WORKER,
    Files,
    audited,
    changed,
    failing,
    write,
)
from windtunnel.audit.hardware import Hardware
from windtunnel.audit.result import Status

SORT = "mapreduce.task.io.sort.mb"
MAP_MB, MAP_OPTS = "mapreduce.map.memory.mb", "mapreduce.map.java.opts"
NODE_MB = "yarn.nodemanager.resource.memory-mb"
LEAST = "yarn.scheduler.minimum-allocation-mb"
MOST = "yarn.scheduler.maximum-allocation-mb"
RACKS = replace(WORKER, racks=3)
MIXED = replace(WORKER, mixed=True)
SMALL = replace(WORKER, datanodes=2)

# name: configuration, hardware, check that fails, what it is about
CASES: dict[str, tuple[Files, Hardware, str, str]] = {
    "misspelt": (
        changed(hdfs={"dfs.replicaton": "2"}),
        WORKER,
        "setting-misspelt",
        "dfs.replicaton",
    ),
    "misspelt in yarn": (
        changed(yarn={"yarn.nodemanager.resource.memory.mb": "1"}),
        WORKER,
        "setting-misspelt",
        "yarn.nodemanager.resource.memory.mb",
    ),
    "deprecated": (
        changed(mapred={"mapred.reduce.parallel.copies": "32"}),
        WORKER,
        "setting-deprecated",
        "mapred.reduce.parallel.copies",
    ),
    "without effect": (
        changed(mapred={"mapred.tasktracker.map.tasks.maximum": "12"}),
        WORKER,
        "setting-without-effect",
        "mapred.tasktracker.map.tasks.maximum",
    ),
    "JVMs are not reused": (
        changed(mapred={"mapreduce.job.jvm.numtasks": "-1"}),
        WORKER,
        "setting-without-effect",
        "mapreduce.job.jvm.numtasks",
    ),
    "in the wrong file": (
        changed(mapred={"dfs.replication": "3"}),
        WORKER,
        "setting-wrong-file",
        "dfs.replication",
    ),
    "two values": (
        changed(core={"dfs.blocksize": "268435456"}),
        WORKER,
        "setting-twice",
        "dfs.blocksize",
    ),
    "old and new name": (
        changed(mapred={"io.sort.mb": "100"}),
        WORKER,
        "setting-twice",
        SORT,
    ),
    "variable": (
        changed(hdfs={"dfs.hosts": "${conf.dir}/hosts"}),
        WORKER,
        "setting-variable",
        "dfs.hosts",
    ),
    "no number": (
        changed(hdfs={"dfs.namenode.handler.count": "many"}),
        WORKER,
        "setting-form",
        "dfs.namenode.handler.count",
    ),
    "neither true nor false": (
        changed(mapred={"mapreduce.map.output.compress": "yes"}),
        WORKER,
        "setting-form",
        "mapreduce.map.output.compress",
    ),
    "typographic dash": (
        changed(mapred={MAP_OPTS: "\N{EN DASH}Xmx1228m"}),
        WORKER,
        "setting-form",
        MAP_OPTS,
    ),
    "heap that is no size": (
        changed(mapred={MAP_OPTS: "-Xmx1.2g"}),
        WORKER,
        "setting-form",
        MAP_OPTS,
    ),
    "suffix of two letters": (
        changed(hdfs={"dfs.blocksize": "128mb"}),
        WORKER,
        "setting-form",
        "dfs.blocksize",
    ),
    "decimals with a suffix": (
        changed(hdfs={"dfs.blocksize": "1.5g"}),
        WORKER,
        "setting-form",
        "dfs.blocksize",
    ),
    "decimals of a size": (
        changed(hdfs={"dfs.datanode.du.reserved": "1000.5"}),
        WORKER,
        "setting-form",
        "dfs.datanode.du.reserved",
    ),
    "suffix of two letters in another number": (
        changed(hdfs={"dfs.namenode.resource.du.reserved": "100mb"}),
        WORKER,
        "setting-form",
        "dfs.namenode.resource.du.reserved",
    ),
    "suffix of an integer": (
        changed(core={"io.file.buffer.size": "64k"}),
        WORKER,
        "setting-form",
        "io.file.buffer.size",
    ),
    "suffix of an integer with its old name": (
        changed(mapred={"io.sort.mb": "256m", SORT: None}),
        WORKER,
        "setting-form",
        "io.sort.mb",
    ),
    "unit in MiB": (changed(yarn={NODE_MB: "52g"}), WORKER, "setting-form", NODE_MB),
    "port": (
        changed(yarn={"yarn.resourcemanager.webapp.address": "master:80880"}),
        WORKER,
        "setting-form",
        "yarn.resourcemanager.webapp.address",
    ),
    "no replica": (
        changed(hdfs={"dfs.replication": "0"}),
        WORKER,
        "setting-impossible",
        "dfs.replication",
    ),
    "sort buffer above 2047": (changed(mapred={SORT: "4096"}), WORKER, "setting-impossible", SORT),
    "spill above 1": (
        changed(mapred={"mapreduce.map.sort.spill.percent": "80"}),
        WORKER,
        "setting-impossible",
        "mapreduce.map.sort.spill.percent",
    ),
    "slow start above 1": (
        changed(mapred={"mapreduce.job.reduce.slowstart.completedmaps": "95"}),
        WORKER,
        "setting-impossible",
        "mapreduce.job.reduce.slowstart.completedmaps",
    ),
    "block and checksum": (
        changed(hdfs={"dfs.blocksize": "134217700"}),
        WORKER,
        "setting-units",
        "dfs.blocksize",
    ),
    "codec that does not exist": (
        changed(
            mapred={"mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.Snapy"}
        ),
        WORKER,
        "setting-codec",
        "mapreduce.map.output.compress.codec",
    ),
    "codec without switch": (
        changed(mapred={"mapreduce.map.output.compress": "false"}),
        WORKER,
        "setting-codec",
        "mapreduce.map.output.compress",
    ),
    "not compressed": (
        changed(
            mapred={
                "mapreduce.map.output.compress": None,
                "mapreduce.map.output.compress.codec": None,
            }
        ),
        WORKER,
        "job-compression",
        "mapreduce.map.output.compress",
    ),
    "least above greatest": (
        changed(yarn={LEAST: "65536"}),
        WORKER,
        "containers-bounds",
        LEAST,
    ),
    "greatest above node": (changed(yarn={MOST: "98304"}), WORKER, "containers-bounds", MOST),
    "task above greatest": (
        changed(mapred={"mapreduce.reduce.memory.mb": "60000"}),
        WORKER,
        "containers-bounds",
        "mapreduce.reduce.memory.mb",
    ),
    "rounded up": (changed(yarn={LEAST: "4096"}), WORKER, "containers-rounding", MAP_MB),
    "heap above container": (
        changed(mapred={MAP_OPTS: "-Xmx2g"}),
        WORKER,
        "containers-heap",
        MAP_OPTS,
    ),
    "heap half of container": (
        changed(mapred={"mapreduce.reduce.java.opts": "-Xmx800m"}),
        WORKER,
        "containers-heap",
        "mapreduce.reduce.java.opts",
    ),
    "more memory than there is": (
        changed(yarn={NODE_MB: "155648", MOST: "155648"}),
        WORKER,
        "containers-node-memory",
        NODE_MB,
    ),
    "memory never used": (
        changed(yarn={NODE_MB: "8192", MOST: "8192"}),
        WORKER,
        "containers-node-memory-unused",
        NODE_MB,
    ),
    "more cores than there are": (
        changed(yarn={"yarn.nodemanager.resource.cpu-vcores": "128"}),
        WORKER,
        "containers-node-cores",
        "yarn.nodemanager.resource.cpu-vcores",
    ),
    "tasks for each thread": (
        changed(mapred={MAP_MB: "512", MAP_OPTS: "-Xmx400m"}),
        WORKER,
        "containers-at-once",
        "map tasks",
    ),
    "sort buffer above heap": (changed(mapred={SORT: "1300"}), WORKER, "job-sort-buffer", SORT),
    "spills": (changed(mapred={SORT: "100"}), WORKER, "job-spills", SORT),
    "streams": (
        changed(mapred={"mapreduce.task.io.sort.factor": "1000"}),
        WORKER,
        "job-merges",
        "mapreduce.task.io.sort.factor",
    ),
    "one reduce task": (
        changed(mapred={"mapreduce.job.reduces": "1"}),
        WORKER,
        "job-reduces",
        "mapreduce.job.reduces",
    ),
    "second wave": (
        changed(mapred={"mapreduce.job.reduces": "180"}),
        WORKER,
        "job-reduces",
        "mapreduce.job.reduces",
    ),
    "many waves": (
        changed(mapred={"mapreduce.job.reduces": "1000"}),
        WORKER,
        "job-reduces",
        "mapreduce.job.reduces",
    ),
    "early reduce tasks": (
        changed(mapred={"mapreduce.job.reduce.slowstart.completedmaps": "0.05"}),
        WORKER,
        "job-slow-start",
        "mapreduce.job.reduce.slowstart.completedmaps",
    ),
    "mixed hosts": (
        changed(mapred={"mapreduce.map.speculative": "false"}),
        MIXED,
        "job-speculation",
        "mapreduce.map.speculative",
    ),
    "jobs in one process": (
        changed(mapred={"mapreduce.framework.name": "local"}),
        WORKER,
        "job-framework",
        "mapreduce.framework.name",
    ),
    "no shuffle": (
        changed(yarn={"yarn.nodemanager.aux-services": None}),
        WORKER,
        "job-framework",
        "yarn.nodemanager.aux-services",
    ),
    "fractions of the shuffle": (
        changed(mapred={"mapreduce.reduce.shuffle.memory.limit.percent": "0.9"}),
        WORKER,
        "job-shuffle-memory",
        "mapreduce.reduce.shuffle.memory.limit.percent",
    ),
    "too few DataNodes": (
        changed(hdfs={"dfs.replication": "3"}),
        SMALL,
        "hdfs-replicas",
        "dfs.replication",
    ),
    "one replica": (changed(hdfs={"dfs.replication": "1"}), WORKER, "hdfs-replicas", ""),
    "tiny blocks": (
        changed(hdfs={"dfs.blocksize": "4194304"}),
        WORKER,
        "hdfs-block-size",
        "dfs.blocksize",
    ),
    "handlers": (
        changed(hdfs={"dfs.namenode.handler.count": None}),
        WORKER,
        "hdfs-handlers",
        "",
    ),
    "socket without path": (
        changed(hdfs={"dfs.domain.socket.path": None}),
        WORKER,
        "hdfs-short-circuit",
        "dfs.client.read.shortcircuit",
    ),
    "a disk twice": (
        changed(hdfs={"dfs.datanode.data.dir": f"{DISKS},/data/1/hdfs"}),
        WORKER,
        "hdfs-disks",
        "dfs.datanode.data.dir",
    ),
    "a disk too few": (
        changed(hdfs={"dfs.datanode.data.dir": DISKS.rpartition(",")[0]}),
        WORKER,
        "hdfs-disks",
        "dfs.datanode.data.dir",
    ),
    "every volume may fail": (
        changed(hdfs={"dfs.datanode.failed.volumes.tolerated": "4"}),
        WORKER,
        "hdfs-failed-volumes",
        "dfs.datanode.failed.volumes.tolerated",
    ),
    "below /tmp": (
        changed(hdfs={"dfs.namenode.name.dir": None}),
        WORKER,
        "hdfs-lasting",
        "dfs.namenode.name.dir",
    ),
    "metadata once": (
        changed(hdfs={"dfs.namenode.name.dir": "/meta/1/name"}),
        WORKER,
        "hdfs-metadata",
        "dfs.namenode.name.dir",
    ),
    "racks": (CLEAN, RACKS, "hdfs-topology", ""),
    "failover": (
        changed(hdfs={"dfs.ha.automatic-failover.enabled": "true"}),
        WORKER,
        "hdfs-high-availability",
        "dfs.ha.automatic-failover.enabled",
    ),
    "failover of one name service": (
        changed(hdfs={"dfs.nameservices": "a", "dfs.ha.automatic-failover.enabled.a": "true"}),
        WORKER,
        "hdfs-high-availability",
        "dfs.ha.automatic-failover.enabled.a",
    ),
    "name service": (
        changed(hdfs={"dfs.nameservices": "big", "dfs.ha.namenodes.big": "nn1,nn2"}),
        WORKER,
        "hdfs-high-availability",
        "big",
    ),
    "address": (
        changed(hdfs={"dfs.namenode.rpc-address": "master:9000"}),
        WORKER,
        "hdfs-addresses",
        "fs.defaultFS",
    ),
    "trash": (changed(core={"fs.trash.interval": "0"}), WORKER, "hdfs-trash", "fs.trash.interval"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_setting_is_found(name: str, tmp_path: Path) -> None:
    files, hardware, check, about = CASES[name]
    audit = audited(tmp_path / "conf", files, hardware)
    found = failing(audit, "hadoop")
    assert any(check == one and about in ("", what) for one, what in found), found
    result = next(r for r in audit.worst if r.check == check)
    assert result.remedy
    assert result.reason
    assert result.source


def test_there_are_at_least_25_cases() -> None:
    assert len(CASES) >= 25


def test_a_clean_configuration_raises_no_alarm(tmp_path: Path) -> None:
    assert failing(audited(tmp_path / "conf", CLEAN), "hadoop") == set()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dfs.blocksize", "128M"),
        ("dfs.blocksize", "134217728"),
        ("dfs.datanode.balance.bandwidthPerSec", "1G"),
        ("dfs.client-write-packet-size", "0x10000"),
    ],
)
def test_sizes_that_hadoop_reads_raise_no_alarm(name: str, value: str, tmp_path: Path) -> None:
    audit = audited(tmp_path / "conf", changed(hdfs={name: value}))
    assert failing(audit, "hadoop") == set()


def test_an_empty_configuration_raises_no_alarm(tmp_path: Path) -> None:
    audit = audited(tmp_path / "conf", {})
    assert failing(audit) == set()
    statuses = {result.check: result.status for result in audit.results}
    assert statuses["secure-authentication"] is Status.NOT_APPLICABLE
    assert statuses["setting-files"] is Status.PASS


def test_a_file_that_is_not_xml_is_found_with_its_line(tmp_path: Path) -> None:
    write(tmp_path / "conf", CLEAN)
    (tmp_path / "conf" / "yarn-site.xml").write_text("<configuration>\n<property>\n")
    files = {name: values for name, values in CLEAN.items() if name != "yarn-site.xml"}
    audit = audited(tmp_path / "conf", files)
    found = next(r for r in audit.worst if r.check == "setting-files")
    assert found.observed.startswith("yarn-site.xml, line 3")


def test_an_unreadable_file_is_unknown_not_fail(tmp_path: Path) -> None:
    (tmp_path / "conf" / "yarn-site.xml").mkdir(parents=True)
    files = {name: values for name, values in CLEAN.items() if name != "yarn-site.xml"}
    audit = audited(tmp_path / "conf", files)
    found = [r.status for r in audit.results if r.check == "setting-files"]
    assert found == [Status.UNKNOWN]


@pytest.mark.parametrize("version", ["", "2.6.0", "9.9.9", "next"])
def test_an_unknown_version_is_unknown_and_no_crash(version: str, tmp_path: Path) -> None:
    audit = audited(tmp_path / "conf", CLEAN, version=version)
    found = [r.status for r in audit.results if r.check == "setting-other-version"]
    assert found == [Status.UNKNOWN]
    assert failing(audit, "hadoop") == set()


def test_a_property_of_a_later_version_is_found(tmp_path: Path) -> None:
    files = changed(hdfs={"dfs.hosts.timeout": "1"})
    check = ("setting-other-version", "dfs.hosts.timeout")
    assert check in failing(audited(tmp_path / "conf", files, version="3.4.2"))
    assert check not in failing(audited(tmp_path / "conf", files, version="3.5.0"))


def test_without_hardware_nothing_about_it_is_judged(tmp_path: Path) -> None:
    audit = audited(tmp_path / "conf", CLEAN, Hardware())
    statuses = {r.check: r.status for r in audit.results}
    assert statuses["containers-node-memory"] is Status.UNKNOWN
    assert statuses["containers-node-cores"] is Status.UNKNOWN
    assert failing(audit, "hadoop") == set()


def test_the_heap_of_the_name_node_is_judged_by_the_files(tmp_path: Path) -> None:
    write(tmp_path / "conf", {})
    (tmp_path / "conf" / "hadoop-env.sh").write_text('export HDFS_NAMENODE_OPTS="-Xmx8g"\n')
    for files, status in ((5e6, Status.PASS), (50e6, Status.FAIL), (None, Status.UNKNOWN)):
        audit = audited(tmp_path / "conf", CLEAN, files=files)
        assert [r.status for r in audit.results if r.check == "hdfs-name-heap"] == [status]


def test_a_remedy_of_spills_leads_to_one_spill(tmp_path: Path) -> None:
    audit = audited(tmp_path / "a", changed(mapred={SORT: "100"}))
    remedy = next(r for r in audit.worst if r.check == "job-spills").remedy
    value = remedy.partition(f"{SORT} = ")[2].split()[0]
    again = audited(tmp_path / "b", changed(mapred={SORT: value}))
    assert "job-spills" not in {check for check, _ in failing(again)}
    assert "job-sort-buffer" not in {check for check, _ in failing(again)}


def test_the_memory_of_hosts_on_one_machine_is_shared(tmp_path: Path) -> None:
    shared = replace(WORKER, memory_bytes=64 * GIB, shared_by=4)
    audit = audited(tmp_path / "conf", CLEAN, shared)
    assert ("containers-node-memory", NODE_MB) in failing(audit)
