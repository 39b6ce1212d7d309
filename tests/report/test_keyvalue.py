"""The section and the charts of a key-value store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.served import folder
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.keyvalue import courses, curves, recovery
from windtunnel.report.charts import CHARTS
from windtunnel.report.charts import keyvalue as chart_module
from windtunnel.report.sections import keyvalue as section_module
from windtunnel.results.folder import read_results

IDS = ("kv-throughput", "kv-latency", "kv-curve")


def analysed(path: Path, *levels: str, factor: str = "rate") -> Analysis:
    return analyse(read_results(folder(path, Plan(2 * len(levels), levels, factor))))


def test_saturation_and_omission_are_said_in_full(tmp_path: Path) -> None:
    section = section_module.section(analysed(tmp_path, "sustainable", "unreachable"))
    assert section is not None
    saturated, omitted = section.said
    assert "was not reached): unreachable (100 of 1,000 ops/s). Their latencies" in saturated
    assert "sustainable, update: the 99th percentile is 18.0 ms from the intended" in omitted
    assert "underestimate it by a factor of 6.00" in omitted
    rates, latencies = section.tables
    assert [row[3] for row in rates.rows] == ["100 %", "10 %, saturated"]
    assert rates.strong == {1}
    assert latencies.rows[0][:4] == ("sustainable", "read", "2.00", "5.00")
    json.dumps(section.data, allow_nan=False)


def test_the_way_back_after_a_fault_is_said(tmp_path: Path) -> None:
    section = section_module.section(analysed(tmp_path, "none", "killed"))
    assert section is not None
    assert "killed: after the fault at 15.0 s the throughput returned to 80 %" in section.said[-1]


def test_of_a_fault_at_the_beginning_no_recovery_is_made_up(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, "none", "killed")
    (course,) = [one for one in analysis.once(courses) if one.faults]
    early = replace(course, faults=(2.0,), recovery_s=recovery(course.points, 2.0))
    assert early.recovery_s is None
    said = section_module._recovery(analysis, early, several=False)
    assert "the recovery time is unknown" in said
    assert "did not recover" not in said


@pytest.mark.parametrize("width", [380, 900])
def test_all_charts_can_be_drawn(width: int, tmp_path: Path) -> None:
    analysis = analysed(tmp_path, "1", "4", "16", factor="workloads.keyvalue.threads")
    for name in IDS:
        assert CHARTS[name].draw(analysis, width) is not None
    assert "100 ops/s at 1 threads, 1,000 at 16" in CHARTS["kv-curve"].describe(analysis)
    assert "1 thread read 2.00 and 9.00 ms" in CHARTS["kv-latency"].describe(analysis)
    assert "from 100 to 100 ops/s" in CHARTS["kv-throughput"].describe(analysis)


def test_without_varied_load_there_is_no_curve(tmp_path: Path) -> None:
    assert CHARTS["kv-curve"].draw(analysed(tmp_path, "unlimited"), 900) is None


def test_another_study_has_neither(tmp_path: Path) -> None:
    analysis = analyse(read_results(study_folder(tmp_path, Plan(trials=2))))
    assert section_module.section(analysis) is None
    assert all(CHARTS[name].draw(analysis, 900) is None for name in IDS)


def test_no_interval_of_a_rate_is_drawn_below_zero(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, "1", "4", "16", factor="workloads.keyvalue.threads")
    (curve,) = analysis.once(curves)
    wide = replace(curve, points=tuple((x, mean, -50.0, 900.0) for x, mean, _, _ in curve.points))
    drawn = json.dumps(chart_module._curves([wide], 900))
    assert "-50" not in drawn and '"high": 900' in drawn
