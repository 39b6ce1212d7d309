"""Hadoop's properties: site files, defaults, unknown names, who must be restarted."""

from __future__ import annotations

import pytest

from windtunnel.cluster.settings import (
    affects,
    default_of,
    non_defaults,
    site_of,
    unknown_settings,
)


@pytest.mark.parametrize("version", [None, "3.5", "3.5.0", "3.4", "9.9", "unknown"])
@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("fs.defaultFS", "core-site.xml"),
        ("io.file.buffer.size", "core-site.xml"),
        ("dfs.replication", "hdfs-site.xml"),
        ("yarn.nodemanager.resource.memory-mb", "yarn-site.xml"),
        ("yarn.app.mapreduce.am.resource.mb", "mapred-site.xml"),
        ("mapreduce.map.java.opts", "mapred-site.xml"),
        ("mapreduce.terasort.output.replication", "mapred-site.xml"),
        ("yarn.scheduler.capacity.root.queues", "capacity-scheduler.xml"),
        ("dfs.never.heard.of", "hdfs-site.xml"),
        ("never.heard.of", "core-site.xml"),
    ],
)
def test_every_property_has_its_site_file(name, site, version):
    assert site_of(name, version) == site


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("mapreduce.task.io.sort.mb", "client"),
        ("mapreduce.terasort.output.replication", "client"),
        ("yarn.app.mapreduce.am.resource.mb", "client"),
        ("dfs.client.retry.policy.enabled", "client"),
        ("dfs.replication", "client"),
        ("dfs.blocksize", "client"),
        ("mapreduce.jobhistory.address", "yarn"),
        ("mapreduce.shuffle.port", "yarn"),
        ("yarn.nodemanager.resource.memory-mb", "yarn"),
        ("yarn.scheduler.capacity.root.queues", "yarn"),
        ("dfs.namenode.handler.count", "hdfs"),
        ("dfs.datanode.data.dir", "hdfs"),
        ("io.file.buffer.size", "all"),
        ("fs.defaultFS", "all"),
    ],
)
def test_who_must_be_restarted(name, who):
    assert affects(name) == who


def test_unknown_names_are_warned_of_with_the_nearest_known():
    names = ["dfs.replicaton", "io.sort.mb", "qqqq", "dfs.replication", "mapreduce.terasort.x"]
    warnings = unknown_settings(dict.fromkeys(names, 1), "3.5")
    assert warnings == [
        "Hadoop 3.5 has no property 'dfs.replicaton'; did you mean 'dfs.replication'?",
        "Hadoop 3.5 has no property 'io.sort.mb'; did you mean 'mapreduce.task.io.sort.mb'?",
        "Hadoop 3.5 has no property 'qqqq'",
    ]


def test_names_that_only_the_code_of_hadoop_has_are_known() -> None:
    assert unknown_settings({"yarn.app.mapreduce.am.job.reduce.rampup.limit": 1.0}, "3.5") == []


FEDERATION: dict[str, str | int | float | bool] = {
    "dfs.nameservices": "ns1, ns2",
    "dfs.internal.nameservices": "ns1",
    "dfs.ha.namenodes.ns1": "nn1,nn2",
    "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
}


@pytest.mark.parametrize(
    "name",
    [
        "yarn.resourcemanager.hostname.rm1",
        "yarn.resourcemanager.bind-host.rm2",
        "dfs.namenode.shared.edits.dir.ns1",
        "dfs.namenode.name.dir.ns2",
        "dfs.ha.automatic-failover.enabled.ns1",
        "dfs.ha.fencing.methods.ns1",
        "dfs.namenode.kerberos.principal.ns1.nn1",
        "dfs.namenode.rpc-bind-host.ns1.nn2",
        "fs.viewfs.mounttable.big.link./user",
        "dfs.federation.router.default.nameserviceId",
        "fs.azure.account.key.mine.blob.core.windows.net",
        "hadoop.security.group.mapping.provider.ldap4users",
    ],
)
def test_names_of_high_availability_and_federation_are_known(name: str) -> None:
    assert unknown_settings({**FEDERATION, name: "x"}, "3.5") == []


@pytest.mark.parametrize(
    "name",
    [
        "yarn.resourcemanager.hostname.rm3",
        "yarn.resourcemanager.hostname.ns1",
        "dfs.namenode.name.dir.ns3",
        "dfs.namenode.name.dir.ns2.nn1",
        "dfs.namenode.names.dir.ns1",
        "fs.trash.interval.ns1",
    ],
)
def test_suffixes_that_nothing_declares_are_unknown(name: str) -> None:
    assert len(unknown_settings({**FEDERATION, name: "x"}, "3.5")) == 1


def test_only_settings_that_differ_from_the_default_are_listed():
    settings: dict[str, str | int | bool] = {
        "mapreduce.map.speculative": False,
        "dfs.replication": 3,
        "my.own": "x",
    }
    found = [(s.name, s.value, s.default, s.site) for s in non_defaults(settings)]
    assert found == [
        ("mapreduce.map.speculative", "false", "true", "mapred-site.xml"),
        ("my.own", "x", None, "core-site.xml"),
    ]


def test_defaults_are_those_of_the_version():
    assert default_of("dfs.replication", "3.4") == "3"
    assert default_of("never.heard.of") is None
