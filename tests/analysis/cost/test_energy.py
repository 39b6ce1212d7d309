"""Energy by phase from every kind of source, and what is said where it is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.powered import METERED, busy, cluster, powered, seconds, steady
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.cost.energy import sources, with_energy
from windtunnel.analysis.formatting import percent
from windtunnel.report.sections import sections
from windtunnel.results.folder import Results
from windtunnel.results.power import PowerRecord
from windtunnel.results.record import Metric, Trial
from windtunnel.results.sample import Sample
from windtunnel.study.power_import import import_power


def said(analysis: Analysis, rule: str) -> str:
    (warning,) = [w for w in analysis.warnings if w.id == rule]
    return warning.text


def warned(analysis: Analysis) -> set[str]:
    return {warning.id for warning in analysis.warnings}


def test_metered_samples_become_energy_by_phase(tmp_path: Path) -> None:
    found = with_energy(powered(tmp_path, samples=steady(800.0), source=METERED))
    trial = next(t for t in found.trials if t.treatment.id == "stock")
    for phase in trial.phases:
        lasted = phase.finished_at - phase.started_at
        got = {name: metric.value for name, metric in phase.metrics.items()}
        assert got["energy_metered"] == pytest.approx(800.0 * lasted)
        assert got["power_metered"] == pytest.approx(800.0)
        assert got["edp_metered"] == pytest.approx(800.0 * lasted * phase.elapsed_s)
        assert got["energy_above_idle_metered"] == pytest.approx(400.0 * lasted)
        assert abs(got["power_samples_metered"] - lasted) <= 1
    assert trial.metrics["power_metered"].value == pytest.approx(800.0)
    assert sources(trial) == {"metered": "Intel DCM, GroupBD, 4 hosts"}


def test_totals_effects_and_section(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, samples=steady(800.0), source=METERED, effect=0.0))
    (effect,) = [e for e in analysis.effects if (e.metric, e.phase) == ("energy_metered", "total")]
    assert effect.relative == pytest.approx(0.5, abs=0.05)
    assert effect.unit == "J"
    (section,) = [s for s in sections(analysis) if s.id == "energy"]
    assert any("Intel DCM, GroupBD, 4 hosts" in sentence for sentence in section.said)
    (table,) = [t for t in section.tables if t.caption.startswith("Change")]
    assert table.rows[0][1:3] == ("settings tuned : stock", percent(effect.relative))
    assert {row["metric"] for row in section.data["rows"]} >= {"energy_metered", "edp_metered"}
    assert not {"energy-mixed", "energy-scope", "energy-source-unknown"} & warned(analysis)


def test_rapl_samples_of_several_domains_add_up(tmp_path: Path) -> None:
    def rows(trial: Trial) -> list[Sample]:
        domains = ("power:package-0", 60.0), ("power:dram-0", 5.0)
        return [
            Sample(float(t), "this-machine", name, "W", watts)
            for name, watts in domains
            for t in seconds(trial)
        ]

    found = with_energy(powered(tmp_path, testbed="local", samples=rows, source="rapl: packages"))
    phase = found.trials[0].phases[0]

    assert phase.metrics["power_rapl"].value == pytest.approx(65.0)
    assert "energy_above_idle_rapl" not in phase.metrics  # processors against whole hosts
    assert not any("metered" in name or "modelled" in name for name in phase.metrics)


def test_what_a_trial_already_has_is_kept(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0), source=METERED)

    def published(trial: Trial) -> Trial:
        phases = [
            p.model_copy(update={"metrics": {"energy_metered": Metric(value=7.0, unit="J")}})
            for p in trial.phases[:1]
        ]
        return trial.model_copy(update={"phases": [*phases, *trial.phases[1:]]})

    trials = [published(trial) for trial in results.trials]
    found = with_energy(Results(results.path, results.study, trials))
    phases = found.trials[0].phases

    assert phases[0].metrics["energy_metered"].value == 7.0
    assert phases[0].metrics["power_metered"].value == pytest.approx(7.0 / phases[0].elapsed_s)
    assert "energy_metered" not in phases[1].metrics  # a gap of theirs is not filled by us


def imported(results: Results, watts: float, period: float = 10.0, **change: Any) -> None:
    t = np.arange(results.trials[0].started_at - 60, results.trials[-1].finished_at + 60, period)
    given: dict[str, Any] = {"kind": "metered", "source": "DCM", "stamp": "instant"}
    given |= {"period_s": period, "hosts": 4, "groups": {"A": (t, np.full(len(t), watts))}}
    import_power(results, PowerRecord(**{**given, **change}))


def test_imported_samples_are_joined_by_time(tmp_path: Path) -> None:
    results = powered(tmp_path)
    imported(results, 500.0)
    found = with_energy(results)
    means = [p.metrics["power_metered"].value for t in found.trials for p in t.phases]

    assert means == pytest.approx([500.0] * len(means))
    assert {t.power_source for t in found.trials} == {"metered: DCM, A, 4 hosts"}


def test_two_groups_of_a_meter_add_up(tmp_path: Path) -> None:
    results = powered(tmp_path)
    imported(results, 500.0)
    t = np.arange(results.trials[0].started_at - 60, results.trials[-1].finished_at + 60, 10.0)
    imported(results, 0.0, groups={"B": (t, np.full(len(t), 250.0))})
    phase = with_energy(results).trials[0].phases[0]
    assert phase.metrics["power_metered"].value == pytest.approx(750.0)


def test_a_phase_without_samples_of_a_group_has_no_energy(tmp_path: Path) -> None:
    results = powered(tmp_path)
    imported(results, 500.0)
    first, last = results.trials[0], results.trials[-1]
    t = np.arange(first.started_at - 60, last.started_at - 60, 10.0)
    imported(results, 0.0, groups={"B": (t, np.full(len(t), 500.0))})
    found = with_energy(results).trials

    assert found[0].phases[0].metrics["power_metered"].value == pytest.approx(1000.0)
    assert not any("energy_metered" in phase.metrics for phase in found[-1].phases)
    flag = "energy (metered) of teragen is unknown: there are no samples of B at this time, only"
    assert any(text.startswith(flag) for text in found[-1].flags)
    assert not any("unknown" in text for text in found[0].flags)


def test_the_samples_of_a_group_can_be_in_several_files(tmp_path: Path) -> None:
    results = powered(tmp_path)
    first, middle, last = results.trials[0], results.trials[3], results.trials[-1]
    for start, end in (
        (first.started_at - 60, middle.started_at - 1.0),
        (middle.started_at - 1.0, last.finished_at + 60),
    ):
        t = np.arange(start, end, 1.0)
        groups = {"A": (t, np.full(len(t), 500.0))}
        imported(results, 0.0, period=1.0, groups=groups)
    found = with_energy(results).trials
    means = [p.metrics["power_metered"].value for t in found for p in t.phases]
    assert means == pytest.approx([500.0] * len(means))


@pytest.mark.parametrize("stamp", ["instant", "start", "end"])
@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_a_phase_across_two_exports_of_a_meter_has_its_energy_once(
    tmp_path: Path, stamp: str, pause: float
) -> None:
    """``pause``: one sample between the exports is missing, which is no gap."""
    results = powered(tmp_path)
    first, middle, last = results.trials[0], results.trials[3], results.trials[-1]
    seam = middle.phases[1].started_at + 10
    for start, end in ((seam + pause, last.finished_at + 60), (first.started_at - 60, seam)):
        t = np.arange(start, end, 1.0)
        groups = {"A": (t, np.full(len(t), 500.0))}
        imported(results, 0.0, period=1.0, stamp=stamp, groups=groups)
    found = with_energy(results).trials
    means = [p.metrics["power_metered"].value for t in found for p in t.phases]
    assert means == pytest.approx([500.0] * len(means))


def test_a_phase_shorter_than_two_samples_is_marked(tmp_path: Path) -> None:
    results = powered(tmp_path)
    imported(results, 500.0, period=10.0)
    (section,) = [s for s in sections(analyse(results)) if s.id == "energy"]
    totals, phases = section.tables[:2]

    assert not any(row[2].endswith("*") for row in totals.rows)
    assert [row[2].endswith("*") for row in phases.rows][-1]  # teravalidate takes 9 s
    assert not any(row[2].endswith("*") for row in phases.rows if row[0] == "terasort")
    assert "fewer than two power samples" in section.hint


def test_phases_that_samples_do_not_cover_stay_unknown(tmp_path: Path) -> None:
    def until_terasort(trial: Trial) -> list[Sample]:
        end = trial.phases[1].started_at + 5
        return [row for row in steady(800.0)(trial) if row.time_s < end]

    analysis = analyse(powered(tmp_path, samples=until_terasort, source=METERED))
    metrics = {(c.phase, c.metric) for c in analysis.cells}

    assert ("teragen", "energy_metered") in metrics
    assert ("terasort", "energy_metered") not in metrics
    assert ("total", "energy_metered") not in metrics
    texts = [w.text for w in analysis.warnings if w.id == "trial-flag"]
    assert any("of terasort is unknown: the samples do not cover it" in text for text in texts)


def test_a_meter_that_lost_hosts_is_told(tmp_path: Path) -> None:
    def lossy(trial: Trial) -> list[Sample]:
        rows = steady(800.0)(trial)
        return [row._replace(value=0.0) if i == 10 else row for i, row in enumerate(rows)]

    analysis = analyse(powered(tmp_path, samples=lossy, source=METERED))
    assert "lost hosts" in said(analysis, "trial-flag")


def test_samples_without_a_source_are_not_used(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0))
    trials = [t.model_copy(update={"kind": "published"}) for t in results.trials]
    analysis = analyse(Results(results.path, results.study, trials))

    assert "without a stated source" in said(analysis, "trial-flag")
    assert not any(cell.metric.startswith("energy_") for cell in analysis.cells)


# --- modelled ---------------------------------------------------------------------------------


def test_modelled_watts_follow_the_cpu(tmp_path: Path) -> None:
    found = with_energy(powered(tmp_path, samples=busy(0.25)))
    trial = found.trials[0]
    phase = trial.phases[0]

    assert phase.metrics["power_modelled"].value == pytest.approx(4 * (100 + 200 * 0.25))
    assert str(trial.power_source).startswith("modelled: idle + (peak - idle) x CPU use, 4 hosts")
    lasted = phase.finished_at - phase.started_at
    above = phase.metrics["energy_above_idle_modelled"].value
    assert above == pytest.approx(4 * 50.0 * lasted)


def test_on_a_shared_machine_nothing_is_modelled_and_the_report_says_why(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, testbed="local", samples=busy(0.25)))
    (section,) = [s for s in sections(analysis) if s.id == "energy"]

    assert not any("modelled" in cell.metric for cell in analysis.cells)
    assert "do not apply to it" in section.said[0]


def test_a_host_without_described_watts_is_not_made_up(tmp_path: Path) -> None:
    described = cluster(power={"idle": "100 W"})
    found = with_energy(powered(tmp_path, samples=busy(0.25), cluster=described))
    assert not any(sources(trial) for trial in found.trials)


def test_a_host_without_samples_is_not_made_up(tmp_path: Path) -> None:
    def three(trial: Trial) -> list[Sample]:
        return [row for row in busy(0.25)(trial) if row.host != "worker-3"]

    assert not any(sources(t) for t in with_energy(powered(tmp_path, samples=three)).trials)


def test_nothing_is_modelled_beside_something_measured(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=busy(0.25))
    imported(results, 500.0)
    kinds = {kind for trial in with_energy(results).trials for kind in sources(trial)}
    assert kinds == {"metered"}


# --- rule of trust 10 -------------------------------------------------------------------------


def test_mixed_kinds_are_serious(tmp_path: Path) -> None:
    def mixed(trial: Trial) -> list[Sample]:
        metered = trial.treatment.id == "stock"
        return steady(800.0, "power" if metered else "power:package-0")(trial)

    analysis = analyse(powered(tmp_path, samples=mixed, source=METERED))
    (warning,) = [w for w in analysis.warnings if w.id == "energy-mixed"]

    assert (warning.rule, warning.severity) == (10, "serious")
    assert "stock: metered, tuned: rapl" in warning.text
    assert not any(e.metric.startswith("energy_") for e in analysis.effects)


def test_other_hosts_in_other_trials_are_told(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0), source=METERED)
    trials = [
        t.model_copy(update={"power_source": METERED.replace("4 hosts", "3 hosts")})
        if t.treatment.id == "tuned"
        else t
        for t in results.trials
    ]
    analysis = analyse(Results(results.path, results.study, trials))
    assert "3 hosts" in said(analysis, "energy-scope")
    above = {c.treatment for c in analysis.cells if c.metric == "energy_above_idle_metered"}
    assert above == {"stock"}  # 3 hosts against the idle power of 4


def test_energy_of_no_named_source_is_told(tmp_path: Path) -> None:
    results = powered(tmp_path)
    trials = [
        t.model_copy(update={"metrics": {"energy_metered": Metric(value=1e5, unit="J")}})
        for t in results.trials
    ]
    analysis = analyse(Results(results.path, results.study, trials))
    assert "not stated" in said(analysis, "energy-source-unknown")


def test_a_study_without_watts_has_no_section(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, testbed="local", cluster={}))
    assert not {"energy", "price"} & {section.id for section in sections(analysis)}
