"""The section of a mix: slowdowns paired within trials, with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.mix import parts_in_mix
from windtunnel.report.charts import CHARTS
from windtunnel.report.sections import mix as section_module
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial

SLOWER = 1.6


def mixed(trial: Trial) -> Trial:
    """TeraGen stands for a part alone, TeraSort for the mix."""
    gen, sort, _ = trial.phases
    tail = {"read_p99": Metric(value=gen.elapsed_s, unit="ms")}
    alone = gen.model_copy(update={"name": "alone-kv", "metrics": {**gen.metrics, **tail}})
    metrics = {
        "kv: elapsed": Metric(value=gen.elapsed_s * SLOWER, unit="s"),
        "kv: read_p99": Metric(value=gen.elapsed_s * 4, unit="ms"),
        "kv: overlap": Metric(value=0.4, unit="ratio"),
        "kv: cpu_time": Metric(value=gen.metrics["cpu_time"].value * 2, unit="s"),
    }
    together = sort.model_copy(update={"name": "together", "metrics": metrics})
    return trial.model_copy(update={"phases": [alone, together]})


def analysed(path: Path, trials: int) -> Analysis:
    plan = Plan(trials=trials, levels=("stock",), edit=mixed, write_samples=False)
    return analyse(read_results(study_folder(path, plan)))


def test_the_slowdown_is_a_ratio_within_each_trial(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, 5)
    (part,) = analysis.once(parts_in_mix)
    assert (part.part, part.n, part.overlap) == ("kv", 5, pytest.approx(0.4))
    change = part.slowdown
    # the noise of a trial is in both of its times: the ratio has none
    assert change.ratio == pytest.approx(SLOWER)
    assert change.low == pytest.approx(SLOWER)
    assert [c.metric for c in part.others] == ["cpu_time", "read_p99"]
    (cpu,) = [c for c in part.others if c.metric == "cpu_time"]
    assert cpu.ratio == pytest.approx(2)


def test_section_chart_and_data(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, 1)
    section = section_module.section(analysis)
    assert section is not None
    assert section.said[0] == (
        "kv takes 1.60 times as long together with the others as alone; its read p99 is 4.00 times "
        "as large; other parts ran in 40 % of that time"
    )
    json.dumps(section.data, allow_nan=False)
    assert CHARTS["mix"].draw(analysis, 700) is not None
    assert "kv 1.60" in CHARTS["mix"].describe(analysis)


def test_without_intervals_the_section_states_that_once(tmp_path: Path) -> None:
    one, five = (section_module.section(analysed(tmp_path / str(n), n)) for n in (1, 5))
    assert one is not None and one.answer is not None and five is not None
    assert one.lead.endswith(f"{INTERVALS_UNKNOWN.capitalize()}.")
    assert one.answer.count(INTERVALS_UNKNOWN) == 1
    assert "interval unknown" not in str((one.said, one.tables, one.answer))
    assert all("95 % interval" not in [c.name for c in table.columns] for table in one.tables)
    assert "as alone [1.60, 1.60]" in five.said[0] and "95 % interval" in five.lead
    assert INTERVALS_UNKNOWN not in f"{five.answer}{five.lead.lower()}"
    assert "95 % interval" in [column.name for column in five.tables[0].columns]


def test_no_mix_no_section(tmp_path: Path) -> None:
    plan = Plan(trials=2, write_samples=False)
    analysis = analyse(read_results(study_folder(tmp_path, plan)))
    assert section_module.section(analysis) is None
    assert CHARTS["mix"].draw(analysis, 700) is None
