"""The command ``reproduce``: order of the runs, failures, claims, pages; nothing is started."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticSerializationError

from windtunnel.cli import reproduce, run, storage_checks
from windtunnel.errors import InterruptedStudyError, NotRealisableError
from windtunnel.published.claims import study_claims

REPORT = ["reproduce", "intel-2012", "--report", "--results", "out"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The studies that would run: name, and whether only their first round."""
    found: list[tuple[str, bool]] = []

    def conduct(
        plan: Any, folder: Path, again: list[str], *, last_round: int | None, **more: Any
    ) -> None:
        found.append((plan.name, last_round == 1))

    monkeypatch.setattr(reproduce, "conduct", conduct)
    monkeypatch.setattr(reproduce, "_conclude", lambda *words, **more: None)
    return found


def test_the_report_of_what_is_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*REPORT]) == 0
    output = capsys.readouterr().out
    assert output.startswith("intel-2012: 9 claims: 1 same direction")
    assert "same direction" in output and "x0.2" in output
    page = Path("out/intel-2012/reproduction.html").read_text()
    for title in (
        "What the study found",
        "Problems of the published numbers",
        "What decides",
        "Deviations",
    ):
        assert title in page
    assert page.count("<svg") == 2 and "http" not in page.replace("http://www.w3.org", "")
    data = json.loads(Path("out/intel-2012/reproduction.json").read_text())
    put = next(claim for claim in data["claims"] if claim["id"] == "put")
    assert put["based_on"] == "predicted" and put["predicted"]["low"] < put["predicted"]["high"]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*REPORT, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "windtunnel.reproduction/1"


def test_all_studies_have_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--all", "--report", "--results", "out"]) == 0
    page = Path("out/all.html").read_text()
    assert "What matters in a Hadoop cluster" in page
    for name in ("cern-2016", "cisco-2014", "intel-2012", "mellanox-2014", "vmware-2011"):
        assert f"Verdicts of {name}" in page
    assert "largest published effect" in page


def test_a_claim_has_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "intel-2012", "--claim", "put"]) == 0
    output = capsys.readouterr().out
    assert "command:   windtunnel reproduce intel-2012 --claim put --run" in output
    assert "about 2 min per round" in output and "resources: root on Linux" in output
    assert run(["reproduce", "mellanox-2014", "--claim", "rdma-latency"]) == 0
    assert "cannot be measured: needs RDMA" in capsys.readouterr().out


def test_first_one_round_of_every_run_then_the_others(
    started: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "cisco-2014", "--results", "out"]) == 0
    assert started == [
        ("teragen-model", True),
        ("terasort-model", True),
        ("teragen-model", False),
        ("terasort-model", False),
    ]
    assert "in all about 58 min per round" in capsys.readouterr().err


def test_quick_is_one_round_of_the_cheapest(started: list[tuple[str, bool]]) -> None:
    assert run(["reproduce", "cisco-2014", "--quick", "--results", "out"]) == 0
    assert started == [("teragen-model", True)]


def test_once_is_the_first_round_of_every_run(started: list[tuple[str, bool]]) -> None:
    assert run(["reproduce", "cisco-2014", "--once", "--results", "out"]) == 0
    assert started == [("teragen-model", True), ("terasort-model", True)]


def test_a_claim_runs_what_measures_it(started: list[tuple[str, bool]]) -> None:
    words = ["reproduce", "cisco-2014", "--claim", "network-1g-tera1-teragen", "--run"]
    assert run([*words, "--results", "out"]) == 0
    assert started == [("teragen-model", False)]


def test_a_failed_run_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: list[str] = []

    def conduct(plan: Any, *words: Any, **more: Any) -> None:
        names.append(plan.name)
        if plan.name == "teragen-model":
            raise NotRealisableError("no root", remedy="be root.")

    monkeypatch.setattr(reproduce, "conduct", conduct)
    assert run(["reproduce", "cisco-2014", "--results", "out"]) == 4
    assert names == ["teragen-model", "terasort-model", "terasort-model"]
    output = capsys.readouterr()
    assert "failed: teragen-model: no root" in " ".join(output.out.split())
    assert "teragen-model: no root" in Path("out/cisco-2014/reproduction.html").read_text()


def test_the_end_of_the_time_of_quick_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "QUICK_S", 0.05)

    def conduct(*words: Any, **more: Any) -> None:
        try:
            time.sleep(30)  # ended by the interrupt
        except KeyboardInterrupt:
            raise InterruptedStudyError("stopped") from None

    monkeypatch.setattr(reproduce, "conduct", conduct)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run(["reproduce", "intel-2012", "--quick", "--results", "out"]) == 0
    finally:
        signal.signal(signal.SIGINT, old)
    assert "the time of --quick is over" in capsys.readouterr().err


def test_the_storage_of_a_study_is_tested_once(
    started: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[str] = []

    def answers(study: str) -> dict[str, Any]:
        tested.append(study)
        return {"columns": [{"level": "HDFS", "through": "Hadoop", "answers": {}}]}

    monkeypatch.setattr(storage_checks, "answers", answers)
    assert run(["reproduce", "mellanox-2014", "--quick", "--results", "out"]) == 0
    assert (started, tested) == ([("hdfs-or-cephfs", True)], [])
    for _ in range(2):
        assert run(["reproduce", "mellanox-2014", "--once", "--results", "out"]) == 0
    assert tested == ["hdfs-or-cephfs"]
    assert "columns" in json.loads(Path("out/mellanox-2014/storage-checks.json").read_text())


def test_storage_that_cannot_be_tested_is_a_failed_run(
    started: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(study: str) -> dict[str, Any]:
        raise NotRealisableError("no Ceph", remedy="install it.")

    monkeypatch.setattr(storage_checks, "answers", answers)
    assert run(["reproduce", "mellanox-2014", "--once", "--results", "out"]) == 4
    assert not Path("out/mellanox-2014/storage-checks.json").exists()


def test_damaged_answers_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out/mellanox-2014").mkdir(parents=True)
    Path("out/mellanox-2014/storage-checks.json").write_text('{"columns": [{}]}')
    assert run(["reproduce", "mellanox-2014", "--report", "--results", "out"]) == 6
    assert "storage-checks.json cannot be read" in capsys.readouterr().err


def test_the_table_of_features_is_in_all_forms(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "mellanox-2014", "--report", "--results", "out"]
    assert run([*words, "--full"]) == 0
    assert "heterogeneous" in capsys.readouterr().out
    page = Path("out/mellanox-2014/reproduction.html").read_text()
    assert "The table of features" in page and "no mount of HDFS" in page
    data = json.loads(Path("out/mellanox-2014/reproduction.json").read_text())
    assert {cell["system"] for row in data["features"] for cell in row["cells"]} == {
        "HDFS",
        "CephFS",
    }


def test_an_interrupt_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def conduct(*words: Any, **more: Any) -> None:
        raise InterruptedStudyError("stopped")

    monkeypatch.setattr(reproduce, "conduct", conduct)
    assert run(["reproduce", "intel-2012", "--results", "out"]) == 130


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one published study or --all"),
        (["intel-2012", "--all"], "one published study or --all"),
        (["intel"], "no published study 'intel'"),
        (["--all", "--claim", "put"], "--claim requires one study"),
        (["intel-2012", "--claim", "pat"], "no claim 'pat'"),
        (["intel-2012", "--run"], "add --claim CLAIM"),
        (["mellanox-2014", "--claim", "rdma-latency", "--run"], "cannot be measured here"),
    ],
)
def test_wrong_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", *words]) == 2
    assert message in capsys.readouterr().err


def test_every_run_fits_into_a_day() -> None:
    minutes = [
        entry.minutes * 3
        for name in ("cisco-2014", "vmware-2011", "cern-2016", "intel-2012")
        for entry in study_claims(name).runs.values()
    ]
    assert sum(minutes) < 24 * 60


def test_an_interrupt_inside_pydantic_ends_quick_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrapped(*words: Any, **more: Any) -> None:
        raise PydanticSerializationError("Error calling function") from KeyboardInterrupt()

    monkeypatch.setattr(reproduce, "conduct", wrapped)
    assert run(["reproduce", "intel-2012", "--quick", "--results", "out"]) == 0
    assert "the time of --quick is over" in capsys.readouterr().err
    assert run(["reproduce", "intel-2012", "--results", "out"]) == 130
