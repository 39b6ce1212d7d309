"""A mix with real daemons: a job and two copies at the same time, both verified."""

from __future__ import annotations

import time

import pytest

from windtunnel.study.plan import make_workload
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution

PARTS = {
    "pi": {"workload": "pi", "parameters": {"maps": 1, "samples_per_map": 1000}},
    "put": {
        "workload": "transfer",
        "phase": "put",
        "weight": 2,
        "start": "1 s",
        "parameters": {"size": "4 MB", "replication": 2},
    },
}


@pytest.mark.usefixtures("small_jobs")
def test_parts_run_alone_and_together_and_are_verified(deployment: LocalDeployment) -> None:
    mix = make_workload("mix", {"parts": PARTS})
    given = Execution("/mix/trial", "/mix/shared", time.monotonic() + 240)
    mix.prepare(deployment, given)
    for phase in mix.phases():
        given.runs[phase] = mix.run_phase(phase, deployment, given)
    verdict = mix.verify(deployment, given)
    mix.clean(deployment, given)

    assert verdict.valid, verdict.reason
    together = given.runs["together"].phase
    for part in PARTS:
        assert together.metrics[f"{part}: slowdown"].value > 0
        assert 0 <= together.metrics[f"{part}: overlap"].value <= 1
    assert together.elapsed_s >= together.metrics["pi: elapsed"].value * 0.99
    assert deployment.files.list_files("/mix/trial") == []
