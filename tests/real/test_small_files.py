"""The example's workload on real HDFS."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from windtunnel.cluster import Located, validate
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/plugin"


def test_small_files_are_created_listed_and_deleted(
    deployment: LocalDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    from windtunnel_small_files.workload import SmallFiles, SmallFilesParameters

    wanted = {"files": 50, "replication": 2, "listings": 3}
    workload = SmallFiles(validate(SmallFilesParameters, Located(wanted)))
    given = Execution("/small-files/trial", "/small-files/shared", time.monotonic() + 120)
    workload.prepare(deployment, given)
    for phase in workload.phases():
        given.runs[phase] = workload.run_phase(phase, deployment, given)
    verdict = workload.verify(deployment, given)
    workload.clean(deployment, given)

    assert verdict.valid, verdict.reason
    for run in given.runs.values():
        assert run.phase.metrics["small_file_rate"].value > 0
    assert deployment.files.folders("/small-files") == []
