"""Which settings of a cluster its description has."""

from __future__ import annotations

import pytest

from windtunnel.inspection.portable import PLACE, reason_against

GZIP = "org.apache.hadoop.io.compress.GzipCodec"
LZO = "com.hadoop.compression.lzo.LzoCodec"
CAPACITY = "yarn.scheduler.capacity"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("dfs.client.read.shortcircuit", "true", "native library"),
        ("dfs.datanode.max.locked.memory", "1073741824", "native library"),
        ("yarn.resourcemanager.recovery.enabled", "true", "the store of"),
        (
            "yarn.resourcemanager.store.class",
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
            "the store of",
        ),
        ("yarn.nodemanager.aux-services", "mapreduce_shuffle,spark_shuffle", "services in"),
        ("yarn.nodemanager.aux-services.spark_shuffle.class", "a.B", "services in"),
        ("yarn.nodemanager.aux-services.spark_shuffle.classpath", "/opt/*", "services in"),
        ("dfs.datanode.du.reserved", "10737418240", "disks"),
        ("dfs.datanode.du.reserved.ssd", "1g", "disks"),
        ("dfs.datanode.du.reserved.pct", "5", "disks"),
        ("dfs.datanode.failed.volumes.tolerated", "2", "disks"),
        ("dfs.namenode.startup.delay.block.deletion.sec", "3600", "blocks of finished trials"),
        (f"{CAPACITY}.root.queues", "a,b", "queues"),
        (f"{CAPACITY}.root.a.minimum-user-limit-percent", "20", "queues"),
        (f"{CAPACITY}.root.a.acl_administer_queue", "*", "queues"),
        (f"{CAPACITY}.queue-mappings", "u:ann:a", "queues"),
        (f"{CAPACITY}.queue-mappings-override.enable", "true", "queues"),
        (f"{CAPACITY}.multi-node-placement-enabled", "true", "queues"),
        ("mapreduce.job.queuename", "etl", "queues"),
        ("yarn.node-labels.enabled", "true", "node labels"),
        ("mapreduce.map.node-label-expression", "gpu", "node labels"),
        ("mapreduce.job.am.node-label-expression", "gpu", "node labels"),
        ("io.compression.codecs", f"{GZIP}, {LZO}", "a class"),
        ("io.compression.codecs", f"{GZIP},\n {LZO},", "a class"),
        ("io.compression.codec.lzo.class", LZO, "a class"),
        ("mapreduce.map.output.compress.codec", LZO, "a class"),
        ("fs.gs.impl", "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem", "a class"),
        ("io.serializations", "org.apache.hadoop.hbase.mapreduce.ResultSerialization", "a class"),
        ("dfs.domain.socket.path", "/var/run/dn", PLACE),
        ("my.setting", "", PLACE),
    ],
)
def test_settings_that_a_description_does_not_have(name: str, value: str, reason: str) -> None:
    assert reason in reason_against(name, value)
    assert reason_against(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (f"{CAPACITY}.resource-calculator", "org.apache.hadoop.yarn.util.resource.Calculator"),
        (f"{CAPACITY}.maximum-am-resource-percent", "0.2"),
        (f"{CAPACITY}.node-locality-delay", "40"),
        ("io.compression.codecs", f"{GZIP},org.apache.hadoop.io.compress.SnappyCodec"),
        ("mapreduce.job.map.output.collector.class", "org.apache.hadoop.mapred.MapTask$Buffer"),
        ("mapreduce.map.java.opts", "-Xmx1g -Dx=com.example.Logger"),
        ("dfs.namenode.handler.count", "64"),
        ("dfs.client.read.shortcircuit.streams.cache.size", "4096"),
        ("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "5000"),
        ("spark.serializer", "org.apache.spark.serializer.KryoSerializer"),
        ("hive.exec.pre.hooks", "com.example.Hook"),
    ],
)
def test_settings_that_a_description_has(name: str, value: str) -> None:
    assert reason_against(name, value) == ""
