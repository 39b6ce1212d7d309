"""What a report says first: where a section answers the question, its words; else the times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.scaling.test_data_size import analysed as sized_study
from tests.analysis.scaling.test_data_size import line, sized
from tests.report.test_mix import analysed as mixed_study
from tests.support.served import folder
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.report.export import to_json
from windtunnel.report.sections import headline
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.results.folder import read_results


def store(path: Path, *levels: str, factor: str = "rate") -> str:
    return headline(analyse(read_results(folder(path, Plan(2 * len(levels), levels, factor)))))


def test_a_study_of_sizes_begins_with_its_lines(tmp_path: Path) -> None:
    said = headline(sized_study(tmp_path, sized(line)))
    assert "terasort takes 2.0" in said and "plus size / 50" in said and "MB/s [" in said
    assert "less time" not in said and "more time" not in said
    assert "not linear" not in said


def test_times_that_bend_are_not_told_as_a_line_without_saying_so(tmp_path: Path) -> None:
    said = headline(sized_study(tmp_path, sized(lambda size: 2 + (size / 1e8) ** 2)))
    assert "not linear: terasort teragen, " in said


def test_a_mix_begins_with_its_slowdowns(tmp_path: Path) -> None:
    assert headline(mixed_study(tmp_path, 5)).startswith("kv takes 1.60 times as long together")


def test_a_store_begins_with_what_it_served(tmp_path: Path) -> None:
    assert store(tmp_path, "1", "4", "16", factor="workloads.keyvalue.threads") == (
        "keyvalue serves 100 ops/s [100, 100] (1 thread) to "
        "1,000 ops/s [1,000, 1,000] (16 threads)."
    )


def test_a_store_at_a_rate_begins_with_how_soon_it_answers(tmp_path: Path) -> None:
    assert store(tmp_path, "sustainable", "unreachable") == (
        "keyvalue serves 100 ops/s [100, 100] (unreachable); "
        "at 100 ops/s answers 99 % of its reads within 9.00 ms [9.00, 9.00] (sustainable)."
    )


def test_unknown_intervals_of_a_store_are_stated_once(tmp_path: Path) -> None:
    levels = ("1", "4", "16")
    plan = Plan(len(levels), levels, "workloads.keyvalue.threads")
    assert headline(analyse(read_results(folder(tmp_path, plan)))) == (
        f"keyvalue serves 100 ops/s (1 thread) to 1,000 ops/s (16 threads); {INTERVALS_UNKNOWN}."
    )


def test_after_a_fault_the_times_are_told(tmp_path: Path) -> None:
    assert "ops/s" not in store(tmp_path, "none", "killed")


@pytest.mark.parametrize("trials", [1, 3])
def test_any_other_study_begins_with_its_times(tmp_path: Path, trials: int) -> None:
    analysis = analyse(read_results(study_folder(tmp_path, Plan(trials=trials))))
    assert headline(analysis) == analysis.answer == to_json(analysis)["answer"]
    json.dumps(to_json(analysis), allow_nan=False)
