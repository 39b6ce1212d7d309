"""Disks of a fabric: the numbers of their loop devices. No device is created."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from windtunnel.hosts.fabric.disks import Disk, Disks
from windtunnel.hosts.fabric.groups import Group, Trees
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.fabric.plan import DiskPlan, HostPlan


def test_two_disks_of_a_fabric_never_have_the_same_loop_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The devices are created after all numbers are chosen."""
    built: list[Disk] = []
    drawn = iter([3, 3, 3, 4, 4, 5])
    monkeypatch.setattr(secrets, "randbelow", lambda most: next(drawn))
    monkeypatch.setattr(Disks, "_set_up", lambda self, disks, file_system: built.extend(disks))
    trees = Trees({})
    disks = Disks(tmp_path, trees, lambda name: Group(trees, name), Ledger(tmp_path))
    plans = tuple(DiskPlan(f"d{number}", 1 << 20) for number in range(2))
    disks.build((HostPlan("a", "r", disks=plans, controller_bytes_s=1e6),), "ext4")
    assert [disk.index % 10_000 for disk in built] == [3, 4, 5]
