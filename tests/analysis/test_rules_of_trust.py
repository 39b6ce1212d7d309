"""The thirteen rules of trust, each broken on purpose: the terminal and the JSON must say so.

Rule 12 and most of 13 are kept before there is a report: the tests named at their functions
break them there. Of rule 11 the flag ``saturated`` reaches a results folder; latency itself
comes with the workload that has it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.report.export import to_json
from windtunnel.report.terminal import print_report
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Metric, Trial

SLOW = {
    "hosts": {
        "worker": {
            "count": 3,
            "cpu": {"sockets": 1, "cores_per_socket": 4, "threads_per_core": 2},
            "disks": [{"count": 1, "read_rate": "1 MB/s", "write_rate": "1 MB/s"}],
            "nics": [{"rate": "10 Gb/s"}],
        }
    }
}


def study(path: Path, testbed: str = "made-up", **plan: Any) -> Results:
    usual = {"trials": 12, "seed": 4, "noise": 0.02, "write_samples": False}
    found = read_results(study_folder(path, Plan(**{**usual, **plan})))
    return Results(found.path, found.study.model_copy(update={"testbed": testbed}), found.trials)


def changed(ids: str | None = None, **update: Any) -> Callable[[Trial], Trial]:
    """Change every trial, or the one with this id."""
    return lambda t: t.model_copy(update=update) if ids in (None, t.id) else t


def slower(id_: str, times: float) -> Callable[[Trial], Trial]:
    def edit(trial: Trial) -> Trial:
        if trial.id != id_:
            return trial
        phases = [p.model_copy(update={"elapsed_s": p.elapsed_s * times}) for p in trial.phases]
        return trial.model_copy(update={"phases": phases})

    return edit


def unchecked(trial: Trial) -> Trial:
    return trial.model_copy(update={"verdict": trial.verdict.model_copy(update={"checks": []})})


def half_cold(trial: Trial) -> Trial:
    assert trial.before is not None
    state = "dropped" if trial.position == 1 else "warm"
    return trial.model_copy(
        update={"before": trial.before.model_copy(update={"cache_state": state})}
    )


def half_metered(trial: Trial) -> Trial:
    kind = "metered" if trial.treatment.id == "stock" else "rapl"
    metrics = {f"energy_{kind}": Metric(value=1000.0, unit="J")}
    return trial.model_copy(update={"power_source": f"{kind}: 3 hosts", "metrics": metrics})


def texts(analysis: Analysis) -> tuple[str, dict[str, Any]]:
    """The report as it stands on the terminal, on one line, and as JSON."""
    out = io.StringIO()
    print_report(analysis, Console(file=out, width=200))
    return " ".join(out.getvalue().split()), json.loads(json.dumps(to_json(analysis)))


BROKEN: list[tuple[int, str, dict[str, Any], str]] = [
    (1, "order-not-randomised", {"shuffled": False}, "every round ran in the same order"),
    (1, "drift", {"drift": 0.03}, "elapsed time drifts by"),
    (2, "spread-unknown", {"trials": 2}, "only one valid trial: the spread is unknown"),
    (2, "indicative", {"trials": 6}, "3 valid trials per cell: results are indicative"),
    (2, "indicative", {"trials": 4}, "2 valid trials per cell: results are indicative"),
    (3, "variation-limit", {"edit": slower("t00003", 3)}, "elapsed time varies by more than 20 %"),
    (3, "outlier", {"edit": slower("t00003", 1.6)}, "outliers, which all results include"),
    (5, "unverified", {"edit": unchecked}, "output of 12 trials was not verified"),
    (5, "invalid-trials", {"invalid": (3,)}, "1 invalid trial of 12, excluded"),
    (6, "above-physical-limit", {"cluster": SLOW}, "indicates a cache or an error"),
    (7, "cache-unknown", {"edit": changed(before=None)}, "the state of the caches before 12"),
    (7, "cache-mixed", {"edit": half_cold}, "the state of the caches before the start"),
    (8, "settings-changed", {"edit": changed("t00003", provenance="beef")}, "settings or the"),
    (9, "mixed-kinds", {"edit": changed("t00003", kind="predicted")}, "measured and predicted"),
    (10, "energy-mixed", {"edit": half_metered}, "different kinds of source"),
    (11, "trial-flag", {"edit": changed("t00003", flags=["saturated"])}, "saturated (1 trial"),
    (13, "counted-twice", {"edit": changed("t00003", round=1, position=1)}, "more than once"),
]


@pytest.mark.parametrize(
    ("rule", "id_", "plan", "words"),
    BROKEN,
    ids=[f"{r}-{i}-{n}" for n, (r, i, *_) in enumerate(BROKEN)],
)
def test_a_broken_rule_is_said_on_the_terminal_and_in_the_json(
    tmp_path: Path, rule: int, id_: str, plan: dict[str, Any], words: str
):
    if id_ == "counted-twice":
        plan = {**plan, "edit": twin(tmp_path / "first")}
    terminal, data = texts(analyse(study(tmp_path / "study", **plan)))
    (found,) = [w for w in data["warnings"] if w["id"] == id_][:1]
    assert found["rule"] == rule
    assert words in found["text"]
    assert words in terminal


def twin(path: Path) -> Callable[[Trial], Trial]:
    """The third trial takes the slot of the first, as if two runs were in one folder."""
    first = study(path).trials[0]
    slot = {"round": first.round, "position": first.position, "treatment": first.treatment}
    return changed("t00003", **slot)


def test_rule_2_one_trial_has_no_spread_anywhere(tmp_path: Path):
    terminal, data = texts(analyse(study(tmp_path, trials=2)))
    assert data["answer"].startswith("There are too few trials")
    assert all(c["sd"] is None and c["ci_low"] is None for c in data["cells"])
    assert all(c["ci_method"] is None for c in data["cells"])
    assert "interval unknown" in terminal


def test_rule_3_an_outlier_stays_in_every_number(tmp_path: Path):
    found = analyse(study(tmp_path, edit=slower("t00003", 1.6)))
    treatment = found.trials[2].treatment
    cell = found.cell(treatment, "terasort", "total", "elapsed")
    assert cell is not None
    assert cell.n == 6
    times = [t.elapsed["total"] for t in found.trials if t.treatment == treatment]
    assert cell.mean == pytest.approx(sum(times) / 6)


def test_rule_4_every_effect_has_an_interval_both_ways_against_a_named_baseline(tmp_path: Path):
    found = study(tmp_path)
    bare = found.study.model_copy(update={"baseline": {}})
    terminal, data = texts(analyse(Results(found.path, bare, found.trials)))
    assert "no baseline is named for factor settings" in terminal
    for e in data["effects"]:
        if e["metric"] == "elapsed":
            assert e["absolute_ci_low"] <= e["absolute"] <= e["absolute_ci_high"]
            assert e["ci_low"] <= e["relative"] <= e["ci_high"]


def test_rule_9_a_predicted_study_says_what_it_is(tmp_path: Path):
    found = study(tmp_path, edit=changed(kind="predicted"))
    record = found.study.model_copy(update={"kind": "predicted"})
    terminal, data = texts(analyse(Results(found.path, record, found.trials)))
    assert data["study"]["kind"] == "predicted"
    assert "testbed made-up, predicted" in terminal


def test_rule_13_a_resumed_study_counts_every_slot_once(tmp_path: Path):
    """Killing and resuming: tests/study/test_journal.py, test_runner.py, tests/real/test_kills.py.

    An invalid first attempt and its retry are two trials of one slot, of which one counts.
    """

    def retried(trial: Trial) -> Trial:
        return trial.model_copy(update={"attempt": 2}) if trial.id == "t00004" else trial

    found = analyse(study(tmp_path, edit=retried, invalid=(3,)))
    assert "counted-twice" not in {w.id for w in found.warnings}
    cells = [c.n for c in found.cells if (c.phase, c.metric) == ("total", "elapsed")]
    assert sum(cells) == 11


def test_every_rule_of_trust_is_broken_here_or_named():
    elsewhere = {4, 12}  # 4: above; 12: tests/study/test_destructive.py, tests/hosts
    assert {rule for rule, *_ in BROKEN} | elsewhere == set(range(1, 14))
