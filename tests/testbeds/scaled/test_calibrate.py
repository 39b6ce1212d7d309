"""Calibration without a fabric: judging, repeating, refusing, storing."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import psutil
import pytest

from tests.support.calibrated import MB, PLAN, record, resource
from windtunnel.cluster import load_cluster
from windtunnel.errors import NotRealisableError, StorageFullError
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan
from windtunnel.hosts.fabric.state import Lack
from windtunnel.testbeds.scaled import calibrate as module
from windtunnel.testbeds.scaled import calibration_store
from windtunnel.testbeds.scaled.calibrate import calibrate, sweep
from windtunnel.testbeds.scaled.probing import LONGER, Bench, Outcome, probe_bytes, together
from windtunnel.testbeds.scaled.scale import FULL_SIZE
from windtunnel.testbeds.scaled.shaped import MACHINE, Shaped, Spin, Stage
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.testbed import ScaledTestbed


class FakeBench:
    """Every part gives what it is set to, but for those that ``gives`` names."""

    gives: ClassVar[dict[str, float]] = {}
    wall: ClassVar[float] = 500 * MB
    changes: ClassVar[list[FabricPlan]] = []

    def __init__(self, fabric: object, plan: FabricPlan) -> None:
        FakeBench.changes.clear()

    def change(self, plan: FabricPlan) -> None:
        self.changes.append(plan)

    def measure(self, stage: Stage, batch: list[Shaped]) -> dict[Shaped, list[float]]:
        return {
            part: [self.wall if part.set is None else part.set * self.gives.get(part.name, 1.0)]
            for part in batch
        }


def quiet(text: str) -> None:
    """Print no progress."""


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[FabricPlan]:
    """Fabrics are not built, only noted."""
    found: list[FabricPlan] = []

    @contextmanager
    def standing(plan: FabricPlan, purpose: str) -> Iterator[object]:
        found.append(plan)
        yield SimpleNamespace(notes=["a note of the fabric"])

    monkeypatch.setattr(module, "standing", standing)
    monkeypatch.setattr(module, "Bench", FakeBench)
    monkeypatch.setattr(module, "capabilities", list)
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 3.0)
    monkeypatch.setattr(FakeBench, "gives", {})
    monkeypatch.setenv("WINDTUNNEL_STATE", str(tmp_path / "state"))
    return found


def test_all_is_as_set() -> None:
    found = calibrate([PLAN])
    assert found.off == []
    assert {r.name for r in found.resources if r.kind == MACHINE} == {
        "network",
        "disk write buffered",
        "disk read cold",
        "disk write direct",
        "CPU",
    }
    for made in found.resources:
        assert made.ok is (None if made.set is None else True)
    assert found.notes == ["a note of the fabric"]


@pytest.mark.parametrize(
    ("ratio", "ok"), [(0.89, False), (0.91, True), (1.0, True), (1.09, True), (1.11, False)]
)
def test_ten_percent_is_the_limit_both_ways(ratio: float, ok: bool) -> None:
    made = resource("x", 20 * MB, ratio * 20 * MB)
    assert made.ok is ok
    assert made.ratio == pytest.approx(ratio)


def test_the_median_is_judged() -> None:
    assert resource("x", 1.0, 0.5, 1.0, 0.98).got == 0.98


def test_what_is_off_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBench, "gives", {"worker d2": 0.5, "big": 0.7})
    found = calibrate([PLAN])
    with pytest.raises(NotRealisableError) as caught:
        found.refuse_if_off()
    text = caught.value.render()
    assert "disk read cold, worker d2: set 20 MB/s, measured 10 MB/s (-50%)" in text
    assert "CPU, big: set 1 cores, measured 0.7 cores (-30%)" in text
    assert "worker d1" not in text
    assert caught.value.exit_code == 4


def test_plans_that_differ_in_rates_share_a_fabric(built: list[FabricPlan]) -> None:
    plans = sweep(fabric_plan(load_cluster("model-3"), FULL_SIZE))
    progress: list[tuple[str, int, int]] = []
    found = calibrate(plans, lambda *words: progress.append(words))
    assert len(built) == 1
    assert len(FakeBench.changes) == 2
    mine = [r for r in found.resources if r.name.startswith("worker-")]
    assert {r.set for r in mine if r.kind == "NIC"} == {25e6 / 8, 100e6 / 8, 400e6 / 8}
    for kind in ("disk write buffered", "disk write direct", "disk read cold"):
        assert {r.set for r in mine if r.kind == kind} == {5 * MB, 20 * MB, 50 * MB}
    assert {r.set for r in mine if r.kind == "CPU"} == {0.25, 0.5, 1.0}
    keys = [(r.kind, r.name, r.set) for r in found.resources]
    assert len(keys) == len(set(keys)), "nothing is measured twice"
    assert all(done <= total for _, done, total in progress)


def test_other_guests_need_another_fabric(built: list[FabricPlan]) -> None:
    plain = replace(PLAN.hosts[2], guests=())
    calibrate([PLAN, replace(PLAN, hosts=(*PLAN.hosts[:2], plain))])
    assert len(built) == 2


def test_fewer_hosts_need_none(built: list[FabricPlan]) -> None:
    calibrate([replace(PLAN, hosts=PLAN.hosts[:2]), PLAN])
    (plan,) = built
    assert {"master", "worker", "big"} <= {host.name for host in plan.hosts}


def test_more_than_the_machine_carries_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBench, "wall", 30 * MB)
    notes = calibrate([PLAN]).notes
    assert any(note.startswith("all NICs together are set to 50 MB/s") for note in notes)
    assert any("disks when read" in note for note in notes)


def test_a_busy_machine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 64.0)
    assert any("64% busy with other work" in note for note in calibrate([PLAN]).notes)


def test_a_full_disk_is_told_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, built: list[FabricPlan]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    with pytest.raises(StorageFullError, match="only 1 MiB are free"):
        calibrate([PLAN])
    assert built == []


def test_without_rights_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, built: list[FabricPlan]
) -> None:
    monkeypatch.setattr(module, "capabilities", lambda: [Lack("root", "run as root.")])
    with pytest.raises(NotRealisableError, match="lacks root"):
        calibrate([PLAN])
    assert built == []


# --- the bench ------------------------------------------------------------------------------


class Looks(Bench):
    """A bench whose looks at a part are made up."""

    def __init__(self, *looks: float) -> None:
        self.looks = list(looks)
        self.longer: list[float] = []

    def _run(self, stage: Any, batch: Any, longer: float) -> dict[Shaped, float]:
        self.longer.append(longer)
        got = self.looks.pop(0)
        return dict.fromkeys(batch, got)


PART = Shaped("CPU", "w", 1.0, "cores", (Spin("w", 1),), "CPU", "w")


@pytest.mark.parametrize(
    "looks",
    [
        (0.97,),
        (0.85, 1.02),  # their middle is good: it was noise
        (0.85, 0.96, 0.97),
        (0.85, 0.8, 0.96, 0.97, 0.98),
        (0.5, 0.5, 0.5, 0.5, 0.5),
    ],
)
def test_what_is_near_the_limit_is_looked_at_again_for_longer(looks: tuple[float, ...]) -> None:
    bench = Looks(*looks)
    assert bench.measure("CPU", [PART]) == {PART: list(looks)}
    assert bench.looks == []
    assert bench.longer == [1, *[LONGER] * 4][: len(looks)]


def test_what_is_unlimited_is_looked_at_once() -> None:
    bench = Looks(123.0)
    free = replace(PART, set=None)
    assert bench.measure("CPU", [free]) == {free: [123.0]}


def test_several_probes_count_from_the_first_beginning_to_the_last_end() -> None:
    # one gets more and ends earlier: the sum of the rates, 15 + 10, would say 25
    both = [Outcome(30, 0.0, 2.0), Outcome(30, 0.0, 3.0)]
    assert together(both) == 20
    assert together([Outcome(0, 1.0, 1.0)]) == 0


def test_files_of_probes_are_seconds_long_and_bounded() -> None:
    assert probe_bytes(20 * MB) == 40 * MB
    assert probe_bytes(1e12) == 256 << 20
    assert probe_bytes(1.0) == 2 << 20
    room = module._disk_bytes([PLAN])
    most = max(probe_bytes(disk.write_bytes_s, 2) for host in PLAN.hosts for disk in host.disks)
    assert room > most


# --- stored calibrations --------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_store, "boot", lambda: "here")


def test_a_stored_one_is_taken_until_the_machine_starts_anew(
    started: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calibration_store.stored([PLAN]) is None
    calibration_store.keep([PLAN], record())
    assert calibration_store.stored([PLAN]) == record()
    monkeypatch.setattr(calibration_store, "boot", lambda: "later")
    assert calibration_store.stored([PLAN]) is None


def test_another_kernel_and_other_rates_need_another(
    started: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration_store.keep([PLAN], record())
    faster = replace(PLAN, hosts=(replace(PLAN.hosts[0], nic_bytes_s=1.0), *PLAN.hosts[1:]))
    assert calibration_store.stored([faster]) is None
    larger = replace(
        PLAN.hosts[1],
        memory_bytes=5,
        disks=tuple(replace(disk, size_bytes=5) for disk in PLAN.hosts[1].disks),
    )
    assert calibration_store.stored([replace(PLAN, hosts=(PLAN.hosts[0], larger, PLAN.hosts[2]))])
    monkeypatch.setattr(platform, "release", lambda: "other")
    assert calibration_store.stored([PLAN]) is None


def test_one_with_a_part_off_is_none_to_rely_on(started: None) -> None:
    calibration_store.keep([PLAN], record(resource("x", 1.0, 0.5)))
    assert calibration_store.stored([PLAN]) is None


def test_a_damaged_one_is_measured_again(started: None, tmp_path: Path) -> None:
    calibration_store.keep([PLAN], record())
    (file,) = (tmp_path / "state/calibration").iterdir()
    file.write_text(file.read_text()[:50])
    assert calibration_store.stored([PLAN]) is None
    calibration_store.keep([replace(PLAN, racks=())], record())
    assert not file.exists(), "and put away"


def test_those_of_earlier_starts_go(
    started: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calibration_store.keep([PLAN], record(boot="earlier"))
    calibration_store.keep([replace(PLAN, racks=())], record())
    assert len(list((tmp_path / "state/calibration").iterdir())) == 1


# --- the testbed ----------------------------------------------------------------------------


def test_the_testbed_measures_once_and_then_takes_what_is_stored(
    built: list[FabricPlan], tmp_path: Path
) -> None:
    testbed, told = ScaledTestbed(tmp_path, quiet), list[str]()
    first = testbed.ready([load_cluster("model-3")], told.append)
    again = testbed.ready([load_cluster("model-3")], told.append)
    assert len(built) == 1
    assert first == again
    assert any("resources are accurate within 10 %" in line for line in told)
    assert "stored calibration of" in told[-1]


def test_the_testbed_refuses_what_is_off(
    built: list[FabricPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBench, "gives", {"worker-2 disk-1": 0.5})
    testbed = ScaledTestbed(tmp_path, quiet)
    for _ in range(2):  # it is measured anew each time
        with pytest.raises(NotRealisableError, match="worker-2 disk-1: set 20 MB/s"):
            testbed.ready([load_cluster("model-3")], quiet)
    assert len(built) == 2


def test_the_next_attempt_measures_only_what_was_off(
    built: list[FabricPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    measure = FakeBench.measure

    def noting(self: FakeBench, stage: Stage, batch: list[Shaped]) -> dict[Shaped, list[float]]:
        looked.extend(part.name for part in batch if part.set is not None)
        return measure(self, stage, batch)

    monkeypatch.setattr(FakeBench, "measure", noting)
    monkeypatch.setattr(FakeBench, "gives", {"worker-2 disk-1": 0.5})
    testbed, told = ScaledTestbed(tmp_path, quiet), list[str]()
    with pytest.raises(NotRealisableError):
        testbed.ready([load_cluster("model-3")], quiet)
    all_parts = len(looked)
    looked.clear()
    monkeypatch.setattr(FakeBench, "gives", {})
    found = testbed.ready([load_cluster("model-3")], told.append)

    assert found is not None and found.off == []
    assert set(looked) == {"worker-2 disk-1"}
    assert len([r for r in found.resources if r.set is not None]) == all_parts
    kept = all_parts - len(looked)
    assert f"except {kept} that were accurate before" in told[0]
    assert any(note.startswith(f"{kept} resources were measured at ") for note in found.notes)


def test_parts_of_several_builds_are_all_measured_again() -> None:
    both = [resource("x", 1.0, 1.0), resource("x", 1.0, 0.95)]
    kept = calibration_store._as_set(
        record(*both, resource("y", 1.0, 1.0), resource("z", 1.0, 0.5))
    )
    assert [part.name for part in kept] == ["y"]


def test_what_was_as_set_an_hour_ago_is_measured_again(
    built: list[FabricPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBench, "gives", {"worker-2 disk-1": 0.5})
    testbed, told = ScaledTestbed(tmp_path, quiet), list[str]()
    with pytest.raises(NotRealisableError):
        testbed.ready([load_cluster("model-3")], quiet)
    monkeypatch.setattr(calibration_store, "_HOLDS_S", 0.0)
    with pytest.raises(NotRealisableError):
        testbed.ready([load_cluster("model-3")], told.append)
    assert "all limited resources are measured" in told[0]


def test_disks_of_one_size_hold_the_longest_file(built: list[FabricPlan]) -> None:
    fast = DiskPlan("d1", 1 << 20, 150 * MB, 150 * MB)
    calibrate([replace(PLAN, hosts=(replace(PLAN.hosts[1], disks=(fast,)),))])
    sizes = {disk.size_bytes for host in built[0].hosts for disk in host.disks}
    assert len(sizes) == 1
    assert sizes.pop() > probe_bytes(150 * MB, 2)
