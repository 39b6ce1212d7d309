"""TeraSort on real daemons: a verified trial, and outputs that were tampered with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.real.conftest import by_hand, commands_of, jobs_in_one_jvm, wait_for, write_file
from windtunnel.cluster import load_text, validate
from windtunnel.engines.deployment import Deployment
from windtunnel.errors import TrialInvalidError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial, Verdict
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.terasort.terasort import TeraSort, TeraSortParameters

ROWS = 50_000
PARAMETERS = {"rows": ROWS, "input_replication": 2, "output_replication": 1, "reduces": 2}
STUDY = f"""\
study: terasort
cluster: local-3
workloads:
  terasort: {PARAMETERS}
protocol: {{rounds: 1, trial_time_limit: 5 min}}
"""
FIRST = "output/part-r-00000"


@dataclass
class Sorted:
    """A trial, its results folder, and a copy of its files; ``part`` is a file of the output."""

    trial: Trial
    results: Path
    execution: Execution
    part: bytes


@pytest.fixture(scope="module")
def done(deployment: LocalDeployment, tmp_path_factory: pytest.TempPathFactory) -> Sorted:
    """One trial; its files are copied after its last phase, because a trial removes them."""
    folder = tmp_path_factory.mktemp("terasort")
    copies: list[Execution] = []

    def copy(phase: str, running: Deployment, execution: Execution) -> None:
        if phase == "teravalidate":
            by_hand(deployment, "hdfs", "dfs", "-cp", execution.folder, "/copy")
            copies.append(Execution("/copy", execution.shared, 0.0, dict(execution.runs)))

    located = load_text(STUDY, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    journaled = open_journal(folder / "results", study_record(plan))
    with journaled as journal, jobs_in_one_jvm(deployment):
        conditions = Conditions(after_phase=copy)
        trial = run_trial(plan, plan.round_slots(1)[0], 1, deployment, journal, conditions)[0]
    part = deployment.files.read(f"/copy/{FIRST}", 1 << 30)
    return Sorted(trial, folder / "results", copies[0], part)


def verified(deployment: LocalDeployment, done: Sorted) -> Verdict:
    """The verdict on the present files: TeraValidate reads them again.

    An application master removes ``_temporary`` of its output folder a second time, five seconds
    after its job. It must not be that of the next job.
    """
    wait_for(
        lambda: not any("MRAppMaster" in words for words in commands_of(deployment)),
        "the end of the application master",
    )
    deployment.files.delete(f"{done.execution.folder}/report")
    done.execution.deadline_s = time.monotonic() + 300
    parameters: dict[str, Any] = {**PARAMETERS, "time_validation": False}
    workload = TeraSort(TeraSortParameters.model_validate(parameters))
    with jobs_in_one_jvm(deployment):
        return workload.verify(deployment, done.execution)


def write_part(deployment: LocalDeployment, done: Sorted, data: bytes) -> None:
    write_file(deployment, f"{done.execution.folder}/{FIRST}", data)


def test_a_trial_is_verified_and_recorded(done: Sorted) -> None:
    trial = done.trial
    assert trial.verdict.valid, trial.verdict.reason
    assert [phase.name for phase in trial.phases] == ["teragen", "terasort", "teravalidate"]
    for phase in trial.phases:
        assert 0 < phase.elapsed_s < phase.wall_s
        assert phase.metrics["cpu_time"].value > 0
    sort = trial.phases[1].metrics
    assert sort["reduce_output_records"].value == ROWS
    assert sort["hdfs_bytes_written"].value == ROWS * 100
    assert sort["shuffle_time"].value > 0

    found = read_results(done.results)
    attempts = pq.read_table(found.tasks_path(found.trials[0])).to_pylist()
    tasks = [row for row in attempts if row["status"] == "SUCCEEDED"]
    assert {row["host"] for row in tasks} <= {"worker-1", "worker-2"}
    reduces = [r for r in attempts if r["type"] == "REDUCE" and r["phase"] == "terasort"]
    assert sum(row["status"] == "SUCCEEDED" for row in reduces) == 2
    # without speculation, the history has all attempts: none is stopped by the end of the job
    assert sort["reduces"].value == sum(row["started_at"] is not None for row in reduces)
    assert all(row["started_at"] < row["finished_at"] for row in tasks)
    samples = pq.read_table(found.samples_path(found.trials[0])).to_pylist()
    metrics = {row["metric"] for row in samples}
    assert {"cpu_user", "load_1min", "net_sent", "daemon_rss:namenode@master"} <= metrics
    assert trial.metrics["sampler_cpu_share"].value < 0.05


def test_a_removed_row_makes_the_trial_invalid(deployment: LocalDeployment, done: Sorted) -> None:
    write_part(deployment, done, done.part[:-100])
    verdict = verified(deployment, done)
    assert not verdict.valid
    assert "checksum of the output" in verdict.reason
    assert f"rows of teravalidate: expected {ROWS}, got {ROWS - 1}" in verdict.reason


def test_swapped_rows_make_the_trial_invalid(deployment: LocalDeployment, done: Sorted) -> None:
    """The checksum does not depend on the order; only the lines of the report show it."""
    data = done.part
    write_part(deployment, done, data[-100:] + data[100:-100] + data[:100])
    verdict = verified(deployment, done)
    assert not verdict.valid
    assert "order (TeraValidate's report)" in verdict.reason
    assert "checksum" not in verdict.reason


def test_a_flipped_byte_in_a_block_file_makes_the_trial_invalid(
    deployment: LocalDeployment, done: Sorted
) -> None:
    write_part(deployment, done, done.part)
    folder = deployment.registration.scratch
    blocks = [path for path in folder.glob("worker-*/disk-*/**/blk_*") if path.suffix != ".meta"]
    newest = max(blocks, key=lambda p: p.stat().st_mtime if p.stat().st_size > 1e6 else 0)
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 0xFF
    newest.write_bytes(data)

    with pytest.raises(TrialInvalidError, match="teravalidate failed"):
        verified(deployment, done)
