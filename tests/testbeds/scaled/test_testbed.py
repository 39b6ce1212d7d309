"""The testbed ``scaled``: what it says before anything starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.hosts.fabric.groups import Trees
from windtunnel.hosts.fabric.state import Lack
from windtunnel.testbeds.hadoop_testbed import HadoopTestbed
from windtunnel.testbeds.scaled import testbed as module
from windtunnel.testbeds.scaled.scale import ScaledOptions
from windtunnel.testbeds.scaled.testbed import ScaledTestbed


@pytest.fixture
def lacks(monkeypatch: pytest.MonkeyPatch) -> list[Lack]:
    found: list[Lack] = []
    memory = SimpleNamespace(available=8 << 30, total=16 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(module, "capabilities", lambda *_: found)
    return found


@pytest.fixture
def testbed(lacks: list[Lack], tmp_path: Path) -> ScaledTestbed:
    return ScaledTestbed(tmp_path, lambda text: None)


def test_a_described_cluster_can_be_realised(testbed: ScaledTestbed) -> None:
    assert testbed.check(load_cluster("model-3")).impossible == []


def test_what_the_machine_lacks_is_said_with_the_way_out(
    testbed: ScaledTestbed, lacks: list[Lack]
) -> None:
    lacks.append(Lack("root", "run as root."))

    (problem,) = testbed.check(load_cluster("model-3")).impossible
    assert "lacks root: run as root." in problem
    assert "'testbed: local' runs the same cluster" in problem


def test_netem_is_missed_only_where_latency_is_asked_for(
    testbed: ScaledTestbed, lacks: list[Lack]
) -> None:
    lacks.append(Lack("netem (added latency)", "nothing.", fatal=False))
    plain = load_cluster("model-3")
    far = apply_overrides(plain, {"network": {"latency": "1 ms"}})

    assert not any("netem" in line for line in testbed.check(plain).unrealised)
    assert any("netem" in line for line in testbed.check(far).unrealised)


def test_an_unknown_rate_is_named_by_its_path(testbed: ScaledTestbed) -> None:
    cluster = apply_overrides(load_cluster("model-3"), {"hosts.worker.disks.0.read_rate": None})

    (problem,) = testbed.check(cluster).impossible
    assert problem.startswith("hosts.worker.disks.0.read_rate is unknown")


def test_more_daemons_than_memory_are_refused(testbed: ScaledTestbed) -> None:
    cluster = apply_overrides(load_cluster("model-3"), {"hosts.worker.count": 40})
    assert any("40 workers need" in line for line in testbed.check(cluster).impossible)


def test_blocks_that_are_smaller_than_a_cell_are_refused(lacks: list[Lack], tmp_path: Path) -> None:
    coded = apply_overrides(load_cluster("model-3"), {"storage.erasure_code": "XOR-2-1"})

    def problems(data: float) -> list[str]:
        options = ScaledOptions.model_validate({"rate": 0.5, "data": data})
        return ScaledTestbed(tmp_path, lambda text: None, options).check(coded).impossible

    assert problems(1 / 16) == []
    (problem,) = problems(1 / 17)
    assert problem.startswith("storage.erasure_code: the blocks of the model are smaller than")


def test_tasks_outside_the_quotas_are_refused(testbed: ScaledTestbed) -> None:
    uber = {"settings.mapreduce.job.ubertask.enable": True}
    warm = {"software.task_start": "warm"}
    base = load_cluster("model-3")

    (problem,) = testbed.check(apply_overrides(base, {**uber, **warm})).impossible
    assert problem.startswith("settings.mapreduce.job.ubertask.enable: ")
    for changes in (uber, warm):
        assert testbed.check(apply_overrides(base, changes)).impossible == []


def test_limits_that_one_version_of_control_groups_lacks_are_named(
    testbed: ScaledTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = load_cluster("model-3")
    warm = apply_overrides(base, {"software.task_start": "warm"})
    first, second = Trees({"cpu": Path("/c")}), Trees({}, Path("/c"), frozenset({"cpu"}))
    for cluster, trees, notes in ((warm, second, 1), (warm, first, 0), (base, second, 0)):
        monkeypatch.setattr(module, "find_trees", lambda found=trees: found)
        found = testbed.check(cluster).unrealised
        assert sum("version 2 of control groups" in note for note in found) == notes


def test_a_model_near_the_walls_of_the_machine_is_named(
    testbed: ScaledTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    near = testbed.check(load_cluster("model-3")).unrealised
    assert any("may be busy" in line for line in near)
    assert any("GiB of memory" in line for line in near)

    memory = SimpleNamespace(available=64 << 30, total=64 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 16)
    far = testbed.check(load_cluster("model-3")).unrealised
    assert not any("may be busy" in line or "GiB of memory" in line for line in far)


@pytest.mark.parametrize(
    ("asked", "others", "built"),
    [
        ({"count": 2}, [{"count": 3}], {"count": 3}),
        ({"disks.0.count": 1}, [{"count": 2}, {"disks.0.count": 3}], {"disks.0.count": 3}),
        ({}, [{"count": 2}, {"memory": "4 GiB"}], {}),
        ({"nics.0.rate": "1 Gb/s"}, [{"memory": "4 GiB"}], {"nics.0.rate": "1 Gb/s"}),
        # guests are part of what is built: no cluster without them stands in for it
        (
            {"vms": [{"name": "vm", "count": 2, "memory": "1 GiB"}]},
            [{"count": 4}],
            {"vms": [{"name": "vm", "count": 2, "memory": "1 GiB"}]},
        ),
        # another version of Hadoop stands in for none
        ({"count": 2}, [{"count": 3, "hadoop": "3.4"}], {"count": 2}),
    ],
)
def test_hosts_and_disks_of_all_treatments_stand_from_the_start(
    testbed: ScaledTestbed,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, object],
    others: list[dict[str, object]],
    built: dict[str, object],
) -> None:
    opened: list[Cluster] = []
    changed: list[Cluster] = []

    def change(cluster: Cluster) -> list[str]:
        changed.append(cluster)
        return []

    @contextmanager
    def deploy(self: object, cluster: Cluster) -> Iterator[SimpleNamespace]:
        opened.append(cluster)
        yield SimpleNamespace(reconfigure=change)

    monkeypatch.setattr(HadoopTestbed, "deploy", deploy)
    monkeypatch.setattr(module, "ready", lambda plans, notify: None)

    testbed.ready([treatment(one) for one in (asked, *others)], lambda text: None)
    with testbed.deploy(treatment(asked)):
        assert opened == [treatment(built)]
        assert changed == [treatment(asked)]


def treatment(changes: dict[str, object]) -> Cluster:
    """model-3 with other workers, or another Hadoop."""
    paths = {f"hosts.worker.{path}": value for path, value in changes.items() if path != "hadoop"}
    if "hadoop" in changes:
        paths["software.hadoop"] = changes["hadoop"]
    return apply_overrides(load_cluster("model-3"), {"storage.replication": 1} | paths)
