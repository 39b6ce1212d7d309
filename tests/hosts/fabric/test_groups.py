"""Control groups of both versions on made-up trees: which files get which words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from windtunnel.hosts.fabric.groups import Group, Trees, find_trees, make_groups
from windtunnel.hosts.fabric.ledger import Ledger, read

V2 = frozenset({"cpu", "cpuset", "memory", "io"})


def unified(tmp_path: Path, handed_on: str = "cpu memory") -> Trees:
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2/cgroup.subtree_control").write_text(handed_on)
    return Trees({}, tmp_path / "v2", V2)


def legacy(tmp_path: Path) -> Trees:
    trees = {name: tmp_path / name for name in ("cpu", "cpuacct", "cpuset", "memory", "blkio")}
    for folder in trees.values():
        folder.mkdir()
    (trees["cpuset"] / "cpuset.cpus").write_text("0-1\n")
    (trees["cpuset"] / "cpuset.mems").write_text("0\n")
    return Trees(trees)


def text(path: Path) -> str:
    return path.read_text().strip()


def test_version_2_gets_its_words_and_hands_controllers_on(tmp_path: Path) -> None:
    trees = unified(tmp_path)
    groups = make_groups(trees, ["wt-1", "wt-1/w1", "wt-1/w1/g1"], Ledger(tmp_path))
    group, folder = groups["wt-1/w1"], tmp_path / "v2/wt-1/w1"

    group.set_cpu(0.5)
    group.set_memory(1 << 20)
    group.set_cpuset([0, 2])
    group.set_disk_rules("7:9", {"rbps": 5e6, "wbps": None})

    assert text(folder / "cpu.max") == "25000 50000"
    assert text(folder / "memory.max") == "1048576"
    assert text(folder / "cpuset.cpus") == "0,2"
    assert text(folder / "io.max") == "7:9 rbps=5000000 wbps=max"
    assert text(tmp_path / "v2/wt-1/cgroup.subtree_control") == "+cpu +cpuset +io +memory"
    assert text(folder / "cgroup.subtree_control") == "+cpu +cpuset +io +memory"
    assert not (folder / "g1/cgroup.subtree_control").exists(), "processes live in the leaves"
    assert group.entrances() == [folder / "cgroup.procs"]
    group.set_cpu(None)
    group.set_memory(None)
    assert text(folder / "cpu.max") == "max 50000"
    assert text(folder / "memory.max") == "max"


def test_version_2_notes_what_it_hands_on_anew_and_nothing_else(tmp_path: Path) -> None:
    make_groups(unified(tmp_path), ["wt-1", "wt-1/w1"], Ledger(tmp_path))
    switch = str(tmp_path / "v2/cgroup.subtree_control")
    assert read(tmp_path) == [
        {"kind": "value", "path": switch, "text": "-cpuset"},
        {"kind": "value", "path": switch, "text": "-io"},
        {"kind": "cgroup", "path": str(tmp_path / "v2/wt-1")},
        {"kind": "cgroup", "path": str(tmp_path / "v2/wt-1/w1")},
    ]


def test_version_1_has_a_group_in_each_tree_and_enters_the_root_of_blkio(tmp_path: Path) -> None:
    groups = make_groups(legacy(tmp_path), ["wt-1", "wt-1/w1"], Ledger(tmp_path))
    group = groups["wt-1/w1"]
    group.set_cpu(0.25)
    group.set_memory(1 << 20)
    group.drop_caches()

    assert text(tmp_path / "cpu/wt-1/w1/cpu.cfs_period_us") == "100000"
    assert text(tmp_path / "cpu/wt-1/w1/cpu.cfs_quota_us") == "25000"
    assert text(tmp_path / "cpu/wt-1/w1/cpu.cfs_burst_us") == "25000"
    assert text(tmp_path / "memory/wt-1/w1/memory.limit_in_bytes") == "1048576"
    assert text(tmp_path / "memory/wt-1/w1/memory.force_empty") == "0"
    assert text(tmp_path / "cpuset/wt-1/w1/cpuset.cpus") == "0-1", "inherited: else nobody enters"
    assert tmp_path / "blkio/cgroup.procs" in group.entrances()
    assert not (tmp_path / "blkio/wt-1").exists()


@pytest.mark.parametrize(
    ("cores", "quota", "period"),
    [
        (2.0, 100_000, 50_000),
        (0.5, 25_000, 50_000),
        (0.125, 25_000, 200_000),
        (0.01, 4000, 400_000),
    ],
)
def test_a_small_quota_has_a_long_period(
    tmp_path: Path, cores: float, quota: int, period: int
) -> None:
    group = make_groups(unified(tmp_path), ["wt-1"], Ledger(tmp_path))["wt-1"]
    group.set_cpu(cores)
    assert text(tmp_path / "v2/wt-1/cpu.max") == f"{quota} {period}"


def test_a_quota_in_force_is_scaled_within_its_periods(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    new = make_groups(unified(tmp_path / "new"), ["wt-1"], Ledger(tmp_path / "new"))["wt-1"]
    old = make_groups(legacy(tmp_path / "old"), ["wt-1"], Ledger(tmp_path / "old"))["wt-1"]
    for factor, quota, burst in (
        (0.5, 12_500, 12_500),
        (1.2, 30_000, 12_500),
        (1.0, 25_000, 25_000),
    ):
        for group in (new, old):
            if factor == 0.5:
                group.set_cpu(0.25)
            group.scale_cpu(factor)
        assert text(tmp_path / "new/v2/wt-1/cpu.max") == f"{quota} 100000"
        assert text(tmp_path / "new/v2/wt-1/cpu.max.burst") == f"{burst}"
        assert text(tmp_path / "old/cpu/wt-1/cpu.cfs_quota_us") == f"{quota}"
        assert text(tmp_path / "old/cpu/wt-1/cpu.cfs_burst_us") == f"{burst}"


def test_without_a_quota_there_is_nothing_to_scale(tmp_path: Path) -> None:
    group = make_groups(unified(tmp_path), ["wt-1"], Ledger(tmp_path))["wt-1"]
    group.set_cpu(0.25)
    group.set_cpu(None)
    before = text(tmp_path / "v2/wt-1/cpu.max")
    group.scale_cpu(0.5)
    assert text(tmp_path / "v2/wt-1/cpu.max") == before
    group.set_cpu(0.25, factor=0.5)
    assert text(tmp_path / "v2/wt-1/cpu.max") == "12500 100000"


@pytest.mark.parametrize(("start", "wait_s"), [(0.75, 0.025), (0.25, 0.075)])
def test_periods_start_at_a_time_that_groups_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: float, wait_s: float
) -> None:
    group = make_groups(unified(tmp_path), ["wt-1"], Ledger(tmp_path))["wt-1"]
    slept: list[float] = []
    written: list[object] = []

    def write(self: Group, controller: str, name: str, value: object) -> None:
        if name == "cpu.max":
            written.append(value)

    monkeypatch.setattr(time, "monotonic", lambda: 1000.05)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(Group, "_write", write)
    group.set_cpu(0.25, start)
    assert slept == pytest.approx([wait_s], abs=1e-6)
    assert written == ["1000 1000", "25000 100000"], "a short period starts, then the long ones"
    group.set_cpu(None, start)
    assert len(slept) == 1, "without a quota there are no periods"


def test_counters_of_both_versions_have_the_same_units(tmp_path: Path) -> None:
    old_root, new_root = tmp_path / "old", tmp_path / "new"
    old_root.mkdir()
    new_root.mkdir()
    old = make_groups(legacy(old_root), ["g"], Ledger(old_root))["g"]
    new = make_groups(unified(new_root), ["g"], Ledger(new_root))["g"]
    (old_root / "cpuacct/g/cpuacct.usage").write_text("1500000000\n")
    (old_root / "cpu/g/cpu.stat").write_text("nr_throttled 4\nthrottled_time 250000000\n")
    (old_root / "memory/g/memory.usage_in_bytes").write_text("4096\n")
    (old_root / "memory/g/memory.stat").write_text("cache 1\ntotal_cache 2048\n")
    (new_root / "v2/g/cpu.stat").write_text("usage_usec 1500000\nthrottled_usec 250000\n")
    (new_root / "v2/g/memory.current").write_text("4096\n")
    (new_root / "v2/g/memory.stat").write_text("anon 1\nfile 2048\n")

    for group in (old, new):
        assert group.cpu_s() == pytest.approx(1.5)
        assert group.throttled_s() == pytest.approx(0.25)
        assert group.memory_bytes() == 4096
        assert group.cached_bytes() == 2048


def test_trees_of_a_machine_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified/cgroup.controllers").write_text("memory io\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "proc /proc proc rw 0 0\n"
        "cgroup /cg/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
        "cgroup /cg/systemd cgroup rw,name=systemd 0 0\n"
        f"cgroup2 {tmp_path}/unified cgroup2 rw 0 0\n"
    )
    trees = find_trees(mounts)
    assert trees.v1 == {"cpu": Path("/cg/cpu,cpuacct"), "cpuacct": Path("/cg/cpu,cpuacct")}
    assert trees.v2 == tmp_path / "unified"
    assert trees.missing() == ["cpuset"]


def test_a_machine_without_controllers_lacks_them_all() -> None:
    assert Trees({}).missing() == ["cpu", "cpuset", "memory", "blkio (version 1) or io (version 2)"]


def test_version_1_starts_without_the_quota_and_joins_it_later(tmp_path: Path) -> None:
    trees = legacy(tmp_path)
    groups = make_groups(trees, ["wt-1", "wt-1/w1", "wt-1/w1.start"], Ledger(tmp_path))
    host, start = groups["wt-1/w1"], groups["wt-1/w1.start"]

    entered = host.starter_entrances(start)
    names = {str(file.parent.relative_to(tmp_path)) for file in entered}
    starting = {"cpu/wt-1/w1.start", "cpuacct/wt-1/w1.start"}
    assert names == starting | {"cpuset/wt-1/w1", "memory/wt-1/w1", "blkio"}
    quota = {str(file.parent.relative_to(tmp_path)) for file in host.quota_files()}
    assert quota == {"cpu/wt-1/w1", "cpuacct/wt-1/w1"}


def test_version_2_starts_in_the_other_group(tmp_path: Path) -> None:
    trees = unified(tmp_path)
    groups = make_groups(trees, ["wt-1", "wt-1/w1", "wt-1/w1.start"], Ledger(tmp_path))
    host, start = groups["wt-1/w1"], groups["wt-1/w1.start"]

    assert host.starter_entrances(start) == [tmp_path / "v2/wt-1/w1.start/cgroup.procs"]
    assert host.quota_files() == [tmp_path / "v2/wt-1/w1/cgroup.procs"]


GUEST = ["wt-1", "wt-1/w1", "wt-1/w1/vm1"]


@pytest.mark.parametrize(
    ("make", "opened"),
    [
        (legacy, {"cpu/wt-1/w1/vm1", "cpuacct/wt-1/w1/vm1"}),
        (unified, {"v2/wt-1/w1/vm1", "v2/wt-1"}),
    ],
    ids=["version 1", "version 2"],
)
def test_an_account_may_bring_its_processes_under_the_quota_and_no_further(
    make: Callable[[Path], Trees],
    opened: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed: list[Path] = []
    monkeypatch.setattr(os, "chown", lambda file, user, group: changed.append(file))
    make_groups(make(tmp_path), GUEST, Ledger(tmp_path))[GUEST[-1]].open_quota(12345, 12345)

    assert {file.name for file in changed} == {"cgroup.procs"}
    assert {str(file.parent.relative_to(tmp_path)) for file in changed} == opened
