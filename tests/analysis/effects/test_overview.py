"""The rows of the chart of all effects: one for each level, with names that are not ambiguous."""

from __future__ import annotations

from pathlib import Path

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.effects.overview import overview
from windtunnel.report.sections.effects import effects_table
from windtunnel.results.folder import read_results

MAP, REDUCE = "settings.mapreduce.map.memory.mb", "settings.mapreduce.reduce.memory.mb"


def test_settings_with_the_same_last_part_are_different_rows(tmp_path: Path) -> None:
    sizes = ("1024", "2048")
    plan = Plan(8, sizes, factor=MAP, extra_factors={REDUCE: sizes}, write_samples=False)
    analysis = analyse(read_results(study_folder(tmp_path, plan)))
    rows = dict(overview(analysis))

    names = {"map.memory.mb 2048 : 1024": MAP, "reduce.memory.mb 2048 : 1024": REDUCE}
    assert {name: [e.factor for e in effects] for name, effects in rows.items()} == {
        name: [factor] for name, factor in names.items()
    }
    table = effects_table(analysis, totals_only=True)
    assert table is not None
    assert {row[0] for row in table.rows} == names.keys()
