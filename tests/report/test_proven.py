"""Advice after its measurement: only what wins is kept, with its interval."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.audit.configuration import read_configuration
from windtunnel.report.proven import proofs, write_proven
from windtunnel.results.folder import read_results

CHECK, NAME = "job-compression", "mapreduce.map.output.compress"
ADVISED = {CHECK: {f"settings.{NAME}": "true"}}


@pytest.mark.parametrize(
    ("effect", "noise", "trials", "said", "kept"),
    [
        (-0.31, 0.02, 10, "less time, kept", True),
        (0.31, 0.02, 10, "more time, not kept", False),
        (0.0, 0.1, 10, "no difference detected, not kept", False),
        (-0.31, 0.02, 2, "interval unknown: not decided, not kept", False),
    ],
)
def test_only_what_wins_is_kept(
    effect: float, noise: float, trials: int, said: str, kept: bool, tmp_path: Path
) -> None:
    levels = ("present", "advised")
    plan = Plan(trials=trials, levels=levels, factor=CHECK, effect=effect, noise=noise)
    found = proofs(read_results(study_folder(tmp_path / "results", plan)), ADVISED)

    assert [one.wins for one in found] == [kept]
    assert found[0].words.startswith(f"{CHECK}: elapsed time ")
    assert found[0].words.endswith(said)
    (tmp_path / "advice").mkdir()
    written = write_proven(found, tmp_path / "advice")
    names = ["mapred-site.xml", "measured.md"] if kept else ["measured.md"]
    assert [path.name for path in written] == names
    assert found[0].words in (tmp_path / "advice/proven/measured.md").read_text()
    conf = read_configuration(tmp_path / "advice/proven", "3.5.0")
    assert conf.is_set(NAME) == kept


def test_advice_without_a_valid_trial_is_not_measured(tmp_path: Path) -> None:
    plan = Plan(trials=2, levels=("present", "advised"), factor=CHECK, invalid=(1, 2))
    (one,) = proofs(read_results(study_folder(tmp_path / "results", plan)), ADVISED)
    assert one.words == f"{CHECK}: not measured, not kept" and not one.wins
