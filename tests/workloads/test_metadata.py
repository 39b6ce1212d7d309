"""Metadata operations: what a trial must have done to be valid, and its numbers."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.storage_system import Memory
from windtunnel.errors import TrialInvalidError
from windtunnel.workloads import find_workload
from windtunnel.workloads import metadata as module
from windtunnel.workloads.base import Execution
from windtunnel.workloads.metadata import Metadata, MetadataParameters, _answer, _run

WANTED = MetadataParameters(files=2500, files_per_folder=1000, file_bytes=10, listings=4)
NOBODY: Any = None


def line(phase: str, **changes: int) -> dict[str, Any]:
    """What the client prints if everything went well."""
    names = {"rename": (0, 2500), "delete": (0, 0)}.get(phase, (2500, 0))
    return {
        "operation": phase,
        "started_at_ms": 1_700_000_000_000,
        "elapsed_ns": 2_000_000_000,
        "operations": 12 if phase == "list" else 2500,
        "p50_ns": 500_000,
        "p99_ns": 4_000_000,
        "files": {"stat": 2500, "list": 10_000}.get(phase, 0),
        "bytes": {"stat": 25_000, "list": 100_000}.get(phase, 0),
        "old_names": names[0],
        "new_names": names[1],
        **changes,
    }


def execution(**changes: dict[str, int]) -> Execution:
    """The phases of a trial, with changes by phase."""
    phases = Metadata(WANTED).phases()
    runs = {p: _run(p, line(p, **changes.get(p, {})), 3.0) for p in phases}
    return Execution("/trial", "/shared", 0.0, runs)


def test_a_trial_that_did_everything_is_valid() -> None:
    found = Metadata(WANTED).verify(NOBODY, execution())
    assert found.valid, found.reason
    assert len(found.checks) == 12


@pytest.mark.parametrize(
    ("phase", "change", "says"),
    [
        ("create", {"old_names": 2499}, "expected 2500 old, 0 new, got 2499 old, 0 new"),
        (
            "stat",
            {"bytes": 24_990},
            "expected 2500 files, 25000 bytes, got 2500 files, 24990 bytes",
        ),
        ("list", {"files": 9_999}, "list: files and their bytes: expected 10000 files"),
        ("rename", {"old_names": 1, "new_names": 2499}, "expected 0 old, 2500 new"),
        ("delete", {"new_names": 1}, "expected 0 old, 0 new, got 0 old, 1 new"),
        ("delete", {"operations": 2499}, "delete: operations: expected 2500, got 2499"),
    ],
)
def test_a_missing_name_or_operation_is_found(
    phase: str, change: dict[str, int], says: str
) -> None:
    found = Metadata(WANTED).verify(NOBODY, execution(**{phase: change}))
    assert not found.valid
    assert says in found.reason


def test_times_are_those_of_the_operations_without_the_start_of_the_client() -> None:
    run = _run("create", line("create"), wall_s=3.0)
    assert (run.phase.elapsed_s, run.phase.wall_s) == (2.0, 3.0)
    numbers = {name: metric.value for name, metric in run.phase.metrics.items()}
    assert numbers == {"operation_rate": 1250.0, "operation_p50": 0.5, "operation_p99": 4.0}


@pytest.mark.parametrize("times", [0, 2])
def test_the_client_must_print_one_result(times: int) -> None:
    text = "\n".join(["a warning of the JVM", *[json.dumps(line("stat"))] * times])
    with pytest.raises(TrialInvalidError, match=f"stat printed {times} results"):
        _answer("stat", text)
    assert _answer("stat", json.dumps(line("stat")))["operations"] == 2500


def test_a_model_has_fewer_files() -> None:
    assert find_workload("metadata") is Metadata
    assert WANTED.at_scale(0.1)["files"] == 250
    assert Metadata(WANTED).data_bytes() == 25_000


@pytest.mark.parametrize(("pids", "expected"), [((7, 7), 300.0), ((7, 8), None)])
def test_the_memory_per_file_is_the_growth_of_one_process(
    monkeypatch: pytest.MonkeyPatch, pids: tuple[int, int], expected: float | None
) -> None:
    values = [Memory(pids[0], 10_000_000), Memory(pids[1], 10_750_000)]
    storage = SimpleNamespace(metadata_memory=lambda: values.pop(0))
    hadoop: Any = SimpleNamespace(daemons=SimpleNamespace(storage=storage))
    monkeypatch.setattr(module, "own_programs", lambda deployment: deployment)
    answer = (json.dumps(line("create")), 3.0)
    monkeypatch.setattr(module, "run_own_client", lambda *words: answer)
    run = Metadata(WANTED).run_phase("create", hadoop, Execution("/trial", "/shared", 0.0))
    found = run.phase.metrics.get("memory_per_file")
    assert (found.value if found else None) == expected
    assert values == [], "measured before and after"
