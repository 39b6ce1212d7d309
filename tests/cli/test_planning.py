"""``plan`` and ``check`` as the user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import synthetic
from windtunnel.cli import run
from windtunnel.results.record import Metric

HEAD = """\
study: toy
cluster: local-3
workloads:
  terasort: {size: 20 MB, input_replication: 1, output_replication: 1}
"""


def factors(counts: dict[str, int]) -> str:
    rows = (f"  settings.{name}: {list(range(count))}\n" for name, count in counts.items())
    return "factors:\n" + "".join(rows)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], text: str, *words: str) -> str:
    Path("study.yaml").write_text(HEAD + text)
    assert run(["plan", "study.yaml", *words]) == 0
    return capsys.readouterr().out


def test_a_plan_of_ten_thousand_treatments_is_abridged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = factors({"a": 10, "b": 10, "c": 10, "d": 10})
    out = said(capsys, text)

    assert len(out.splitlines()) < 30
    assert "design full-factorial: 10000 treatments" in out
    assert "and 9990 more treatments (--all shows them)" in out
    assert "30000 trials, up to 20000 more" in out
    assert "of 10000 treatments were checked" in out


def test_all_prints_everything(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = factors({"a": 5, "b": 5})

    assert said(capsys, text).count("  treatment ") == 10
    whole = said(capsys, text, "--all")
    assert whole.count("  treatment ") == 25
    assert " more" not in whole.replace("more if", "")


def test_treatments_are_named_by_their_levels(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "factors: {storage.block_size: [64 MiB, 128 MiB], settings.a: [1, 2]}\n"
    out = said(capsys, text)

    assert "  treatment 64 MiB, a 1: storage.block_size=64 MiB, settings.a=1  (baseline)" in out
    first = next(line for line in out.splitlines() if line.startswith("  round 1: "))
    assert "terasort at 128 MiB, a 2" in first.removeprefix("  round 1: ").split("; ")
    ids = [t["id"] for t in json.loads(said(capsys, text, "--json"))["treatments"]]
    assert not [id_ for id_ in ids if id_ in out]


def test_a_plan_of_one_treatment_names_only_the_workload(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, "")

    assert "  treatment baseline: the cluster as described  (baseline)" in out
    assert "  round 1: terasort\n" in out


def test_the_plan_says_what_is_confounded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(
        capsys,
        factors({"a": 2, "b": 2, "c": 2})
        + "design: {kind: fractional-factorial, generators: a b ab}\n",
    )

    assert "design fractional-factorial (generators a b ab): 4 treatments" in out
    assert "effects that this design cannot separate:" in out
    assert "    settings.a = settings.b:settings.c" in out


def test_the_plan_says_what_the_protocol_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(
        capsys,
        "protocol: {preset: cisco-2014, pause: 5 s, restart: round, "
        "invalidate: {load_before_above: 4}}\n",
    )

    assert "3 trials, up to 3 more" in out
    assert "(all again)" in out
    assert "preset cisco-2014" in out
    assert "pause between trials: 5 s" in out
    assert "restart of the cluster: each round" in out
    assert "rule that makes a trial invalid: load_before_above 4" in out
    out = said(capsys, "protocol: {preset: cisco-2014, warmup: 1}\n")
    assert "4 trials (warm-up: 1), up to 3 more" in out


def test_the_plan_as_json_is_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, factors({"a": 5, "b": 5}), "--json"))

    assert len(found["treatments"]) == 25
    assert [len(order) for order in found["rounds"]] == [25, 25, 25]
    assert (found["trials"], found["extra_trials_at_most"]) == (75, 50)
    assert found["design"] == {"kind": "full-factorial", "options": {}, "confounded": []}
    assert found["protocol"]["rounds"] == 3
    assert found["expected_s"] is None


def test_earlier_results_beside_the_study_tell_the_time(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = {"data_bytes": Metric(value=synthetic.DATA, unit="bytes")}
    made = synthetic.Plan(
        write_samples=False,
        edit=lambda trial: trial.model_copy(update={"metrics": trial.metrics | size}),
    )
    synthetic.study_folder(here / "windtunnel-results" / "old", made)
    synthetic.study_folder(here / "elsewhere", made)

    assert "the median of 6 trials in windtunnel-results/old" in said(capsys, "")
    out = said(capsys, "", "--history", "elsewhere")
    assert "expected time: about 3 min for 3 trials" in out
    assert "in elsewhere, whose data had another size (not adjusted)" in out


def test_a_history_that_is_none_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.yaml").write_text(HEAD)

    assert run(["plan", "study.yaml", "--history", "nowhere"]) == 6
    assert "nowhere" in capsys.readouterr().err


def test_check_counts_the_treatments(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.yaml").write_text(HEAD + factors({"a": 20, "b": 20}))

    assert run(["check", "study.yaml"]) == 0
    assert "study.yaml: valid; 400 treatments x 1 workload" in capsys.readouterr().out
