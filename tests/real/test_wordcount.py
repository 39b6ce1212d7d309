"""Words counted by our program without a combiner and by Pig: both as without Hadoop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import write_file
from windtunnel.cluster import Located, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.wordcount.wordcount import WordCount, WordCountParameters

ODD = "To be, or not\u00a0to be: \x0b that\r\nis\tthe \f question\n\nnaïve ☃ to \U0001f418 be"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Two thousand lines with all that splits words, and what only seems to."""
    path = tmp_path / "odd.txt"
    path.write_text("\n".join(f"{ODD} line{number % 700}" for number in range(2_000)), newline="")
    return path


def counted(
    deployment: LocalDeployment, text: Path, name: str, **how: Any
) -> tuple[WordCount, Execution, JobRun]:
    wanted = {"text": str(text), "replication": 1, "reduces": 2} | how
    workload = WordCount(validate(WordCountParameters, Located(wanted)))
    execution = Execution(f"/windtunnel/{name}", "/windtunnel/words", time.monotonic() + 300)
    workload.prepare(deployment, execution)
    (phase,) = workload.phases()
    execution.runs[phase] = run = workload.run_phase(phase, deployment, execution)
    return workload, execution, run


def test_both_agree_with_a_count_without_hadoop_and_what_is_wrong_is_caught(
    deployment: LocalDeployment, text: Path
) -> None:
    ways: dict[str, dict[str, Any]] = {"ours": {"combiner": False}, "pig": {"engine": "pig"}}
    for name, how in ways.items():
        workload, execution, run = counted(deployment, text, name, **how)
        verdict = workload.verify(deployment, execution)
        assert verdict.valid, f"{name}: {verdict.reason}"
        assert run.phase.metrics["cpu_time"].value > 0
        reduces = {row["task"] for row in run.tasks if row["type"] == "REDUCE"}
        assert len(reduces) == 2, "a slow machine may run more attempts"

    # of what the last of them wrote, one count is changed
    part = "/windtunnel/pig/counts/part-r-00000"
    data = deployment.files.read(part)
    line = next(line for line in data.splitlines() if line.endswith(b"\t2000"))
    deployment.files.delete(part)
    assert "distinct words: expected " in workload.verify(deployment, execution).reason
    write_file(deployment, part, data.replace(line, line[:-4] + b"2001"))
    reason = workload.verify(deployment, execution).reason
    assert reason.startswith("words: expected "), reason
    assert "distinct" not in reason
    assert "counts of all words (SHA-256): expected " in reason
