"""The testbed ``modelled``: predicted trials, their intervals, comparison with measured ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.mock import MockTestbed, run_study
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.bottleneck.verdicts import bottlenecks
from windtunnel.analysis.compare import compare
from windtunnel.analysis.prediction.points import points_of
from windtunnel.cli import run
from windtunnel.cluster import Cluster
from windtunnel.errors import ResultsError
from windtunnel.model.store import read_fit, shipped_fit, write_fit
from windtunnel.results.folder import read_results
from windtunnel.study.file import load_study
from windtunnel.study.journal import Journal
from windtunnel.study.plan import Plan, make_plan

STUDY = """
study: workers
testbed: {testbed}
cluster: cisco-2014
set: {{hosts.store: null}}
workloads:
  terasort: {{size: 1 TB, input_replication: 3, output_replication: 1}}
factors:
  hosts.worker.count: [5, 6, 8]
baseline: {{hosts.worker.count: 6}}
protocol: {{rounds: 3, warmup: 1}}
"""


def written(folder: Path, testbed: str = "modelled", text: str = STUDY) -> Path:
    file = folder / "study.yaml"
    file.write_text(text.format(testbed=testbed))
    return file


def plan(folder: Path, testbed: str = "modelled") -> Plan:
    return make_plan(*load_study(str(written(folder, testbed))))


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predicted")
    assert run(["run", str(written(folder)), "--results", str(folder / "out")]) == 0
    return folder / "out"


def found(folder: Path) -> Analysis:
    return analyse(read_results(folder))


def test_each_treatment_is_predicted_once(predicted: Path) -> None:
    results = read_results(predicted)
    assert results.study.kind == "predicted"
    assert results.study.protocol.rounds == 1
    assert len(results.trials) == 3
    for trial in results.trials:
        assert (trial.kind, trial.testbed, trial.verdict.valid) == ("predicted", "modelled", True)
        assert [phase.name for phase in trial.phases] == ["teragen", "terasort", "teravalidate"]
        for phase in trial.phases:
            assert phase.prediction is not None
            assert phase.prediction.low_s < phase.elapsed_s < phase.prediction.high_s
        # only the fitted clusters have six workers
        assert bool(trial.flags) == (trial.treatment.levels["hosts.worker.count"] != "6")
    assert read_fit(predicted / "fit.json").origin == shipped_fit().origin


def test_an_interrupted_study_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, study = tmp_path / "whole", str(written(tmp_path))
    assert run(["run", study, "--results", str(whole)]) == 0
    append, done = Journal.append, list[None]()

    def interrupted(journal: Journal, *args: object) -> None:
        if done:
            raise KeyboardInterrupt
        done.append(append(journal, *args))  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "append", interrupted)
    assert run(["run", study, "--results", str(tmp_path / "out")]) != 0
    monkeypatch.undo()
    assert len(read_results(tmp_path / "out").trials) == 1
    assert run(["run", study, "--results", str(tmp_path / "out")]) == 0
    times = [
        {t.treatment.id: [p.model_dump(include={"elapsed_s", "prediction"}) for p in t.phases]}
        for folder in (whole, tmp_path / "out")
        for t in sorted(read_results(folder).trials, key=lambda t: t.id)
    ]
    assert times[:3] == times[3:]


def test_intervals_are_those_of_the_model_and_ratios_are_more_certain(predicted: Path) -> None:
    analysis = found(predicted)
    cell = next(c for c in analysis.cells if c.phase == "terasort" and c.metric == "elapsed")
    assert (cell.n, cell.ci_method) == (1, "model")
    assert cell.ci_low is not None and cell.ci_high is not None
    effect = next(e for e in analysis.effects if e.phase == "terasort" and e.metric == "elapsed")
    assert effect.predicted
    assert effect.ci_low is not None and effect.ci_high is not None
    of_ratio = (1 + effect.ci_high) / (1 + effect.ci_low)
    assert 1.0 < of_ratio < cell.ci_high / cell.ci_low * 1.05
    assert not {w.id for w in analysis.warnings} & {"spread-unknown", "variation-limit"}
    assert "predicted" in analysis.answer


def test_the_bottleneck_is_that_of_the_model(predicted: Path) -> None:
    verdicts = {v.phase: v for v in bottlenecks(found(predicted))}
    assert verdicts["terasort"].binding.kind == "CPU"
    assert "predicted" in verdicts["teragen"].text
    assert found(predicted).usages == []


def test_energy_follows_from_the_power_of_the_hosts(tmp_path: Path) -> None:
    power = "cluster: cisco-2014\nset: {{hosts.worker.power: {{idle: 200 W, peak: 400 W}}, "
    text = STUDY.replace("cluster: cisco-2014\nset: {{", power)
    text = text.replace("null}}\nwork", "null, hosts.name.power: {{idle: 1 W, peak: 1 W}}}}\nwork")
    file = written(tmp_path, text=text)
    assert run(["run", str(file), "--results", str(tmp_path / "out")]) == 0
    trial = next(t for t in read_results(tmp_path / "out").trials if "6" in t.treatment.id)
    phase = trial.phases[1]
    watts = phase.metrics["energy_modelled"].value / phase.elapsed_s
    assert 1202.0 < watts < 2402.0  # six workers and two masters


def test_a_measured_study_is_compared_with_its_prediction(predicted: Path, tmp_path: Path) -> None:
    seconds = {"teragen": 390.0, "terasort": 1800.0, "teravalidate": 120.0}

    def elapsed_s(trial: int, phase: str, cluster: Cluster) -> float:
        return seconds[phase] * 6 / cluster.hosts["worker"].count * (1 + trial % 3 * 0.01)

    measured = tmp_path / "measured"
    run_study(measured, plan(tmp_path, "local"), MockTestbed(elapsed_s=elapsed_s))
    folders = [("measured", read_results(measured)), ("predicted", read_results(predicted))]
    for order in (folders, folders[::-1]):
        (pair,) = compare(order).pairs
        assert not pair.refused
        cells = {c.phase: c for c in pair.cells if c.metric == "elapsed" and c.name == "count 6"}
        assert cells["terasort"].verdict == "differs"
        assert cells["terasort"].basis == "model"
        assert cells["teragen"].verdict == "not distinguishable"


def test_predictions_are_no_data_for_a_fit(predicted: Path) -> None:
    with pytest.raises(ResultsError, match="predictions"):
        points_of(read_results(predicted))


def test_a_folder_has_one_fit(tmp_path: Path) -> None:
    fit = tmp_path / "fit.json"
    write_fit(shipped_fit(), fit)
    testbed = f"{{kind: modelled, fit: {fit}}}"
    first = plan(tmp_path, testbed).fingerprint
    fit.write_text(fit.read_text() + " ")
    assert plan(tmp_path, testbed).fingerprint != first


def test_hosts_can_share_this_machine(tmp_path: Path) -> None:
    shared = plan(tmp_path, "{kind: modelled, hosts: this machine}")
    assert json.dumps(shared.testbed_options.to_record())
    study = str(written(tmp_path, "{kind: modelled, hosts: this machine}"))
    assert run(["run", study, "--results", str(tmp_path / "out")]) == 0
    results = read_results(tmp_path / "out")
    assert any("share the cores" in note for note in results.study.notes)


def test_storage_without_equations_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = "study: s\ntestbed: modelled\ncluster: {name}\nworkloads:\n"
    study += "  teragen: {{size: 1 GB, replication: 3}}\n"
    file = tmp_path / "study.yaml"
    file.write_text(study.format(name="local-3-s3a"))
    assert run(["run", str(file), "--results", str(tmp_path / "out")]) == 4
    assert "storage.kind: the model has no equations for the storage s3a" in capsys.readouterr().err
    file.write_text(study.format(name="local-3-cephfs"))
    assert run(["run", str(file), "--results", str(tmp_path / "out")]) == 0
    notes = read_results(tmp_path / "out").study.notes
    assert any("assumed: CephFS is treated as HDFS" in note for note in notes)


def test_nothing_is_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(written(tmp_path)), "--results", str(tmp_path / "out"), "--pilot"]) == 2
    assert run(["up", "cisco-2014", "--testbed", "modelled"]) == 2
    assert "starts no cluster" in capsys.readouterr().err
    assert run(["plan", str(tmp_path / "study.yaml")]) == 0
    assert "the times are predicted" in capsys.readouterr().out
