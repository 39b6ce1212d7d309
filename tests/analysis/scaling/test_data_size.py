"""Time against size: lines against known truth, which factors set a size, what bends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.scaling.data_size import SizeFit, size_fits
from windtunnel.report.charts import CHARTS
from windtunnel.report.sections import sizes as section_module
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial

LEVELS = ("100 MB", "200 MB", "300 MB", "400 MB", "500 MB")
FIXED_S, RATE = 2.0, 50e6


def sized(
    seconds: Callable[[float], float], path: str = "workloads.terasort.size", also: str = ""
) -> object:
    """Every phase takes the seconds of its size, with the noise that it had."""

    def edit(trial: Trial) -> Trial:
        level = trial.treatment.levels["size"]
        size = float(level.split()[0]) * 1e6
        usual = {"teragen": 14.0, "terasort": 38.0, "teravalidate": 9.0}
        phases = [
            p.model_copy(update={"elapsed_s": seconds(size) * p.elapsed_s / usual[p.name]})
            for p in trial.phases
        ]
        treatment = trial.treatment.model_copy(update={"overrides": {path: level}})
        metrics = {**trial.metrics, "data_bytes": Metric(value=size, unit="bytes")}
        parameters = {"size": level} | ({also: f"the one of {level}"} if also else {})
        update = {"phases": phases, "treatment": treatment, "metrics": metrics}
        return trial.model_copy(update={**update, "parameters": parameters})

    return edit


def line(size: float) -> float:
    return FIXED_S + size / RATE


def analysed(path: Path, edit: object, **plan: object) -> Analysis:
    given = {"factor": "size", "levels": LEVELS, "effect": 0.0, "trials": 15, "edit": edit}
    made = Plan(**{**given, "write_samples": False, **plan})  # type: ignore[arg-type]
    return analyse(read_results(study_folder(path, made)))


def fit_of(analysis: Analysis, phase: str = "terasort") -> SizeFit:
    (found,) = (fit for fit in analysis.once(size_fits) if fit.phase == phase)
    return found


def test_the_line_is_found_with_its_intervals(tmp_path: Path) -> None:
    found = fit_of(analysed(tmp_path, sized(line), noise=0.01))
    assert found.fixed_interval is not None
    assert found.rate_interval is not None
    assert found.fixed_interval[0] < FIXED_S < found.fixed_interval[1]
    assert found.rate_interval[0] < RATE < found.rate_interval[1]
    assert [point.size_bytes for point in found.points] == [1e8, 2e8, 3e8, 4e8, 5e8]
    assert abs(found.worst.residual) < 0.03
    assert found.bend_p is not None
    assert found.bend_p > 0.01


def test_times_that_bend_are_said_to_bend(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, sized(lambda size: 1 + (size / 1e8) ** 2), noise=0.01)
    found = fit_of(analysis)
    assert found.bend_p is not None
    assert found.bend_p < 1e-4
    said = section_module.section(analysis)
    assert said is not None
    assert "do not lie on a line" in said.said[0]


def test_one_trial_a_size_cannot_tell_a_bend(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, sized(line), trials=5)
    found = fit_of(analysis)
    assert found.bend_p is None
    assert found.fixed_interval is not None
    said = section_module.section(analysis)
    assert said is not None
    assert "one trial per size cannot show whether" in said.said[0]


def test_equal_times_of_each_size_are_not_called_one_trial(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, sized(line), noise=0.0)
    found = fit_of(analysis)
    assert ({point.n for point in found.points}, found.bend_p) == ({3}, None)
    assert section_module.verdict(found).startswith("the times of each size are equal")


@pytest.mark.parametrize(
    ("edit", "levels"),
    [
        (sized(line), LEVELS[:2]),  # two points lie on a line always
        (sized(lambda size: 5e9 / size), LEVELS),  # it falls
        (sized(line, "hosts.worker.count"), LEVELS),  # the cluster differs, too
        (sized(line, also="codec"), LEVELS),  # smaller files of another format are no size
    ],
)
def test_without_a_line_there_is_no_section(
    tmp_path: Path, edit: object, levels: tuple[str, ...]
) -> None:
    analysis = analysed(tmp_path, edit, levels=levels, trials=3 * len(levels))
    assert section_module.section(analysis) is None
    assert CHARTS["sizes"].draw(analysis, 800) is None


def test_a_level_that_changes_more_than_the_size_gives_no_line_beside_other_factors_either(
    tmp_path: Path,
) -> None:
    edit = sized(line, "hosts.worker.count")
    analysis = analysed(tmp_path, edit, extra_factors={"net": ("slow", "fast")}, trials=20)
    assert analysis.once(size_fits) == []


def test_a_line_for_each_level_of_another_factor(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, sized(line), extra_factors={"net": ("slow", "fast")}, trials=30)
    found = [fit.others for fit in analysis.once(size_fits) if fit.phase == "terasort"]
    assert found == [{"net": "slow"}, {"net": "fast"}]


def test_section_and_chart_say_the_same(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, sized(line), noise=0.01)
    found = section_module.section(analysis)
    assert found is not None
    json.dumps(found.data, allow_nan=False)
    assert len(found.said) == 3
    assert CHARTS["sizes"].draw(analysis, 800) is not None
    assert "terasort" in CHARTS["sizes"].describe(analysis)
