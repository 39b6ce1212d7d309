"""``windtunnel calibrate`` as the user sees it; the measuring itself is in tests/real."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.calibrated import MB, record, resource
from tests.support.mock import MockTestbed, job_fails, run_study
from windtunnel.cli import run, studies
from windtunnel.errors import StudyStoppedError
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.fabric.state import Lack
from windtunnel.model.store import read_fit
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.study.plan import Plan
from windtunnel.testbeds.base import Progress
from windtunnel.testbeds.scaled import calibrate as tunnel


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[FabricPlan]:
    """The plans that were to be measured; all give what they are set to."""
    plans: list[FabricPlan] = []

    def calibrate(given: Sequence[FabricPlan], progress: Progress) -> CalibrationRecord:
        plans.extend(given)
        progress("network", 0, 2)
        return record()

    monkeypatch.setattr(tunnel, "calibrate", calibrate)
    monkeypatch.setattr(tunnel, "capabilities", list)
    monkeypatch.setenv("WINDTUNNEL_STATE", str(tmp_path))
    return plans


def gives(monkeypatch: pytest.MonkeyPatch, made: CalibrationRecord) -> None:
    monkeypatch.setattr(tunnel, "calibrate", lambda plans, progress: made)


def test_json_has_set_and_got_of_every_resource(
    asked: list[FabricPlan], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", "scaled", "--json"]) == 0
    out, err = capsys.readouterr()
    (got,) = json.loads(out)["resources"]
    assert got["name"] == "worker out"
    assert (got["set"], got["got"], got["unit"]) == (12.5 * MB, 12.5 * MB, "bytes/s")
    assert (got["ratio"], got["ok"]) == (1.0, True)
    assert "network: 0 of 2 parts done" in err
    workers = {h.name: h for h in asked[0].hosts}
    assert len(asked) == 2
    assert workers["worker-1"].nic_bytes_s == 12.5 * MB
    assert asked[1].hosts[1].nic_bytes_s == 25e6 / 8


def test_the_table_is_shown_and_a_part_that_is_off_ends_with_4(
    asked: list[FabricPlan], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gives(monkeypatch, record(resource("w disk-1", 20 * MB, 10 * MB, kind="disk read cold")))
    assert run(["calibrate", "scaled"]) == 4
    out, err = capsys.readouterr()
    assert "0.500" in out
    assert "outside 10 %" in out
    assert "disk read cold, w disk-1: set 20 MB/s, measured 10 MB/s (-50%)" in err
    assert "what to do:" in err


def test_json_is_whole_even_if_a_part_is_off(
    asked: list[FabricPlan], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gives(monkeypatch, record(resource("x", 1.0, 0.5)))
    assert run(["calibrate", "scaled", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["resources"][0]["ok"] is False


def test_a_study_has_the_rates_of_all_its_treatments(asked: list[FabricPlan]) -> None:
    assert run(["calibrate", "scaled", "put-get-model"]) == 0
    rates = [{host.nic_bytes_s for host in plan.hosts} for plan in asked]
    assert rates == [{3.125 * MB}, {31.25 * MB}]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["modelled"], 2, "the testbed 'modelled' limits no resources"),
        (["attached"], 2, "needs a study with this testbed"),
        (["local", "put-get-model"], 2, "runs on the testbed 'scaled'"),
        (["scaled", "demo"], 2, "study 'demo' runs on the testbed 'local'"),
        (["scaled", "no-such-study"], 3, "no-such-study"),
    ],
)
def test_what_cannot_be_calibrated_is_said(
    asked: list[FabricPlan],
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    says: str,
) -> None:
    assert run(["calibrate", *words]) == code
    err = capsys.readouterr().err
    assert says in err
    assert asked == []


def test_without_rights_it_says_what_is_missing(
    asked: list[FabricPlan], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tunnel, "capabilities", lambda: [Lack("root", "run as root.")])
    assert run(["calibrate", "scaled"]) == 4
    assert "this machine lacks root" in capsys.readouterr().err
    assert asked == []


STUDY = """
study: sizes
cluster: local-3
workloads:
  terasort: {size: 1 MB, input_replication: 2, output_replication: 1, maps: 2, reduces: 2}
factors:
  workloads.terasort.size: [1 MB, 2 MB, 4 MB]
protocol: {rounds: 2, extra_rounds: 0}
"""


@pytest.mark.parametrize(
    ("testbed", "line", "shares"),
    [("local", "", True), ("attached", "testbed: {kind: attached, conf: .}\n", False)],
)
def test_without_limits_the_model_is_fitted_to_a_study(
    testbed: str,
    line: str,
    shares: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conducted = []

    def conduct(plan: Plan, folder: Path, again: list[str], **options: bool) -> None:
        conducted.append(again)
        run_study(folder, plan, MockTestbed(elapsed_s=lambda *_: 11.0))

    monkeypatch.setattr(studies, "conduct", conduct)
    study, folder = tmp_path / "sizes.yaml", tmp_path / "out"
    study.write_text(STUDY + line)
    words = ["calibrate", testbed, str(study), "--results", str(folder), "--json"]
    assert run(words) == 0
    out, err = capsys.readouterr()
    assert conducted == [["windtunnel", *words[:-1]]]
    made = json.loads(out)
    assert len(made["points"]) == 9
    assert ("hosts: this machine" in err) == shares
    assert read_fit(folder / "fit.json").origin == str(folder)


def test_the_study_of_a_calibration_needs_equations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_valid(plan: Plan, folder: Path, again: list[str], **options: bool) -> None:
        failing = MockTestbed(faults={(n, "teragen"): job_fails for n in range(9)})
        with pytest.raises(StudyStoppedError):
            run_study(folder, plan, failing)

    monkeypatch.setattr(studies, "conduct", nothing_valid)
    study = tmp_path / "sizes.yaml"
    study.write_text(STUDY)
    assert run(["calibrate", "local", str(study), "--results", str(tmp_path / "out")]) == 6
    assert "can be predicted by the model" in capsys.readouterr().err
