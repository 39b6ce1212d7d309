"""A whole synthetic study with known truth through the analysis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import findings
from windtunnel.analysis.formatting import percent_interval
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric


def analysed(path: Path, **plan: object) -> Analysis:
    made = Plan(**{"write_samples": False, **plan})  # type: ignore[arg-type]
    return analyse(read_results(study_folder(path, made)))


def test_the_true_effect_lies_in_its_interval(tmp_path: Path):
    a = analysed(tmp_path, trials=20, effect=-0.31, noise=0.03)
    (e,) = [e for e in a.effects if e.phase == "terasort" and e.metric == "elapsed"]
    assert e.baseline == "stock"
    assert e.level == "tuned"
    assert e.ci_low is not None
    assert e.ci_high is not None
    assert e.ci_low < -0.31 < e.ci_high
    assert e.ci_high < -0.2


def test_total_is_the_sum_of_the_phases(tmp_path: Path):
    a = analysed(tmp_path, trials=6)
    parts = [a.cell("stock", "terasort", p, "elapsed") for p in a.phases["terasort"]]
    means = [cell.mean for cell in parts if cell is not None]
    assert len(means) == 4
    assert means[3] == pytest.approx(sum(means[:3]))


def test_invalid_and_warmup_trials_are_shown_and_not_averaged(tmp_path: Path):
    def edit(trial):
        return trial.model_copy(update={"round": trial.round - 1})

    a = analysed(tmp_path, trials=8, invalid=(5,), edit=edit)
    assert len(a.trials) == 8
    assert sorted(t.verdict for t in a.trials) == ["invalid"] + ["valid"] * 5 + ["warm-up"] * 2
    total = [c.n for c in a.cells if c.phase == "total" and c.metric == "elapsed"]
    assert sum(total) == 5


def test_the_finding_names_effect_phase_and_stage(tmp_path: Path):
    a = analysed(tmp_path, trials=6)
    (finding,) = a.findings
    assert finding.phase == "terasort"
    assert finding.stage is not None
    assert finding.stage.words == "shuffle"
    assert "settings stock -> tuned: terasort total -" in finding.text
    assert "indicative" in finding.text
    assert "less time" in a.answer
    assert "terasort" in a.answer


def test_no_difference_comes_with_what_could_have_been_seen(tmp_path: Path):
    a = analysed(tmp_path, trials=10, effect=0.0, noise=0.05, seed=2)
    assert a.findings[0].distinguishable is False
    assert "no difference detected" in a.findings[0].text
    assert "the minimum detectable effect is" in a.findings[0].text
    assert a.answer.startswith("No difference in elapsed time was detected")
    assert "(80 % power)" in a.answer


def effect(phase: str, absolute: float, *, clear: bool = True) -> Effect:
    """One second more or less of a baseline of 100 s is 1 %; the interval is made to fit."""
    ratio = absolute / 100
    half = abs(ratio) / 2 if clear else abs(ratio) * 2
    return Effect(
        factor="settings",
        level="tuned",
        baseline="stock",
        workload="terasort",
        phase=phase,
        metric="elapsed",
        unit="s",
        n=5,
        n_baseline=5,
        matched=1,
        mean=100 + absolute,
        mean_baseline=100,
        absolute=absolute,
        absolute_ci_low=(ratio - half) * 100,
        absolute_ci_high=(ratio + half) * 100,
        relative=ratio,
        ci_low=ratio - half,
        ci_high=ratio + half,
        detectable=1.06,
    )


def test_what_may_have_been_missed_is_said_both_ways():
    (finding,) = findings([effect("total", -1, clear=False)])
    assert "the minimum detectable effect is +106 % / -51 %" in finding.text


@pytest.mark.parametrize(
    ("ratio", "words"), [(23.4, "a factor of 23"), (1e6, "a factor above 100")]
)
def test_a_large_detectable_effect_is_a_factor(ratio: float, words: str) -> None:
    large = replace(effect("total", -1, clear=False), detectable=ratio - 1)
    (finding,) = findings([large])
    assert f"the minimum detectable effect is {words} (80 % power" in finding.text
    assert f"minimum detectable effect {words}" in finding.brief


@pytest.mark.parametrize(
    ("parts", "clear", "named", "spread"),
    [
        ((-1, -12, -7), True, "sort", False),
        ((-1, -12, -7), False, None, False),
        ((-6, -10, -4), True, None, True),
        ((-6, -9, -5), True, None, True),
        ((5, -24, -1), True, "sort", False),
    ],
)
def test_a_phase_is_named_only_if_most_of_the_change_is_clearly_in_it(
    parts: tuple[float, ...], clear: bool, named: str | None, spread: bool
):
    rows = [effect("total", sum(parts))]
    rows += [
        effect(p, x, clear=clear) for p, x in zip(("gen", "sort", "check"), parts, strict=True)
    ]
    (finding,) = findings(rows)
    assert finding.phase == named
    assert ("of the change is in sort" in finding.text) is (named is not None)
    assert ("distributed over the phases" in finding.text) is spread


def test_seconds_that_point_the_other_way_are_not_told():
    """Shorter in every combination by share, and longer by the seconds of the longest one."""
    (finding,) = findings([effect("total", -30)])
    assert "-30 % [-45, -15] (95 %), -30.0 s" in finding.text
    (finding,) = findings([replace(effect("total", -30), absolute=0.05)])
    assert "-30 % [-45, -15] (95 %)" in finding.text and " s" not in finding.text.split("(95 %)")[1]


def test_one_trial_each_concludes_nothing(tmp_path: Path):
    a = analysed(tmp_path, trials=2)
    assert a.answer.startswith("There are too few trials")


def test_a_factorial_compares_matching_cells(tmp_path: Path):
    a = analysed(tmp_path, trials=20, extra_factors={"workers": ("3", "5")})
    (tuned,) = [
        e for e in a.effects if (e.factor, e.phase, e.metric) == ("settings", "terasort", "elapsed")
    ]
    assert tuned.matched == 2
    assert tuned.relative == pytest.approx(-0.31, abs=0.04)


def test_an_empty_study_says_so(tmp_path: Path):
    folder = study_folder(tmp_path, Plan(trials=1, write_samples=False))
    for file in (folder / "trials").iterdir():
        file.unlink()
    a = analyse(read_results(folder))
    assert "no valid trial" in a.answer
    assert a.cells == []


def test_trials_without_elapsed_times_say_what_they_tell(tmp_path: Path):
    bare = {"phases": [], "metrics": {"relative_elapsed": Metric(value=0.2, unit="ratio")}}
    plan = Plan(write_samples=False, edit=lambda trial: trial.model_copy(update=bare))
    a = analyse(read_results(study_folder(tmp_path, plan)))
    assert a.answer == (
        "No elapsed time is known: the trials contain only relative_elapsed (ratio)."
    )


@pytest.mark.parametrize(
    ("low", "high", "near", "text"),
    [
        (-0.352, -0.268, -0.31, "[-35, -27]"),
        (-0.1704, -0.1668, -0.169, "[-17.0, -16.7]"),
        (-0.012, 0.034, 0.011, "[-1.2, +3.4]"),
        (0.003, 0.25, 0.12, "[+0.3, +25]"),
        (-0.52, -0.004, -0.3, "[-52, -0.4]"),
        (0.0004, 0.016, 0.008, "[+0.04, +1.6]"),
        (0.00003, 0.016, 0.008, "[<+0.01, +1.6]"),
        (-0.016, -0.00003, -0.008, "[-1.6, >-0.01]"),
        (-0.0004, 0.0004, 0.0001, "[-0.04, +0.04]"),
        (0.0, 0.25, 0.12, "[0, +25]"),
        (1e-17, 0.25, 0.12, "[0, +25]"),
        (None, None, 0.1, "interval unknown"),
    ],
)
def test_intervals_in_words(low: float | None, high: float | None, near: float, text: str):
    assert percent_interval(low, high, near) == text


def test_a_fraction_close_to_zero_is_not_printed_as_zero() -> None:
    assert percent_interval(0.004, 0.4, 0.2, signed=False) == "[0.4, 40]"
    assert percent_interval(0.00004, 0.4, 0.2, signed=False) == "[<0.01, 40]"
