"""The mix: alone and together, slowdown and overlap, verification of every part, bad input."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.support.mock import MockDeployment, MockTestbed, job_run, plan_from
from windtunnel.cluster import load_cluster
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import DescriptionError, TrialInvalidError
from windtunnel.study.plan import make_workload
from windtunnel.workloads.base import Execution
from windtunnel.workloads.mix.mix import Mix, MixParameters

SORT = {"rows": 1000, "input_replication": 1, "output_replication": 1}
PARTS: dict[str, Any] = {
    "sort": {"workload": "terasort", "parameters": SORT},
    "gen": {"workload": "teragen", "weight": 2, "parameters": {"rows": 500, "replication": 1}},
}


class Deployment(MockDeployment):
    """TeraSort takes 10 s alone and 15 s beside TeraGen, which takes 4 s and 6 s."""

    crowded = False

    def run_job(
        self, phase: str, argv: Sequence[str], settings: Mapping[str, str], *, deadline_s: float
    ) -> JobRun:
        run = super().run_job(phase, argv, settings, deadline_s=deadline_s)
        seconds = {"terasort": (10.0, 15.0), "teragen": (4.0, 6.0)}.get(phase, (1.0, 1.0))
        return job_run(phase, seconds[self.crowded], run.counters)


def made(parts: Mapping[str, Any] = PARTS) -> Mix:
    workload = make_workload("mix", {"parts": parts})
    assert isinstance(workload, Mix)
    return workload


@pytest.fixture
def deployment() -> Deployment:
    return Deployment(MockTestbed(), load_cluster("local-3"), 1)


def execution() -> Execution:
    return Execution(folder="/trial", shared="/shared", deadline_s=time.monotonic() + 60)


def run(mix: Mix, deployment: Deployment, given: Execution) -> None:
    mix.prepare(deployment, given)
    for phase in mix.phases():
        deployment.crowded = phase == "together"
        given.runs[phase] = mix.run_phase(phase, deployment, given)


def test_each_part_runs_alone_and_then_all_together(deployment: Deployment) -> None:
    mix, given = made(), execution()
    run(mix, deployment, given)
    together = given.runs["together"].phase

    assert mix.phases() == ("alone-sort", "alone-gen", "together")
    assert given.runs["alone-sort"].phase.elapsed_s == 10
    assert together.metrics["sort: elapsed"].value == 15
    assert together.metrics["sort: slowdown"].value == pytest.approx(1.5)
    assert together.metrics["gen: slowdown"].value == pytest.approx(1.5)
    assert together.metrics["sort: overlap"].value == pytest.approx(6 / 15, abs=0.02)
    assert together.metrics["gen: overlap"].value == pytest.approx(1, abs=0.02)
    assert together.metrics["sort: cpu_time"].unit == "s"
    assert len(given.runs["together"].tasks) == 3, "one TeraSort, two TeraGens"
    assert together.elapsed_s == pytest.approx(15, abs=0.1)


def test_tasks_belong_to_the_phases_of_the_mix(deployment: Deployment) -> None:
    mix, given = made(), execution()
    run(mix, deployment, given)
    phases = {phase: {row["phase"] for row in given.runs[phase].tasks} for phase in mix.phases()}
    assert phases == {phase: {phase} for phase in mix.phases()}


def test_the_parts_have_the_time_limit_of_the_trial_as_it_was_extended(
    deployment: Deployment,
) -> None:
    mix, given = made(), execution()
    mix.prepare(deployment, given)
    given.deadline_s += 1000
    mix.run_phase("alone-sort", deployment, given)
    assert {one.execution.deadline_s for one in mix._of(given)} == {given.deadline_s}


def test_every_execution_is_verified_by_its_own_workload(deployment: Deployment) -> None:
    mix, given = made(), execution()
    run(mix, deployment, given)
    verdict = mix.verify(deployment, given)
    assert verdict.valid, verdict.reason
    names = {check.name.partition(":")[0] for check in verdict.checks}
    assert names == {
        "sort alone",
        "sort together",
        "gen alone",
        "gen together (1)",
        "gen together (2)",
    }
    mix.clean(deployment, given)
    assert not deployment.files.statuses


def test_one_wrong_output_among_them_is_found(deployment: Deployment) -> None:
    mix, given = made(), execution()
    run(mix, deployment, given)
    deployment.files.change("/trial/gen-2/rows/part-m-00000", length_bytes=49_900)
    verdict = mix.verify(deployment, given)
    assert not verdict.valid
    assert "gen together (2): stored rows" in verdict.reason
    assert "sort" not in verdict.reason


def test_a_part_that_fails_fails_the_trial(deployment: Deployment) -> None:
    parts = {**PARTS, "late": {**PARTS["gen"], "start": "30 s"}}
    mix, given = made(parts), execution()
    run_job, began = deployment.run_job, time.monotonic()

    def failing(phase: str, *args: Any, **more: Any) -> JobRun:
        if deployment.crowded and phase == "terasort":
            raise TrialInvalidError("terasort failed")
        return run_job(phase, *args, **more)

    deployment.run_job = failing  # type: ignore[method-assign]
    with pytest.raises(TrialInvalidError, match="terasort failed"):
        run(mix, deployment, given)
    assert time.monotonic() - began < 25, "what had not started yet was not waited for"


def test_the_measured_phase_is_the_workloads_own_unless_it_is_named() -> None:
    parameters = made().parameters
    assert isinstance(parameters, MixParameters)
    assert parameters.parts["sort"].measured() == "terasort"
    named = made({**PARTS, "sort": {**PARTS["sort"], "phase": "teragen"}}).parameters
    assert isinstance(named, MixParameters)
    assert named.parts["sort"].measured() == "teragen"


def test_phases_of_copies_report_no_fraction() -> None:
    assert made().phases_without_fraction() == ()
    put = {"workload": "transfer", "phase": "put", "parameters": {"size": "9 MB", "replication": 2}}
    copies = made(PARTS | {"put": put})
    assert copies.phases_without_fraction() == ("alone-put", "together")
    assert copies.phases_without_progress() == ()


def test_data_demands_and_scale_are_those_of_the_parts() -> None:
    mix = made()
    assert mix.data_bytes() == 100_000 + 2 * 50_000
    one, both = mix.demands("alone-gen", 3), mix.demands("together", 3)
    assert one.disk_write_bytes == 50_000
    assert both.disk_write_bytes > 2 * 50_000
    scaled = make_workload("mix", {"parts": PARTS}, 0.1)
    assert scaled.data_bytes() == 20_000


def scan(engine: str, **more: Any) -> dict[str, Any]:
    parameters = {"size": "1 MB", "replication": 1, "engine": engine, **more}
    return {"workload": "scan", "parameters": parameters}


SCAN = scan("spark")
IO = {"files": 1, "file_size": "1 MB", "replication": 1, "warm_read": True}


def test_parts_that_leave_room_for_each_other_may_be_of_one_kind() -> None:
    made({**PARTS, "a": SCAN, "c": scan("trino"), "d": scan("duckdb")})
    made({**PARTS, "d": {**scan("duckdb"), "weight": 2}, "e": scan("spark-local")})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sort": {"workload": "terasrot"}}, "there is no workload 'terasrot'"),
        ({"sort": {"workload": "mix"}}, "a mix cannot be part of a mix"),
        ({"sort": {"workload": "terasort", "parameters": {**SORT, "rowz": 1}}}, "rowz"),
        ({"sort": {**PARTS["sort"], "phase": "sort"}}, "terasort has no phase 'sort'"),
        ({"sort": {**PARTS["sort"], "weight": 0}}, "must be more than 0"),
        ({"together": PARTS["sort"]}, "a part cannot be called 'together'"),
        ({"kv a": PARTS["sort"]}, "a part cannot be called 'kv a'"),
        ({"../../shared": PARTS["sort"]}, "a part cannot be called"),
        ({"": PARTS["sort"]}, "a part cannot be called ''"),
        ({"a": SCAN, "b": SCAN}, "'scan' needs all memory of .*, which only one instance"),
        ({"a": {**SCAN, "weight": 2}}, "'scan' needs all memory"),
        ({"a": scan("trino"), "b": scan("trino")}, "needs the only set of Trino's servers"),
        (
            {"io": {"workload": "dfsio", "phase": "read-warm", "parameters": IO}},
            "'read-warm' measures the caches as one phase leaves them",
        ),
    ],
)
def test_bad_parts_are_named(changes: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        made({**PARTS, **changes})


def test_a_study_plans_a_mix() -> None:
    plan = plan_from(
        "study: m\ncluster: local-3\nworkloads:\n  mix:\n    parts:\n"
        "      sort: {workload: terasort, parameters: {rows: 10, input_replication: 1,"
        " output_replication: 1}}\n"
        "      pi: {workload: pi, start: 2 s, parameters: {maps: 1, samples_per_map: 10}}\n"
    )
    assert plan.engines() == []
    assert plan.workload_of("mix", plan.treatments[0]).phases()[-1] == "together"
