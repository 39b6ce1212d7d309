"""Which clusters share stored input data."""

from __future__ import annotations

from typing import Any

import pytest

from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.cluster.stored_input import input_key

BASE = load_cluster("model-3")


def changed(path: str, value: Any) -> bool:
    return input_key(apply_overrides(BASE, {path: value})) != input_key(BASE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hosts.worker.nics.0.rate", "400 Mb/s"),
        ("hosts.worker.cpu.cores_per_socket", 1),
        ("hosts.worker.price", "100 USD"),
        ("settings.mapreduce.task.io.sort.mb", 300),
        ("settings.mapreduce.job.reduces", 7),
        ("settings.yarn.nodemanager.resource.memory-mb", 2048),
        ("name", "other"),
    ],
)
def test_hardware_that_stores_nothing_and_settings_of_jobs_have_no_effect(
    path: str, value: Any
) -> None:
    assert not changed(path, value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("storage.block_size", "32 MiB"),
        ("storage.replication", 1),
        ("hosts.worker.count", 4),
        ("hosts.worker.disks.0.count", 3),
        ("settings.dfs.bytes-per-checksum", 1024),
        ("settings.mapreduce.job.maps", 7),
        ("settings.mapreduce.job.queuename", "other"),
        ("settings.mapreduce.job.node-label-expression", "ssd"),
        ("settings.mapreduce.output.fileoutputformat.compress", True),
        ("software.task_start", "warm"),
    ],
)
def test_what_changes_the_stored_files_changes_the_key(path: str, value: Any) -> None:
    assert changed(path, value)
