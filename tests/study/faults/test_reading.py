"""Faults in study files: read, refused with file, line and key, planned and fingerprinted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.breaking import BreakingTestbed
from tests.support.mock import MockTestbed, plan_from
from windtunnel.cluster import (
    apply_overrides,
    format_duration,
    format_fraction,
    load_cluster,
    load_text,
    parse_duration,
)
from windtunnel.errors import DescriptionError, NotRealisableError
from windtunnel.results.record import Treatment
from windtunnel.study.check import check_plan
from windtunnel.study.factors import levels_of
from windtunnel.study.faults import FAULTS, faults_of
from windtunnel.study.file import StudyFile, load_study
from windtunnel.study.plan import Plan, make_plan

HEAD = """\
study: toy
cluster: local-3
workloads:
  terasort: {rows: 1000, input_replication: 1, output_replication: 1}
"""
LEVELS = """\
factors:
  fault:
    none: {}
    killed: {fault: {kind: kill-daemon, role: datanode, after: 5 s}}
"""


def plan_of(folder: Path, text: str, head: str = HEAD) -> Plan:
    file = folder / "study.yaml"
    file.write_text(head + text)
    return make_plan(*load_study(file))


def test_a_level_sets_a_fault_and_the_other_has_none(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, LEVELS)

    none, killed = plan.treatments
    assert faults_of(none) == ()
    (fault,) = faults_of(killed)
    assert (fault.kind, fault.after, fault.lasts) == ("kill-daemon", 5.0, None)
    assert plan.cluster_of(killed) == plan.cluster_of(none)
    wanted = "the datanode on worker-3 killed 5 s into terasort, to the end"
    assert fault.words(plan.base, "terasort") == wanted


def test_a_fault_without_duration_lasts_seconds() -> None:
    text = "fault: {kind: kill-daemon, role: datanode, host: worker-1, after: 5 s, lasts: 0 s}\n"
    plan = plan_from(HEAD + text)
    (fault,) = faults_of(plan.treatments[0])
    assert fault.words(plan.base, "terasort").endswith("killed 5 s into terasort, for 0 s")


def test_the_studys_own_fault_holds_for_every_treatment(tmp_path: Path) -> None:
    text = "factors: {hosts.worker.count: [3, 4]}\nfault: {kind: kill-host, host: worker-1}\n"
    plan = plan_of(tmp_path, text)

    assert [len(faults_of(treatment)) for treatment in plan.treatments] == [1, 1]
    assert {cluster.hosts["worker"].count for cluster in plan.clusters(plan.treatments)} == {3, 4}


def test_several_faults_at_once(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        "fault:\n"
        "  - {kind: slow-nic, host: worker-1, to: 5 %}\n"
        "  - {kind: cut-link, host: worker-2, phase: terasort, after: 1 min, lasts: 10 s}\n",
    )
    slow, cut = faults_of(plan.treatments[0])
    assert slow.words(plan.base) == (
        "the NIC of worker-1 slowed to 5 % at the start of the first phase, to the end"
    )
    assert cut.words(plan.base) == "the link of worker-2 cut 60 s into terasort, for 10 s"


def test_a_fault_is_part_of_what_is_measured(tmp_path: Path) -> None:
    plans = [plan_of(tmp_path, LEVELS.replace("5 s", after)) for after in ("5 s", "5000 ms", "6 s")]
    same, equal, other = (plan.fingerprint for plan in plans)
    assert same == equal != other


def test_without_faults_nothing_of_a_treatment_changes() -> None:
    plan = plan_from(HEAD)
    assert plan.treatments == [Treatment(id="baseline")]


@given(st.data())
def test_what_is_stored_reads_back_equal(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(FAULTS)))
    given: dict[str, object] = {"kind": kind}
    if kind == "kill-daemon":
        given["role"] = data.draw(st.sampled_from(["datanode", "nodemanager", "namenode"]))
    if kind in ("kill-host", "cut-link"):
        given["host"] = "worker-1"
    seconds = st.floats(0, 1e5).map(lambda value: format_duration(round(value, 3)))
    timed = data.draw(st.booleans())
    given["after" if timed else "at"] = data.draw(
        seconds if timed else st.integers(0, 99).map(lambda share: f"{share} %")
    )
    if data.draw(st.booleans()):
        given["lasts"] = data.draw(seconds)
    if "to" in FAULTS[kind].model_fields:
        given["to"] = format_fraction(data.draw(st.integers(1, 99)) / 100)
    located = load_text(HEAD)
    located.data["factors"] = {"x": {"none": {}, "some": {"fault": given}}}
    levels = levels_of(StudyFile.model_validate(located.data), located)
    treatment = Treatment(id="x", overrides=dict(levels["x"]["some"]))
    stored = Treatment.model_validate_json(treatment.model_dump_json())
    assert faults_of(stored) == faults_of(treatment)
    assert faults_of(stored)[0].after == parse_duration(given.get("after", "0 s"))
    assert (faults_of(stored)[0].at is None) is timed


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("fault: {kind: kill-demon}\n", 5, "fault.kind", "no fault 'kill-demon'"),
        ("fault: {role: datanode}\n", 5, "fault", "'kind' is missing"),
        ("fault: {kind: kill-daemon}\n", 5, "fault.role", "is missing"),
        ("fault: {kind: kill-daemon, role: client}\n", 5, "fault.role", "must be one of"),
        ("fault: {kind: slow-nic, disk: 1}\n", 5, "fault.disk", "has no option 'disk'"),
        ("fault: {kind: slow-nic, after: 5}\n", 5, "fault.after", "has no unit"),
        ("fault: {kind: slow-nic, to: 0 %}\n", 5, "fault.to", "more than 0"),
        ("fault: {kind: slow-disk, to: 100 %}\n", 5, "fault.to", "less than 1"),
        ("fault: {kind: slow-nic, at: 100 %}\n", 5, "fault.at", "less than 1"),
        ("fault: {kind: slow-nic, at: 5 s}\n", 5, "fault.at", "is not a fraction"),
        ("fault: {kind: slow-nic, at: 5 %, after: 5 s}\n", 5, "fault", "either 'at' or 'after'"),
        ("fault: {kind: cut-link}\n", 5, "fault", "either 'host' or 'rack'"),
        ("fault:\n  - {kind: slow-nic}\n  - {kind: x}\n", 7, "fault.1.kind", "no fault 'x'"),
        (
            LEVELS.replace("after: 5 s", "after: 5 sec"),
            8,
            "factors.fault.killed.fault.after",
            "the unit 'sec' is not known",
        ),
        (LEVELS.replace("kill-daemon", "kill"), 8, "factors.fault.killed.fault.kind", "'kill'"),
        ("factors: {fault: [1, 2]}\n", 5, "factors.fault", "needs named levels"),
        (LEVELS + "fault: {kind: slow-nic}\n", 9, "fault", "a factor also sets the fault"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(
    tmp_path: Path, text: str, line: int, key: str, says: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        plan_of(tmp_path, text)
    assert says in caught.value.message
    assert (caught.value.line, caught.value.key) == (line, key)


# -- what the testbed and the cluster cannot do ----------------------------------------------


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("{kind: kill-daemon, role: datanode, host: worker-9}", "no host 'worker-9'"),
        ("{kind: kill-daemon, role: namenode, host: worker-1}", "it runs on master"),
        ("{kind: kill-host, host: worker}", "no host 'worker'"),
        ("{kind: cut-link, rack: rack-1}", "no rack 'rack-1'"),
        ("{kind: slow-disk, disk: 9}", "worker-3 has"),
        ("{kind: slow-nic, phase: terasrt}", "has no phase 'terasrt'"),
        ("{kind: kill-daemon, role: regionserver}", "terasort does not run on hbase"),
    ],
)
def test_a_fault_that_the_cluster_has_no_place_for(tmp_path: Path, fault: str, says: str) -> None:
    with pytest.raises(NotRealisableError) as caught:
        check_plan(plan_of(tmp_path, f"fault: {fault}\n"), BreakingTestbed())  # type: ignore[arg-type]
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("workload", "phase"),
    [
        ("metadata: {files: 100}", "create"),
        ("scan: {size: 9 MB, replication: 2, select: all, engine: duckdb}", "scan"),
        ("scan: {size: 9 MB, replication: 2, select: all, engine: spark}", "duckdb"),
    ],
)
def test_a_phase_without_progress_has_no_time_for_a_fault(
    tmp_path: Path, workload: str, phase: str
) -> None:
    head = f"{HEAD.partition('workloads:')[0]}workloads:\n  {workload}\n"
    text = f"fault: {{kind: kill-daemon, role: datanode, phase: {phase}}}\n"
    with pytest.raises(NotRealisableError, match=f"the phase '{phase}' of .* no progress"):
        check_plan(plan_of(tmp_path, text, head), BreakingTestbed())  # type: ignore[arg-type]


def test_copies_report_no_fraction_at_which_a_fault_could_be_injected(tmp_path: Path) -> None:
    head = (
        f"{HEAD.partition('workloads:')[0]}workloads:\n  transfer: {{size: 9 MB, replication: 2}}\n"
    )
    text = "fault: {kind: kill-daemon, role: datanode, phase: get, %s}\n"
    with pytest.raises(NotRealisableError, match=r"'get' of .* write 'after' instead of 'at'"):
        check_plan(plan_of(tmp_path, text % "at: 50 %", head), BreakingTestbed())  # type: ignore[arg-type]
    check_plan(plan_of(tmp_path, text % "after: 1 s", head), BreakingTestbed())  # type: ignore[arg-type]


def test_what_the_testbed_cannot_break_is_refused_before_anything_starts(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "fault: {kind: slow-nic, host: worker-1}\n")
    with pytest.raises(NotRealisableError, match="cannot inject faults into NICs; 'scaled' can"):
        check_plan(plan, MockTestbed())  # type: ignore[arg-type]
    check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]


def test_masters_and_disks_are_found_in_a_described_cluster() -> None:
    cluster = load_cluster("model-3")
    disk = FAULTS["slow-disk"].model_validate({"kind": "slow-disk", "disk": 2})
    assert list(disk.problems(cluster)) == []
    third = FAULTS["slow-disk"].model_validate({"kind": "slow-disk", "disk": 3})
    assert list(third.problems(cluster)) == ["worker-3 has 2 data disks"]
    master = FAULTS["kill-daemon"].model_validate({"kind": "kill-daemon", "role": "namenode"})
    assert master.target(cluster) == "the namenode on master"
    assert master.affects_replicas(cluster)


def test_a_daemon_of_an_engine_is_found_where_the_engine_runs_it(tmp_path: Path) -> None:
    head = HEAD.partition("workloads:")[0] + (
        "workloads: {keyvalue: {workload: A, records: 200000, operations: 10}}\n"
    )
    plan = plan_of(tmp_path, "fault: {kind: kill-daemon, role: regionserver}\n", head)
    (fault,) = faults_of(plan.treatments[0])
    assert fault.target(plan.base) == "the regionserver on worker-3"
    assert not fault.affects_replicas(plan.base)
    check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]
    away = plan_of(tmp_path, "fault: {kind: kill-daemon, role: hmaster, host: worker-1}\n", head)
    with pytest.raises(NotRealisableError, match="no hbase-master runs on worker-1; it runs on m"):
        check_plan(away, BreakingTestbed())  # type: ignore[arg-type]


def test_the_older_name_of_hbase_s_master_stays_as_it_was_written(tmp_path: Path) -> None:
    """A results folder belongs to the fingerprint of what the study file says."""
    head = HEAD.partition("workloads:")[0] + (
        "workloads: {keyvalue: {workload: A, records: 200000, operations: 10}}\n"
    )
    old, new = (
        plan_of(tmp_path, f"fault: {{kind: kill-daemon, role: {name}}}\n", head)
        for name in ("hmaster", "hbase-master")
    )
    assert old.treatments[0].overrides["fault"][0]["role"] == "hmaster"
    for plan in (old, new):
        check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]
        (fault,) = faults_of(plan.treatments[0])
        assert fault.target(plan.base) == "the hbase-master on master"
        assert fault.engine() == "hbase"


def test_trino_s_servers_can_be_killed_where_trino_runs_queries(tmp_path: Path) -> None:
    head = HEAD.partition("workloads:")[0]
    scan = "{size: 9 MB, collections: 2, replication: 2, format: orc, codec: zlib"
    kill = "fault: {kind: kill-daemon, role: trino-worker}\n"
    plan = plan_of(tmp_path, kill, head + f"workloads: {{scan: {scan}, engine: trino}}}}\n")
    (fault,) = faults_of(plan.treatments[0])
    check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]
    wanted = "the trino-worker on worker-3 killed at the start of scan, to the end of the phase"
    assert fault.words(plan.base, "scan") == wanted
    assert not fault.affects_replicas(plan.base)
    spark = plan_of(tmp_path, kill, head + f"workloads: {{scan: {scan}, engine: spark}}}}\n")
    with pytest.raises(NotRealisableError, match="the workload scan does not run on trino"):
        check_plan(spark, BreakingTestbed())  # type: ignore[arg-type]


def test_what_cannot_be_killed_is_refused_with_what_can(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"must be one of namenode, .*trino-worker, .*, not"):
        plan_of(tmp_path, "fault: {kind: kill-daemon, role: historyserver}\n")


def test_a_secret_in_a_setting_is_refused(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "set: {settings.fs.s3a.secret.key: planted}\n")
    with pytest.raises(NotRealisableError, match="this value is a secret") as caught:
        check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]
    assert "planted" not in caught.value.render()


@pytest.mark.parametrize("kind", ["kill-host", "cut-link"])
def test_the_history_server_must_be_there_when_the_job_ends(kind: str) -> None:
    changes = {
        "hosts.master.roles": ["namenode", "resourcemanager"],
        "hosts.worker.extra_roles": {0: ["historyserver"]},
    }
    cluster = apply_overrides(load_cluster("local-3"), changes)

    def problems(host: str, **more: str) -> list[str]:
        fault = FAULTS[kind].model_validate({"kind": kind, "host": host, **more})
        return list(fault.problems(cluster))

    assert "the history server on worker-1, which reports" in problems("worker-1")[0]
    assert problems("worker-1", lasts="5 s") == problems("worker-2") == problems("master") == []
