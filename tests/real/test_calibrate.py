"""Calibration on this machine's kernel: what is set against what is got, and no traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real.conftest import Cli
from tests.support.calibrated import PLAN
from windtunnel.hosts.fabric.lifetime import standing
from windtunnel.hosts.fabric.state import capabilities, differences, machine_state
from windtunnel.results.calibration import CalibrationResource
from windtunnel.testbeds.scaled.probing import Bench
from windtunnel.testbeds.scaled.shaped import batches, instrumented, parts_of

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        any(lack.fatal for lack in capabilities()), reason="this machine can make no virtual hosts"
    ),
]

MB = 1e6
MBIT = 1e6 / 8


def judged(found: list[CalibrationResource]) -> list[CalibrationResource]:
    """Those that are set; printed, and none is off."""
    kept = [one for one in found if one.set is not None]
    for one in kept:
        print(f"{one.kind:28} {one.name:24} {one.set:12.6g} {one.got:12.6g} {one.ratio:6.3f}")
    off = [one for one in kept if not one.ok]
    if off and all(one.kind == "CPU" and (one.ratio or 0) < 1 for one in off):
        pytest.skip(f"the machine is too busy for quotas: {[one.name for one in off]}")
    assert off == []
    return kept


def test_rates_of_every_kind_are_got_as_set(cli: Cli) -> None:
    """NIC 25, 100, 400 Mbit/s, disk 5, 20, 50 MB/s in three ways, CPU 0.25 and 0.5 cores."""
    before = machine_state()
    for _ in range(2):  # a second time if other work has slowed down a resource
        done = cli("calibrate", "scaled", "--json")
        found = [CalibrationResource(**one) for one in json.loads(done.stdout)["resources"]]
        if not any(one.ok is False and (one.ratio or 0) < 1 for one in found):
            break
    kept = judged(found)
    assert done.returncode == 0, done.stderr

    def rates(kind: str) -> set[float | None]:
        return {one.set for one in kept if one.kind == kind}

    assert rates("NIC") == {25 * MBIT, 100 * MBIT, 400 * MBIT}
    assert rates("same rack") == {25 * MBIT, 100 * MBIT}
    for how in ("write buffered", "write direct", "read cold"):
        assert {5 * MB, 20 * MB, 50 * MB} <= rates(f"disk {how}")
    assert {0.25, 0.5} <= rates("CPU")
    mine = [line for line in differences(before, machine_state()) if "wt-" in line]
    assert mine == []


def test_uplinks_guests_and_controllers_are_got_as_set(state: Path) -> None:
    """One of each kind that the sweep has not; disks and guests together, not one by one."""
    wanted = {"uplink", "across racks", "guests of one host", "disk write operations"}
    wanted |= {"all disks, write direct", "CPU"}
    parts = [p for p in parts_of(PLAN) if p.kind in wanted and not p.name.startswith("vm-2")]
    with standing(instrumented(PLAN, 384 << 20), "calibration") as fabric:
        bench = Bench(fabric, PLAN)
        found = {
            p: g
            for stage, batch in batches(parts, {})
            for p, g in bench.measure(stage, batch).items()
        }
    judged([CalibrationResource.of(p.kind, p.name, p.set, p.unit, got) for p, got in found.items()])
    (free,) = (got for part, got in found.items() if part.kind == "guests of one host")
    assert free[0] > 3 * 25 * MB, "guests of one host talk without its wire"
