"""TestDFSIO on real daemons: its phases verified; a flipped byte and a missing file caught."""

from __future__ import annotations

import time

import pytest

from tests.real.conftest import write_file
from tests.support.dfsio import flipped
from windtunnel.cluster import Located, validate
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.dfsio.dfsio import Dfsio, DfsioParameters


@pytest.mark.usefixtures("small_jobs")
def test_its_phases_are_verified_and_what_is_wrong_is_caught(deployment: LocalDeployment) -> None:
    wanted = {"files": 2, "file_size": "1500 kB", "replication": 2, "buffer": "1000003 B"}
    workload = Dfsio(validate(DfsioParameters, Located(wanted | {"append": True})))
    execution = Execution("/windtunnel/dfsio", "/windtunnel", time.monotonic() + 300)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, deployment, execution)

    verdict = workload.verify(deployment, execution)
    assert verdict.valid, verdict.reason
    metrics = execution.runs["read"].phase.metrics
    assert metrics["moved"].value == 3_000_000
    assert metrics["aggregate_throughput"].value < metrics["throughput_per_task"].value
    # the arithmetic mean of two rates against their harmonic mean; the rates are 32-bit floats
    assert metrics["mean_task_rate"].value >= metrics["throughput_per_task"].value * (1 - 1e-6)

    folder = "/windtunnel/dfsio/dfsio/io_data"
    spoilt = flipped(deployment.files.read(f"{folder}/test_io_1", 1 << 30), 2_000_000)
    deployment.files.delete(f"{folder}/test_io_1")
    reason = workload.verify(deployment, execution).reason
    assert "expected 2 files of 3000000 bytes with replication 2, got 1 files" in reason
    write_file(deployment, f"{folder}/test_io_1", spoilt, 2)
    deployment.files.delete("/windtunnel/dfsio/checksum")
    reason = workload.verify(deployment, execution).reason
    assert reason.startswith("checksum of all that was read back: expected ")
    workload.clean(deployment, execution)
