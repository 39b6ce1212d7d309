"""Pi: its parameters, its job, and a verdict that catches what can be wrong."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from tests.support.mock import job_run
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Verdict
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import Execution
from windtunnel.workloads.pi import Pi, PiParameters, error_bound

TASK = "org.apache.hadoop.mapreduce.TaskCounter"
SAID = "Job Finished in 9.1 seconds\nEstimated value of Pi is 3.14120000000000000000\n"
COUNTED = {f"{TASK}:MAP_INPUT_RECORDS": 4, f"{TASK}:REDUCE_INPUT_RECORDS": 8}


def pi(**changes: Any) -> Pi:
    given = {"maps": 4, "samples_per_map": 2500} | changes
    return Pi(validate(PiParameters, Located(given)))


class Deployment:
    """Takes one job."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, list[str], dict[str, str]]] = []
        self.files = self
        self.deleted: list[str] = []

    def run_job(self, phase: str, argv: list[str], settings: dict[str, str], **_: Any) -> JobRun:
        self.jobs.append((phase, argv, settings))
        return job_run(phase, 5.0)

    def delete(self, path: str) -> None:
        self.deleted.append(path)


def verdict(output: str = SAID, counters: dict[str, int] = COUNTED) -> Verdict:
    execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
    execution.runs["pi"] = JobRun(job_run("pi", 5.0).phase, counters, output=output)
    return pi().verify(Deployment(), execution)  # type: ignore[arg-type]


def test_a_good_estimate_of_all_maps_is_valid() -> None:
    found = verdict()

    assert found.valid
    assert [check.name for check in found.checks] == [
        "estimate of pi",
        "points within the circle",
        "maps by MAP_INPUT_RECORDS",
        "maps by REDUCE_INPUT_RECORDS",
    ]


@pytest.mark.parametrize(
    ("output", "counters", "says"),
    [
        ("", COUNTED, "estimate of pi: expected 3.141593 within 0.049, got no estimate"),
        (SAID + SAID, COUNTED, "got no estimate"),
        (SAID.replace("3.1412", "3.2000"), COUNTED, "got 3.2000"),
        (SAID.replace("3.1412", "3.1413"), COUNTED, "points within the circle"),
        (SAID, {**COUNTED, f"{TASK}:MAP_INPUT_RECORDS": 3}, "expected 4, got 3"),
        (SAID, {**COUNTED, f"{TASK}:REDUCE_INPUT_RECORDS": 6}, "expected 8, got 6"),
        (SAID, {}, "got unknown"),
    ],
)
def test_whatever_is_wrong_makes_the_trial_invalid(
    output: str, counters: dict[str, int], says: str
) -> None:
    found = verdict(output, counters)

    assert not found.valid
    assert says in found.reason


def test_the_job_keeps_its_files_in_the_trials_folder() -> None:
    deployment = Deployment()
    execution = Execution("/w/trial", "/w/shared", time.monotonic() + 60)
    workload = pi(maps=8, samples_per_map=10)
    for phase in workload.phases():
        workload.run_phase(phase, deployment, execution)  # type: ignore[arg-type]
    workload.clean(deployment, execution)  # type: ignore[arg-type]

    ((phase, argv, settings),) = deployment.jobs
    assert phase == "pi"
    assert argv == ["org.apache.hadoop.examples.QuasiMonteCarlo", "8", "10"]
    assert settings == {"dfs.user.home.dir.prefix": "/w/trial"}
    assert deployment.deleted == ["/w/trial"]


def test_the_bound_holds_for_the_sequence_itself() -> None:
    points = qmc.Halton(2, scramble=False).random(1_000_000) - 0.5
    inside = np.cumsum((points**2).sum(axis=1) <= 0.25)
    count = np.arange(1, len(inside) + 1)
    error = np.abs(4 * inside / count - math.pi)
    share = error / (3 * np.sqrt(math.pi * (4 - math.pi) / count))

    assert share.max() < 1.0
    assert share[999:].max() < 0.5, "a wide margin from a thousand points on"


@given(points=st.integers(1, 10**12))
def test_more_points_allow_less_error(points: int) -> None:
    assert error_bound(points + 1) < error_bound(points)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"maps": 0}, "more than 0"),
        ({"samples_per_map": 1.5}, "whole number"),
        ({"samples": 5}, "unknown key 'samples'"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        pi(**changes)
    assert says in caught.value.render()


def test_it_moves_no_data_and_needs_yarn() -> None:
    cluster = load_cluster("local-3")

    assert find_workload("pi") is Pi
    assert pi().check(cluster) == []
    assert pi().demands("pi", workers=3).network_bytes == 0
    assert pi().data_bytes() == 0
    roles = {"hosts.worker.roles": ["datanode"], "hosts.master.roles": ["namenode"]}
    assert len(pi().check(apply_overrides(cluster, roles))) == 1
