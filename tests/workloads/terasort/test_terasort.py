"""TeraSort: parameters, jobs, and a verdict that catches each thing that can be wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mock import CHECKSUM, ROWS, MockDeployment, MockTestbed
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Verdict
from windtunnel.workloads import WORKLOADS, find_workload
from windtunnel.workloads.base import Execution
from windtunnel.workloads.terasort.terasort import TeraSort, TeraSortParameters

TASK = "org.apache.hadoop.mapreduce.TaskCounter"
REPORT = "/w/trial/report/part-r-00000"
OUTPUT = "/w/trial/output/part-r-00000"
INPUT = "/w/trial/input/part-m-00000"


def terasort(**changes: Any) -> TeraSort:
    given = {"rows": ROWS, "input_replication": 1, "output_replication": 1} | changes
    wanted = {name: value for name, value in given.items() if value is not None}
    return TeraSort(validate(TeraSortParameters, Located(wanted)))


def run(workload: TeraSort) -> tuple[MockDeployment, Execution]:
    """All phases on a mock deployment, ready to be verified."""
    deployment = MockDeployment(MockTestbed(), load_cluster("local-3"), 1)
    execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
    workload.prepare(deployment, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, deployment, execution)
    return deployment, execution


def verdict_after(break_it: Callable[[MockDeployment, Execution], None]) -> Verdict:
    workload = terasort()
    deployment, execution = run(workload)
    break_it(deployment, execution)
    return workload.verify(deployment, execution)


def miscount(phase: str, counter: str, value: int | None) -> Callable[..., None]:
    """Change (or with None remove) a counter of a finished phase."""

    def change(deployment: MockDeployment, execution: Execution) -> None:
        old = execution.runs[phase]
        counters = {k: v for k, v in old.counters.items() if k != counter}
        if value is not None:
            counters[counter] = value
        execution.runs[phase] = JobRun(old.phase, counters, old.tasks)

    return change


def report(text: str) -> Callable[..., None]:
    return lambda deployment, execution: deployment.report("/w/trial/report", text)


def status(path: str, **facts: Any) -> Callable[..., None]:
    return lambda deployment, execution: deployment.files.change(path, **facts)


def missing(path: str) -> Callable[..., None]:
    return lambda deployment, execution: deployment.files.delete(path)


GENERATED = "org.apache.hadoop.examples.terasort.TeraGen$Counters:CHECKSUM"
GOOD_LINE = f"checksum\t{CHECKSUM:x}\n"


# -- the verdict -----------------------------------------------------------------------


def test_a_sound_run_is_valid_and_every_check_is_listed() -> None:
    verdict = verdict_after(lambda deployment, execution: None)

    assert verdict.valid
    assert verdict.reason == ""
    assert [check.name for check in verdict.checks] == [
        "order (TeraValidate's report)",
        "checksum of the output against TeraGen's",
        "rows of teragen",
        "rows of terasort",
        "rows of teravalidate",
        "stored input",
        "stored output",
    ]


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (
            report(f"misorder\tpart-r-00000\t-1\n{GOOD_LINE}"),
            "expected no errors, got 1 error lines, first: misorder",
        ),
        (report("checksum\tdead\n"), "checksum of the output against TeraGen's: expected 1f3a9c"),
        (report("checksum\tnot-a-number\n"), "checksum of the output against TeraGen's"),
        (report("checksum\n"), "got"),
        (report(""), "checksum of the output against TeraGen's: expected 1f3a9c, got none"),
        (report(GOOD_LINE * 2), "got none"),
        (missing("/w/trial/report"), "got none"),
        (miscount("teragen", GENERATED, None), "expected unknown"),
        (miscount("teragen", GENERATED, CHECKSUM + 1), "expected 1f3a9d, got 1f3a9c"),
        (
            miscount("terasort", f"{TASK}:REDUCE_OUTPUT_RECORDS", 999),
            "rows of terasort: expected 1000, got 999",
        ),
        (miscount("teragen", f"{TASK}:MAP_OUTPUT_RECORDS", None), "rows of teragen"),
        (miscount("teravalidate", f"{TASK}:MAP_INPUT_RECORDS", 1001), "rows of teravalidate"),
        (
            status(OUTPUT, length_bytes=99_900),
            "stored output: expected 100000 bytes with replication 1, got 99900 bytes",
        ),
        (status(INPUT, length_bytes=0), "stored input"),
        (status(OUTPUT, replication=3), "got 100000 bytes with replication 3"),
        (status(INPUT, replication=2), "stored input"),
        (missing(OUTPUT), "got 0 bytes with replication none"),
        (missing("/w/trial/input"), "stored input"),
    ],
)
def test_whatever_is_wrong_makes_the_trial_invalid_with_its_reason(
    break_it: Callable[..., None], reason: str
) -> None:
    verdict = verdict_after(break_it)

    assert not verdict.valid
    assert reason in verdict.reason


def test_all_that_is_wrong_is_told_at_once() -> None:
    def ruin(deployment: MockDeployment, execution: Execution) -> None:
        deployment.report("/w/trial/report", "checksum\tdead\n")
        deployment.files.delete(OUTPUT)

    verdict = verdict_after(ruin)
    assert "checksum" in verdict.reason
    assert "stored output" in verdict.reason
    assert sum(not check.passed for check in verdict.checks) == 2


def test_a_checksum_that_teragen_counted_as_a_negative_long_is_the_same_sum() -> None:
    def negative(deployment: MockDeployment, execution: Execution) -> None:
        miscount("teragen", GENERATED, -1)(deployment, execution)
        deployment.report("/w/trial/report", "checksum\t4ffffffffffffffff\n")

    assert verdict_after(negative).valid


@given(rows=st.lists(st.text() | st.text().map(lambda text: f"checksum\t{text}")))
def test_no_report_whatever_its_text_breaks_the_verification(rows: list[str]) -> None:
    verdict = verdict_after(report("\n".join(rows)))

    assert verdict.valid == all(check.passed for check in verdict.checks)


# -- the jobs --------------------------------------------------------------------------


def test_three_phases_in_their_order_with_their_settings() -> None:
    workload = terasort(maps=4, reduces=2, input_replication=2, output_replication=3)
    deployment, _ = run(workload)
    jobs = {phase: settings for _, phase, settings in deployment.testbed.jobs}

    assert list(jobs) == ["teragen", "terasort", "teravalidate"]
    assert jobs["teragen"] == {"dfs.replication": "2", "mapreduce.job.maps": "4"}
    assert jobs["terasort"] == {
        "mapreduce.terasort.output.replication": "3",
        "mapreduce.job.reduces": "2",
    }


def test_the_trial_leaves_nothing_on_the_file_system() -> None:
    workload = terasort()
    deployment, execution = run(workload)
    workload.clean(deployment, execution)

    assert deployment.files.statuses == {}


def test_a_reused_input_is_generated_untimed_and_stays() -> None:
    workload = terasort(reuse_input=True)
    deployment, execution = run(workload)

    assert workload.phases() == ("terasort", "teravalidate")
    assert workload.verify(deployment, execution).valid
    workload.clean(deployment, execution)
    assert [path.split("/")[2] for path in deployment.files.statuses] == ["shared"]


def test_a_second_trial_on_the_same_deployment_uses_the_input_again() -> None:
    deployment, _ = run(terasort(reuse_input=True))
    for folder in ("/w/shared", "/w/of-another-cluster"):
        execution = Execution("/w/next", folder, time.monotonic() + 60)
        terasort(reuse_input=True).prepare(deployment, execution)

    generated = [phase for _, phase, _ in deployment.testbed.jobs if phase == "teragen"]
    assert len(generated) == 2, "once for each shared folder"


# -- parameters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "rows"), [("1 GB", 10_000_000), ("1 GiB", 10_737_418), ("199 B", 1), ("100 B", 1)]
)
def test_a_size_is_rounded_down_to_whole_rows(size: str, rows: int) -> None:
    workload = terasort(rows=None, size=size)

    assert workload.parameters.row_count == rows
    assert workload.data_bytes() == rows * 100


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"size": "1 GB"}, "only one of them"),
        ({"rows": None}, "give either size or rows"),
        ({"rows": None, "size": 256}, "unit"),
        ({"rows": None, "size": "256"}, "unit"),
        ({"rows": None, "size": "99 B"}, "at least one row"),
        ({"rows": 0}, "more than 0"),
        ({"rows": 1.5}, "whole number"),
        ({"maps": -1}, "more than 0"),
        ({"input_replication": None}, "'input_replication' is missing"),
        ({"replication": 1}, "unknown key 'replication'"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        terasort(**changes)
    assert says in caught.value.render()


def test_replication_beyond_the_datanodes_is_refused_before_anything_starts() -> None:
    cluster = load_cluster("local-3")
    assert terasort(input_replication=3, output_replication=3).check(cluster) == []
    assert terasort(input_replication=4).check(cluster) == [
        "workloads.terasort.input_replication is 4, but the cluster has 3 datanodes"
    ]
    smaller = apply_overrides(cluster, {"hosts.worker.count": 1, "storage.replication": 1})
    assert len(terasort(input_replication=2, output_replication=2).check(smaller)) == 2


# -- demands ---------------------------------------------------------------------------


def test_demands_count_replication_and_the_shuffle() -> None:
    workload = terasort(rows=10, input_replication=3, output_replication=2)  # 1000 bytes

    teragen = workload.demands("teragen", workers=4)
    assert (teragen.disk_read_bytes, teragen.disk_write_bytes) == (0, 3000)
    assert teragen.network_bytes == 2000
    terasort_ = workload.demands("terasort", workers=4)
    assert terasort_.network_bytes == 0.75 * 1000 + 1000
    assert terasort_.disk_write_bytes == 3000
    assert workload.demands("teravalidate", workers=4).disk_read_bytes == 1000


def test_one_worker_alone_shuffles_nothing_over_the_network() -> None:
    assert terasort().demands("terasort", workers=1).network_bytes == 0


def test_the_registry_knows_terasort_and_says_what_else_there_is() -> None:
    assert find_workload("terasort") is TeraSort
    assert all(kind.name == name and kind.summary for name, kind in WORKLOADS.items())
    with pytest.raises(DescriptionError, match="no workload 'wordcont'") as caught:
        find_workload("wordcont")
    assert "terasort" in caught.value.remedy
