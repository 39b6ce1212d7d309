"""TeraSort on real daemons: a verified trial, and outputs that were tampered with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.real.conftest import by_hand
from windtunnel.cluster import load_text, validate
from windtunnel.engines.deployment import Deployment
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import Journal, open_journal
from windtunnel.study.plan import Plan, make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, PhaseHook, run_trial
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution

ROWS = 50_000
STUDY = f"""\
study: terasort
cluster: local-3
set:
  settings.mapreduce.job.ubertask.enable: true  # takes effect with one reducer
  settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms: 100
workloads:
  terasort:
    {{rows: {ROWS}, input_replication: 2, output_replication: 1, reduces: REDUCES, MORE}}
protocol: {{rounds: 1, trial_time_limit: 5 min}}
"""
Run = Callable[[PhaseHook | None], Trial]


@pytest.fixture
def plan(request: pytest.FixtureRequest) -> Plan:
    """One reducer and an input that tests share, unless the test asks for more reducers."""
    reduces = getattr(request, "param", 1)
    text = STUDY.replace("REDUCES", str(reduces))
    located = load_text(
        text.replace("MORE", f"reuse_input: {str(reduces == 1).lower()}"), "study.yaml"
    )
    return make_plan(validate(StudyFile, located), located)


@pytest.fixture
def journal(plan: Plan, tmp_path: Path) -> Iterator[Journal]:
    with open_journal(tmp_path / "results", study_record(plan)) as opened:
        yield opened


@pytest.fixture
def run(plan: Plan, journal: Journal, deployment: LocalDeployment) -> Run:
    def one(hook: PhaseHook | None) -> Trial:
        slot = plan.round_slots(1)[0]
        attempt = len(journal.attempts(slot)) + 1
        return run_trial(plan, slot, attempt, deployment, journal, Conditions(after_phase=hook))[0]

    return one


def client(deployment: Deployment, *words: str) -> None:
    assert isinstance(deployment, LocalDeployment)
    by_hand(deployment, *words)


@pytest.mark.parametrize("plan", [2], indirect=True)
def test_a_trial_is_verified_and_recorded(run: Run, journal: Journal) -> None:
    trial = run(None)
    assert trial.verdict.valid, trial.verdict.reason
    assert [phase.name for phase in trial.phases] == ["teragen", "terasort", "teravalidate"]
    for phase in trial.phases:
        assert 0 < phase.elapsed_s < phase.wall_s
        assert phase.metrics["cpu_time"].value > 0
    sort = trial.phases[1].metrics
    assert sort["reduce_output_records"].value == ROWS
    assert sort["hdfs_bytes_written"].value == ROWS * 100
    assert sort["reduces"].value == 2
    assert sort["shuffle_time"].value > 0

    found = read_results(journal.path)
    attempts = pq.read_table(found.tasks_path(found.trials[0])).to_pylist()
    tasks = [row for row in attempts if row["status"] == "SUCCEEDED"]
    assert {row["host"] for row in tasks} <= {"worker-1", "worker-2"}
    assert sum(row["type"] == "REDUCE" and row["phase"] == "terasort" for row in tasks) == 2
    assert all(row["started_at"] < row["finished_at"] for row in tasks)
    samples = pq.read_table(found.samples_path(found.trials[0])).to_pylist()
    metrics = {row["metric"] for row in samples}
    assert {"cpu_user", "load_1min", "net_sent", "daemon_rss:namenode@master"} <= metrics
    assert trial.metrics["sampler_cpu_share"].value < 0.05


def test_a_removed_row_makes_the_trial_invalid(run: Run, tmp_path: Path) -> None:
    def remove_row(phase: str, deployment: Deployment, execution: Execution) -> None:
        if phase == "terasort":
            remote, local = f"{execution.folder}/output/part-r-00000", tmp_path / "part"
            client(deployment, "hdfs", "dfs", "-get", remote, str(local))
            local.write_bytes(local.read_bytes()[:-100])
            client(deployment, "hdfs", "dfs", "-put", "-f", str(local), remote)

    trial = run(remove_row)
    assert not trial.verdict.valid
    assert "checksum of the output" in trial.verdict.reason
    assert f"rows of teravalidate: expected {ROWS}, got {ROWS - 1}" in trial.verdict.reason


def test_swapped_rows_make_the_trial_invalid(run: Run, tmp_path: Path) -> None:
    """The checksum does not depend on order: only the report's error lines tell."""

    def swap(phase: str, deployment: Deployment, execution: Execution) -> None:
        if phase == "terasort":
            remote, local = f"{execution.folder}/output/part-r-00000", tmp_path / "part"
            client(deployment, "hdfs", "dfs", "-get", remote, str(local))
            data = local.read_bytes()
            local.write_bytes(data[-100:] + data[100:-100] + data[:100])
            client(deployment, "hdfs", "dfs", "-put", "-f", str(local), remote)

    trial = run(swap)
    assert not trial.verdict.valid
    assert "order (TeraValidate's report)" in trial.verdict.reason
    assert "checksum" not in trial.verdict.reason


def test_a_flipped_byte_in_a_block_file_makes_the_trial_invalid(run: Run) -> None:
    def flip(phase: str, deployment: Deployment, execution: Execution) -> None:
        if phase == "terasort":
            assert isinstance(deployment, LocalDeployment)
            folder = deployment.registration.scratch
            blocks = [p for p in folder.glob("worker-*/disk-*/**/blk_*") if p.suffix != ".meta"]
            newest = max(blocks, key=lambda p: p.stat().st_mtime if p.stat().st_size > 1e6 else 0)
            data = bytearray(newest.read_bytes())
            data[len(data) // 2] ^= 0xFF
            newest.write_bytes(data)

    trial = run(flip)
    assert not trial.verdict.valid
    assert "teravalidate failed" in trial.verdict.reason
