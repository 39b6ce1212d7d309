"""Containers by the scheduler of YARN: what it rounds up, and whether it counts cores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.audited import WORKER, audited, changed, failing
from windtunnel.audit.result import Result, Status

PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
FAIR = {"yarn.resourcemanager.scheduler.class": f"{PACKAGE}.fair.FairScheduler"}
FIFO = {"yarn.resourcemanager.scheduler.class": f"{PACKAGE}.fifo.FifoScheduler"}
DOMINANT = {
    "yarn.scheduler.capacity.resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    )
}
OLD, NEW = (
    "yarn.scheduler.increment-allocation-mb",
    "yarn.resource-types.memory-mb.increment-allocation",
)
MAP_MB, NODE_VCORES = "mapreduce.map.memory.mb", "yarn.nodemanager.resource.cpu-vcores"
LEAST = "yarn.scheduler.minimum-allocation-mb"


def results(
    folder: Path, check: str, yarn: Mapping[str, str], mapred: Mapping[str, str] | None = None
) -> list[Result]:
    audit = audited(folder, changed(yarn=yarn, mapred=mapred or {}), WORKER)
    return [r for r in audit.results if r.check == check]


@pytest.mark.parametrize(
    ("yarn", "given", "remedy"),
    [
        ({}, None, None),  # CapacityScheduler: 1536 is three times the least container of 512
        (FAIR, 2048, OLD),  # an increment of 1024
        (FAIR | {OLD: "512"}, None, None),
        (FAIR | {OLD: "512", NEW: "1Gi"}, 2048, NEW),
        (FAIR | {OLD: "1024", NEW: "512"}, None, None),
        (FAIR | {OLD: "512", LEAST: "2048"}, 2048, LEAST),
    ],
)
def test_the_fair_scheduler_rounds_to_its_increment(
    yarn: dict[str, str], given: int | None, remedy: str | None, tmp_path: Path
) -> None:
    found = [r for r in results(tmp_path, "containers-rounding", yarn) if r.about == MAP_MB]
    assert [r.status for r in found] == ([] if given is None else [Status.FAIL])
    if given is not None:
        assert f"the scheduler gives each map {given} MiB" in found[0].observed
        assert found[0].remedy == f"set {remedy} to a divisor of 1536"


@pytest.mark.parametrize(
    ("yarn", "vcores", "tasks"),
    [
        ({}, "1", 34),  # 53248 // 1536: CapacityScheduler counts memory only
        (FIFO | DOMINANT, "1", 34),
        (DOMINANT, "1", 32),
        (DOMINANT, "2", 16),
        (FAIR, "1", 26),  # 53248 // 2048
        (FAIR | {OLD: "512"}, "1", 32),
        (FAIR | {OLD: "512"}, "2", 16),
    ],
)
def test_tasks_at_once_follow_from_what_the_scheduler_counts(
    yarn: dict[str, str], vcores: str, tasks: int, tmp_path: Path
) -> None:
    mapred = {"mapreduce.map.cpu.vcores": vcores}
    (found,) = results(tmp_path, "containers-at-once", yarn, mapred)
    assert found.observed.startswith(f"{tasks} map tasks at once on 32 hardware threads")


def test_cores_that_are_counted_are_named_in_the_remedy(tmp_path: Path) -> None:
    yarn = FAIR | {OLD: "512"}
    few = {"mapreduce.map.cpu.vcores": "4"}
    (found,) = results(tmp_path / "few", "containers-at-once", yarn, few)
    assert found.remedy == f"set {NODE_VCORES} higher or mapreduce.map.cpu.vcores lower"
    many = {MAP_MB: "512", "mapreduce.map.java.opts": "-Xmx400m"}
    (found,) = results(tmp_path / "many", "containers-at-once", yarn | {NODE_VCORES: "128"}, many)
    assert "resource-calculator" not in found.remedy
    assert f"{NODE_VCORES} = 32" in found.remedy


def test_the_increment_of_a_type_of_resource_is_a_known_name(tmp_path: Path) -> None:
    audit = audited(tmp_path, changed(yarn=FAIR | {NEW: "512"}))
    assert failing(audit, "hadoop") == set()
