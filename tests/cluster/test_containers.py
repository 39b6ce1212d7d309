"""Containers that YARN never starts."""

from __future__ import annotations

import pytest

from windtunnel.cluster.containers import MASTER_MB, MOST_MB, NODE_MB, never_started
from windtunnel.cluster.setting_values import LEAST_MB

MAP, REDUCE = "mapreduce.map.memory.mb", "mapreduce.reduce.memory.mb"


@pytest.mark.parametrize(
    ("settings", "setting", "message"),
    [
        (
            {MAP: 999_999, NODE_MB: 8192},
            MAP,
            "a map task needs 999,999 MB, but a NodeManager has 8,192 MB "
            "(yarn.nodemanager.resource.memory-mb): YARN never starts it",
        ),
        ({REDUCE: "9000", NODE_MB: "8192"}, REDUCE, "a reduce task needs 9,000 MB, but a Node"),
        ({MASTER_MB: 1536, NODE_MB: 1000}, MASTER_MB, "an application master needs 1,536 MB"),
        (
            {MAP: 4096, NODE_MB: 8192, MOST_MB: 2048},
            MAP,
            "a map task needs 4,096 MB, but yarn.scheduler.maximum-allocation-mb is 2,048 MB: YARN",
        ),
        ({NODE_MB: 100, LEAST_MB: 256}, NODE_MB, "a NodeManager has 100 MB, and yarn.scheduler."),
    ],
)
def test_what_yarn_never_starts_is_stated(
    settings: dict[str, str | int], setting: str, message: str
) -> None:
    (found,) = never_started(settings)
    assert found.setting == setting
    assert found.message.startswith(message)
    assert found.remedy.endswith(".")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {MAP: 999_999},  # what the NodeManagers offer is not known
        {NODE_MB: 512},
        {MAP: -1, NODE_MB: 512},
        {MAP: 999_999, NODE_MB: -1},
        {MAP: "${site.memory}", NODE_MB: 512},
        {MAP: 8192, NODE_MB: 8192, MOST_MB: 8192},
        {MAP: 1400, NODE_MB: 1500, LEAST_MB: 1024},  # YARN rounds up to the largest container
    ],
)
def test_what_can_start_or_is_unknown_is_not(settings: dict[str, str | int]) -> None:
    assert not list(never_started(settings))
