"""Reads that may have come from memory are flagged, those from disks are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.built import Built, built
from windtunnel.analysis.analyse import analyse
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Before

GB = 10**9


def flagged(path: Path, phase: str, cache: Any, size: float, **metrics: float) -> dict[str, str]:
    """Severities and texts of a read of so many bytes at 100 MB/s, with 16 GB free."""
    told = {"moved": size, "hdfs_bytes_read": size + 100, "aggregate_throughput": 1e8} | metrics
    built(path, [Built(metrics=told)], phase=phase)
    found = read_results(path)
    before = Before(
        load_1min=0,
        memory_available_bytes=16 * GB,
        page_cache_bytes=GB,
        cpu_idle_share=1,
        cache_state=cache,
    )
    trials = [trial.model_copy(update={"before": before}) for trial in found.trials]
    raised = analyse(Results(found.path, found.study, trials)).warnings
    return {warning.severity: warning.text for warning in raised if warning.id == "cached-read"}


def test_a_read_that_fits_is_flagged_where_caches_stayed(tmp_path: Path) -> None:
    (text,) = flagged(tmp_path, "read", "warm", GB).values()
    assert text == (
        "work read reads 1.00 GB, which fits in the memory of 16.0 GB, and caches were not "
        "dropped: its rates are those of the page cache"
    )


@pytest.mark.parametrize("cache", ["warm", "dropped"])
def test_a_read_that_is_warm_on_purpose_is_noted(tmp_path: Path, cache: str) -> None:
    assert list(flagged(tmp_path, "read-warm", cache, GB)) == ["note"]


@pytest.mark.parametrize(
    ("phase", "cache", "size", "metrics"),
    [
        ("read", "dropped", GB, {}),
        ("read", "larger than memory", GB, {}),
        ("read", "warm", 20 * GB, {}),
        ("read-warm", "warm", 20 * GB, {}),
        ("write", "warm", GB, {"hdfs_bytes_read": 100}),
        ("append", "warm", 0, {}),
    ],
)
def test_others_are_not(
    tmp_path: Path, phase: str, cache: str, size: float, metrics: dict[str, float]
) -> None:
    assert flagged(tmp_path, phase, cache, size, **metrics) == {}
