"""The section of what workloads measure beside time: their own figures and CPU time."""

from __future__ import annotations

from pathlib import Path

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.report.sections.own_metrics import section
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial


def with_rates(trial: Trial) -> Trial:
    """TeraSort's own figure for one of its phases, and one that it does not name."""
    gen, *others = trial.phases
    told = {
        "data_rate": Metric(value=1e8 if trial.treatment.id == "stock" else 2e8, unit="bytes/s"),
        "nobody_knows": Metric(value=1, unit="s"),
    }
    phase = gen.model_copy(update={"metrics": gen.metrics | told})
    return trial.model_copy(update={"phases": [phase, *others]})


def described_ones(trial: Trial) -> Trial:
    """Without what nobody described, and without the workload's own."""
    phases = [
        phase.model_copy(update={"metrics": {"cpu_time": phase.metrics["cpu_time"]}})
        for phase in trial.phases
    ]
    return trial.model_copy(update={"phases": phases})


def only_rates(trial: Trial) -> Trial:
    """What :func:`with_rates` adds, and CPU time."""
    return with_rates(described_ones(trial))


def analysed(path: Path, **plan: object) -> Analysis:
    made = Plan(trials=8, write_samples=False, **plan)  # type: ignore[arg-type]
    return analyse(read_results(study_folder(path, made)))


def test_own_figures_stand_beside_time_and_cpu(tmp_path: Path) -> None:
    made = section(analysed(tmp_path, edit=only_rates))
    assert made is not None
    (table,) = made.tables
    assert table.caption == "terasort (means, n = 4)"
    assert [c.name for c in table.columns] == ["phase", "metric", "stock", "tuned"]
    assert [row[:2] for row in table.rows] == [
        ["teragen", "elapsed"],
        ["teragen", "data rate"],
        ["teragen", "nobody knows"],
        ["teragen", "CPU time"],
    ]
    assert table.rows[1][2:] == ["100 MB/s", "200 MB/s"]
    assert table.rows[2][2:] == ["1.00 s", "1.00 s"], "shown with its unit all the same"
    assert made.hint.startswith("data rate: bytes of the data set per second")


def test_many_treatments_stand_one_below_the_other(tmp_path: Path) -> None:
    levels = ("stock", "a", "b", "c", "tuned")
    made = section(analysed(tmp_path, levels=levels, edit=with_rates))
    assert made is not None
    (table,) = made.tables
    assert [c.name for c in table.columns] == ["phase", "metric", "treatment", "mean"]
    assert table.caption == "terasort (means, n = 1 to 2)"
    assert ["teragen", "data rate", "stock", "100 MB/s"] in table.rows


def test_effects_on_cpu_time_are_said(tmp_path: Path) -> None:
    made = section(analysed(tmp_path, edit=with_rates))
    assert made is not None
    (said,) = made.said
    assert said.startswith("CPU time of terasort, settings tuned against stock: ")
    assert " s -> " in said


def test_the_data_are_the_cells_of_the_phases(tmp_path: Path) -> None:
    made = section(analysed(tmp_path, edit=with_rates))
    assert made is not None
    rates = [row for row in made.data if row["metric"] == "data_rate"]
    assert [(row["phase"], row["mean"], row["n"]) for row in rates] == [
        ("teragen", 1e8, 4),
        ("teragen", 2e8, 4),
    ]


def foreign(trial: Trial) -> Trial:
    """A trial of a workload that is not installed here."""
    return trial.model_copy(update={"workload": "foreign"})


def test_without_such_figures_there_is_no_section(tmp_path: Path) -> None:
    assert section(analysed(tmp_path, edit=described_ones)) is None
    elsewhere = analysed(tmp_path / "foreign", edit=lambda t: foreign(described_ones(t)))
    assert section(elsewhere) is None


def test_numbers_of_a_workload_that_is_not_installed_are_shown(tmp_path: Path) -> None:
    made = section(analysed(tmp_path, edit=lambda trial: foreign(only_rates(trial))))
    assert made is not None
    (table,) = made.tables
    assert ["teragen", "nobody knows", "1.00 s", "1.00 s"] in table.rows


def with_starts(trial: Trial) -> Trial:
    """Starts of tasks in both treatments, waiting JVMs in one of them."""
    known = {
        "cpu_time": Metric(value=9.0, unit="s"),
        "task_start": Metric(value=1.5, unit="s"),
        "start_share": Metric(value=0.25, unit="share"),
    }
    if trial.treatment.id == "tuned":
        known["pool_fill"] = Metric(value=11.0, unit="s")
        known["stock_starts"] = Metric(value=0, unit="count")
    gen, *others = trial.phases
    return trial.model_copy(update={"phases": [gen.model_copy(update={"metrics": known}), *others]})


def test_the_start_of_tasks_is_shown_with_warm_starts(tmp_path: Path) -> None:
    made = section(analysed(tmp_path, edit=with_starts))
    assert made is not None
    (table,) = made.tables
    rows = {row[1]: row[2:] for row in table.rows if row[0] == "teragen"}
    assert list(rows) == [
        "elapsed",
        "task start",
        "start-up, fraction of task time",
        "stock starts",
        "pool fill",
        "CPU time",
    ]
    assert rows["pool fill"] == ["", "11.0 s"]
    assert rows["start-up, fraction of task time"] == ["25 %", "25 %"]
