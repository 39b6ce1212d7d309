"""The times after which Hadoop notices a fault, and what the plan says if a trial is shorter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.breaking import BreakingTestbed
from windtunnel.cli import run
from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.cluster.settings import default_of
from windtunnel.study.check import check_plan
from windtunnel.study.faults import FAULTS, Options
from windtunnel.study.faults.detection import (
    DECOMMISSION,
    DISK_CHECK,
    DISK_CHECK_INTERVAL,
    HEARTBEAT,
    MASTER_EXPIRY,
    NODE_CONNECT,
    NODE_EXPIRY,
    PENDING,
    RECHECK,
    Detection,
    Setting,
    Window,
    setting,
)
from windtunnel.study.file import load_study
from windtunnel.study.plan import make_plan

NODE_DEFAULT = f"{NODE_EXPIRY} = 600000 (Hadoop's default)"


def cluster(settings: Mapping[str, object] | None = None, name: str = "local-3") -> Cluster:
    own = {f"settings.{key}": value for key, value in (settings or {}).items()}
    return apply_overrides(load_cluster(name), own)


def fault(kind: str, **options: object) -> Options:
    return FAULTS[kind].model_validate({"kind": kind, **options})


def times(given: Options, on: Cluster) -> list[tuple[str, float | None, float | None]]:
    """What happens, at the earliest and at the latest, in seconds."""
    return [(d.event, d.after_s, d.at_most_s) for d in given.detections(on)]


def test_the_namenode_orders_the_copies_of_a_decommissioned_datanode_at_an_interval() -> None:
    event = "the NameNode orders the copies"
    assert times(fault("decommission"), cluster()) == [(event, 0.0, 1.0)]
    slow = cluster({DECOMMISSION: "30"})
    assert times(fault("decommission"), slow) == [(event, 0.0, 30.0)]
    assert times(fault("decommission"), cluster(name="local-3-cephfs")) == []
    (note,) = fault("decommission", lasts="5 s").undetected(slow, 300.0)
    assert "ends after 5 s" in note and "possibly no block is copied" in note
    assert "registers" not in note, "its daemon continues to run"


# -- the settings ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.4", "3.5"])
def test_every_property_is_one_of_hadoop_s_with_the_documented_default(version: str) -> None:
    wanted = {
        RECHECK: "300000",
        HEARTBEAT: "3",
        PENDING: "300",
        DECOMMISSION: "30",
        NODE_EXPIRY: "600000",
        MASTER_EXPIRY: "900000",
        NODE_CONNECT: "180000",
        DISK_CHECK: "true",
        DISK_CHECK_INTERVAL: "120000",
    }
    assert {name: default_of(name, version) for name in wanted} == wanted


def test_a_setting_states_whose_default_it_is() -> None:
    assert setting(cluster(), HEARTBEAT).words() == f"{HEARTBEAT} = 3 (Hadoop's default)"
    assert setting(cluster({HEARTBEAT: 3}), HEARTBEAT).default_by == "Hadoop"
    assert setting(cluster({HEARTBEAT: 1}), HEARTBEAT).words() == f"{HEARTBEAT} = 1"


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [("20000", "ms", 20), ("3", "s", 3), ("10m", "ms", 600), ("500ms", "s", 0.5), ("x", "s", None)],
)
def test_values_are_read_with_hadoop_s_units(value: str, unit: str, seconds: float | None) -> None:
    assert Setting("a", value).seconds(unit) == seconds


# -- which part of Hadoop notices which fault ----------------------------------------------------


def test_a_killed_datanode_is_dead_after_two_rechecks_and_ten_heartbeats() -> None:
    kill = fault("kill-daemon", role="datanode")
    dead, order = times(kill, cluster())
    assert dead == ("the NameNode notices it", 630.0, 935.0)
    assert order[0].startswith("the NameNode repeats an order of a replica")
    assert order[1:] == (300.0, 600.0)
    short = cluster({RECHECK: 2000, HEARTBEAT: 1, PENDING: 10})
    assert [found[1:] for found in times(kill, short)] == [(14.0, 21.0), (10.0, 20.0)]


def test_a_killed_nodemanager_is_lost_after_its_expiry_and_its_containers_continue() -> None:
    kill = fault("kill-daemon", role="nodemanager")
    assert times(kill, cluster()) == [("the ResourceManager notices it", 600.0, 800.0)]
    assert times(kill, cluster({NODE_EXPIRY: 30000, MASTER_EXPIRY: 3000})) == [
        ("the ResourceManager notices it", 30.0, 40.0)
    ]


def test_the_loss_of_a_host_includes_that_of_its_application_masters() -> None:
    kill = fault("kill-host", host="worker-1")
    assert [found[1] for found in times(kill, cluster())] == [630.0, 300.0, 600.0, 780.0]
    *_, node, tasks, master = times(kill, cluster({MASTER_EXPIRY: 60000}))
    assert node == ("the ResourceManager notices it", 600.0, 800.0)
    assert tasks == (
        "the application master repeats the unfinished tasks of that host",
        780.0,
        980.0,
    )
    assert master == (
        "the ResourceManager notices the loss of an application master there",
        60.0,
        80.0,
    )


@pytest.mark.parametrize("role", ["namenode", "resourcemanager"])
def test_no_daemon_waits_for_the_heartbeats_of_a_master(role: str) -> None:
    assert times(fault("kill-daemon", role=role), cluster()) == []
    assert times(fault("kill-host", host="master"), cluster()) == []


def test_a_cut_link_separates_workers_from_masters_on_either_side() -> None:
    cuts = [times(fault("cut-link", host=host), cluster()) for host in ("worker-1", "master")]
    assert cuts[0] == cuts[1]
    assert [found[1] for found in cuts[0]] == [630.0, 300.0, 600.0, 780.0]
    model = cluster(name="model-3")
    assert times(fault("cut-link", host="client"), model) == []
    assert times(fault("cut-link", host="nowhere"), model) == []


def test_a_rack_is_separated_from_the_masters_of_another_rack() -> None:
    spread = apply_overrides(load_cluster("local-3"), {"network": {"spread_over": 2}})
    racks = [times(fault("cut-link", rack=rack), spread) for rack in ("rack-1", "rack-2")]
    assert [found[1] for found in racks[0]] == [630.0, 300.0, 600.0, 780.0]
    assert racks[0] == racks[1], "one rack has the masters, and both have workers"


def test_a_full_disk_is_noticed_by_the_next_heartbeat_and_the_next_check() -> None:
    full = fault("fill-disk", host="worker-1")
    assert times(full, cluster(name="model-3")) == [
        ("the NameNode notices it", 0.0, 3.0),
        ("the NodeManager notices it", 0.0, 120.0),
    ]
    assert full.detection_words(cluster(name="model-3"))[1] == (
        "the NodeManager notices it within 120 s: "
        "yarn.nodemanager.disk-health-checker.interval-ms = 120000 (Hadoop's default)"
    )


def test_a_disk_below_the_limit_of_the_nodemanager_is_never_noticed() -> None:
    part = fault("fill-disk", host="worker-1", to="95 %")
    (never,) = part.undetected(cluster(name="model-3"), 600.0)
    assert "the NodeManager notices it never" not in never
    assert "the NodeManager never notices it: only clients and tasks notice it." in never
    assert "max-disk-utilization-per-disk-percentage = 99.5 (Windtunnel's default)" in never
    strict = {"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 90}
    assert times(part, cluster(strict, "model-3")) == [("the NodeManager notices it", 0.0, 120.0)]
    by_space = {"yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb": 1000}
    assert times(part, cluster(by_space, "model-3")) == [], "the size of the disk decides"
    off = times(fault("fill-disk", host="worker-1"), cluster({DISK_CHECK: False}, "model-3"))
    assert off[1] == ("the NodeManager notices it", None, None)


@pytest.mark.parametrize("kind", ["slow-disk", "slow-nic"])
def test_no_daemon_notices_slow_hardware_and_the_plan_does_not_warn(kind: str) -> None:
    slow, on = fault(kind, host="worker-1"), cluster(name="model-3")
    assert slow.detection_words(on) == [
        "no daemon notices it: tasks and transfers are slower",
    ]
    assert slow.undetected(on, 60.0) == []


def test_a_value_that_is_no_time_is_left_to_hadoop() -> None:
    kill = fault("kill-daemon", role="nodemanager")
    assert times(kill, cluster({NODE_EXPIRY: "soon"})) == []


# -- the comparison with the time of a trial -----------------------------------------------------


def test_a_trial_that_ends_before_the_expiry_is_warned_of() -> None:
    kill = fault("kill-daemon", role="nodemanager", phase="terasort")
    (note,) = kill.undetected(cluster(), 300.0)
    assert note == (
        "the nodemanager on worker-3 killed at the start of terasort, to the end: "
        "the ResourceManager notices it after 600 s, but the limit of the trial is 300 s: "
        f"only clients and tasks notice it. {NODE_DEFAULT}. "
        "Reduce this time by its settings, or raise protocol.trial_time_limit"
    )


def test_a_fault_that_ends_before_it_is_noticed_is_warned_of() -> None:
    cut = fault("cut-link", host="worker-1", lasts="15 s")
    notes = cut.undetected(cluster(), 1800.0)
    assert len(notes) == 2, "an order of a replica may be repeated after the end of the fault"
    assert notes[1].endswith(
        "for 15 s: ends after 15 s, but the ResourceManager notices it only after 600 s: only "
        f"clients and tasks notice it. {NODE_DEFAULT}. Reduce this time by its settings, or set a "
        "longer 'lasts'"
    )
    assert "but the NameNode notices it only after 630 s" in notes[0]


def test_a_daemon_that_is_restarted_registers_again() -> None:
    kill = fault("kill-daemon", role="nodemanager", lasts="15 s")
    (note,) = kill.undetected(cluster(), 1800.0)
    assert "after 600 s: until a daemon registers again, only clients and tasks notice it" in note


@pytest.mark.parametrize(
    ("limit_s", "after", "lasts", "says"),
    [
        (1800.0, "0 s", None, None),
        (800.0, "0 s", None, None),
        (799.0, "0 s", None, "possibly only clients"),
        (600.0, "0 s", None, "but the limit of the trial is 600 s: only clients"),
        (800.0, "5 s", None, "possibly only clients"),
        (800.0, "250 s", None, "after 600 s, but the limit of the trial is 800 s: only"),
        (1800.0, "0 s", "10 min", "ends after 600 s, but"),
        (1800.0, "0 s", "11 min", "ends after 660 s, but the ResourceManager notices it after 600"),
        (1800.0, "0 s", "14 min", None),
        (300.0, "0 s", "20 min", "but the limit of the trial is 300 s"),
        (300.0, "5 min", None, "so it is never injected: raise protocol.trial_time_limit"),
    ],
)
def test_the_time_that_is_left_after_the_fault_counts(
    limit_s: float, after: str, lasts: str | None, says: str | None
) -> None:
    given = {"after": after} | ({"lasts": lasts} if lasts else {})
    notes = fault("kill-daemon", role="nodemanager", **given).undetected(cluster(), limit_s)
    assert len(notes) == (says is not None)
    assert (says or "") in "".join(notes)


def test_the_wait_for_full_replication_counts_only_for_the_namenode() -> None:
    on = cluster({RECHECK: 20000, HEARTBEAT: 1, PENDING: 10, NODE_EXPIRY: 60000})
    waits = fault("kill-host", host="worker-1", watch="60 s").undetected(on, 50.0)
    assert len(waits) == 1
    assert "ResourceManager" in waits[0]
    soon = fault("kill-host", host="worker-1", watch="0 s").undetected(on, 50.0)
    assert [("the NameNode notices it" in note) for note in soon] == [True, False]


def test_an_order_that_is_not_repeated_can_leave_blocks_under_replicated() -> None:
    on = cluster({RECHECK: 2000, HEARTBEAT: 1})
    kill = fault("kill-daemon", role="datanode", lasts="40 s")
    (note,) = kill.undetected(on, 200.0)
    assert "after 300 s, but the limit of the trial is 200 s: such blocks stay under-rep" in note
    assert f"{PENDING} = 300 (Hadoop's default). Reduce this time" in note
    assert kill.undetected(on, 600.0) == []


def test_tasks_of_a_lost_host_may_wait_longer_than_the_trial() -> None:
    on = cluster({RECHECK: 2000, HEARTBEAT: 1, PENDING: 10, NODE_EXPIRY: 20000})
    kill = fault("kill-host", host="worker-1")
    (note,) = kill.undetected(on, 150.0)
    assert "repeats the unfinished tasks of that host after 200 s" in note
    assert f"{NODE_CONNECT} = 180000 (Hadoop's default). Reduce this time" in note
    (lost,) = kill.undetected(on, 21.0)[-1:]
    assert "the ResourceManager notices it" in lost, "what follows from it has no note of its own"


def test_tasks_are_repeated_as_soon_as_a_link_is_back() -> None:
    on = cluster({RECHECK: 2000, HEARTBEAT: 1, PENDING: 10, NODE_EXPIRY: 20000})
    cut = fault("cut-link", host="worker-1", lasts="60 s")
    assert cut.undetected(on, 600.0) == []


def test_tasks_of_a_lost_host_may_wait_for_ever() -> None:
    given = {RECHECK: 2000, HEARTBEAT: 1, PENDING: 10, NODE_EXPIRY: 20000, NODE_CONNECT: -1}
    (note,) = fault("kill-host", host="worker-1").undetected(cluster(given), 3600.0)
    assert "the application master never repeats the unfinished tasks of that host" in note
    assert f"{NODE_CONNECT} = -1. Change this setting" in note


def test_a_window_without_detections_has_no_notes() -> None:
    assert list(Window(10.0).notes([])) == []
    seen = Detection("it happens", (Setting("a", "1"),), 1.0, 2.0)
    assert list(Window(10.0, lasts_s=5.0).notes([seen])) == []


# -- in the plan -------------------------------------------------------------------------------

STUDY = """\
study: toy
cluster: local-3
workloads:
  terasort: {rows: 1000, input_replication: 1, output_replication: 1}
factors:
  fault:
    none: {}
    lost: {fault: {kind: kill-daemon, role: nodemanager, phase: terasort, after: 5 s}}
  settings.mapreduce.task.io.sort.mb: [50, 100]
protocol: {trial_time_limit: 5 min}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_plan_states_the_time_below_each_fault_and_warns_once(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "study.yaml"]) == 0
    out = capsys.readouterr().out
    row = f"        the ResourceManager notices it after 600 s to 800 s: {NODE_DEFAULT}\n"
    assert out.count(row) == 2, "once for each treatment with the fault"
    (note,) = (line for line in out.splitlines() if line.startswith("  note: "))
    assert note.count(";") == 1 and ": the nodemanager" in note, "both treatments with the fault"
    assert "after 600 s, but the limit of the trial is 300 s" in note


def test_the_plan_as_json_has_the_times_in_seconds(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "study.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    first, second = found["fault_detection"]
    assert (first["after_s"], first["at_most_s"]) == (600.0, 800.0)
    assert first["settings"] == [{"name": NODE_EXPIRY, "value": "600000", "default_by": "Hadoop"}]
    assert {first["treatment"], second["treatment"]} < {t["id"] for t in found["treatments"]}
    assert len(found["notes"]) == 1


def test_a_shorter_expiry_in_the_study_ends_the_warning(here: Path) -> None:
    own = f"set: {{settings.{NODE_EXPIRY}: 20000}}\n"
    (here / "study.yaml").write_text(STUDY + own)
    plan = make_plan(*load_study("study.yaml"))
    assert check_plan(plan, BreakingTestbed()) == []  # type: ignore[arg-type]


def test_every_fault_of_the_catalogue_s_study_can_be_noticed_in_its_trials() -> None:
    plan = make_plan(*load_study("faults"))
    limit_s = plan.protocol.trial_time_limit
    for given in (
        fault("kill-host", host="worker-3", at="50 %"),
        fault("cut-link", host="worker-3", at="50 %"),
        fault("kill-daemon", role="nodemanager", at="50 %"),
    ):
        assert given.undetected(plan.base, limit_s) == []
        assert all(
            d.at_most_s is not None and d.at_most_s < 40 for d in given.detections(plan.base)
        )
