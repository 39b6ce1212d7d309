"""Configurations and facts for tests of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from windtunnel.audit import collect_facts
from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.configuration import read_configuration
from windtunnel.audit.facts import HostFacts, of_document
from windtunnel.audit.hardware import Hardware

GIB = 1 << 30
# A worker with 16 cores, 64 GiB and four data disks, in a cluster of 10 in one rack.
WORKER = Hardware(
    cores=16,
    threads=32,
    memory_bytes=64 * GIB,
    data_disks=4,
    workers=10,
    datanodes=10,
    racks=1,
    mixed=False,
)
DISKS = ",".join(f"/data/{number}/hdfs" for number in range(1, 5))
LOCAL = ",".join(f"/data/{number}/yarn" for number in range(1, 5))

Files = Mapping[str, Mapping[str, str]]
# A configuration for WORKER in which no check of the tuning of Hadoop fails.
CLEAN: Files = {
    "core-site.xml": {
        "fs.defaultFS": "hdfs://master:8020",
        "fs.trash.interval": "1440",
        "io.file.buffer.size": "131072",
    },
    "hdfs-site.xml": {
        "dfs.namenode.name.dir": "/meta/1/name,/meta/2/name",
        "dfs.datanode.data.dir": DISKS,
        "dfs.datanode.failed.volumes.tolerated": "1",
        "dfs.namenode.handler.count": "46",
        "dfs.client.read.shortcircuit": "true",
        "dfs.domain.socket.path": "/var/lib/hadoop-hdfs/dn_socket",
        "dfs.blocksize": "134217728",
    },
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": "53248",
        "yarn.nodemanager.resource.cpu-vcores": "32",
        "yarn.scheduler.minimum-allocation-mb": "512",
        "yarn.scheduler.maximum-allocation-mb": "53248",
        "yarn.nodemanager.local-dirs": LOCAL,
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
    },
    "mapred-site.xml": {
        "mapreduce.framework.name": "yarn",
        "mapreduce.map.memory.mb": "1536",
        "mapreduce.map.java.opts": "-Xmx1228m",
        "mapreduce.reduce.memory.mb": "3072",
        "mapreduce.reduce.java.opts": "-Xmx2457m",
        "mapreduce.task.io.sort.mb": "256",
        "mapreduce.job.reduces": "160",
        "mapreduce.job.reduce.slowstart.completedmaps": "0.8",
        "mapreduce.map.output.compress": "true",
        "mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.SnappyCodec",
    },
}


def site(properties: Mapping[str, str]) -> str:
    """A site file."""
    rows = [
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    ]
    return "\n".join(["<configuration>", *rows, "</configuration>"])


def write(folder: Path, files: Files) -> Path:
    """A configuration directory."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, properties in files.items():
        (folder / name).write_text(site(properties), encoding="utf-8")
    return folder


def changed(**changes: Mapping[str, str | None]) -> Files:
    """The clean configuration with other values: ``core={...}, hdfs={...}``; None removes one."""
    found = {name: dict(values) for name, values in CLEAN.items()}
    for short, values in changes.items():
        for name, value in values.items():
            if value is None:
                found[f"{short}-site.xml"].pop(name, None)
            else:
                found[f"{short}-site.xml"][name] = value
    return found


def audited(
    folder: Path,
    content: Files,
    hardware: Hardware = WORKER,
    version: str = "3.5.0",
    files: float | None = None,
) -> Audit:
    """The audit of a configuration."""
    conf = read_configuration(write(folder, content), version)
    return run(Subject(confs=[conf], hardware=hardware, files=files))


def failing(audit: Audit, *areas: str) -> set[tuple[str, str]]:
    """(check, about) of each FAIL, in some areas or in all."""
    return {(r.check, r.about) for r in audit.worst if not areas or r.area in areas}


def host(name: str = "worker", **facts: Any) -> HostFacts:
    """The facts of a host; a value that is an exception is a fact that could not be read."""
    made = {
        key: {"unreadable": str(value)} if isinstance(value, Exception) else {"value": value}
        for key, value in facts.items()
    }
    document = {
        "kind": collect_facts.KIND,
        "schema": collect_facts.SCHEMA,
        "host": name,
        "as_root": True,
        "facts": made,
    }
    return of_document(document, "test")
