"""Every rule of trust, broken on purpose, is said in the warnings; kept, it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.bottleneck.described_hosts import number
from windtunnel.analysis.bottleneck.physical_limits import capacity
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Metric, ScaleRecord, Trial

GOOD: dict[str, Any] = {"trials": 12, "seed": 4, "noise": 0.02, "write_samples": False}
SLOW = {
    "hosts": {
        "worker": {
            "count": 3,
            "roles": ["datanode", "nodemanager"],
            "cpu": {"sockets": 1, "cores_per_socket": 4, "threads_per_core": 2},
            "memory": "1 MiB",
            "disks": [{"count": 1, "read_rate": "1 MB/s", "write_rate": "1 MB/s"}],
            "nics": [{"rate": "10 Gb/s"}],
        }
    }
}
FAST = {
    "hosts": {
        "worker": {
            "count": 3,
            "cpu": {"sockets": 2, "cores_per_socket": 32},
            "disks": [{"count": 4, "read_rate": "2 GB/s", "write_rate": "2 GB/s"}],
            "nics": [{"rate": "100 Gb/s"}],
        }
    }
}


def results(path: Path, testbed: str = "made-up", **plan: Any) -> Results:
    """A study on a testbed that realises what is described, unless another is named."""
    found = read_results(study_folder(path, Plan(**{**GOOD, **plan})))
    study = found.study.model_copy(update={"testbed": testbed})
    return Results(found.path, study, found.trials)


def said(found: Results, rule: str) -> tuple[str, str]:
    (warning,) = [w for w in analyse(found).warnings if w.id == rule]
    return warning.text, warning.advice


def capped(found: Results, cap: int) -> Results:
    """The study with another cap of extra rounds."""
    protocol = found.study.protocol.model_copy(update={"extra_rounds": cap})
    study = found.study.model_copy(update={"protocol": protocol})
    return Results(found.path, study, found.trials)


def with_threads(found: Results, threads: object) -> Results:
    """The study with this many threads in the machine of its provenance."""
    stored = {"machine": {"cpu_threads": threads}}
    (found.path / "provenance" / "cafe.json").write_text(json.dumps(stored))
    return found


def raised(found: Results) -> dict[str, str]:
    return {w.id: w.severity for w in analyse(found).warnings}


def changed(**update: Any) -> Callable[[Trial], Trial]:
    return lambda trial: trial.model_copy(update=update)


def first_only(update: Callable[[Trial], dict[str, Any]]) -> Callable[[Trial], Trial]:
    return lambda t: t.model_copy(update=update(t)) if t.id == "t00003" else t


def quiet(trial: Trial) -> Trial:
    assert trial.before is not None
    return trial.model_copy(
        update={"before": trial.before.model_copy(update={"cache_state": "dropped"})}
    )


def busy(trial: Trial) -> dict[str, Any]:
    assert trial.before is not None
    return {"before": trial.before.model_copy(update={"load_1min": 9.0})}


def noisy(trial: Trial) -> dict[str, Any]:
    phases = [p.model_copy(update={"elapsed_s": p.elapsed_s * 3}) for p in trial.phases]
    return {"phases": phases}


def cold(trial: Trial) -> dict[str, Any]:
    return {"before": quiet(trial).before}


def test_a_study_that_keeps_the_rules_raises_nothing(tmp_path: Path):
    cluster = {"hosts": {"worker": {**FAST["hosts"]["worker"]}}}
    cluster["hosts"]["worker"]["cpu"] = {"sockets": 1, "cores_per_socket": 1}
    assert raised(results(tmp_path, edit=quiet, cluster=cluster)) == {}


@pytest.mark.parametrize(
    ("rule", "plan"),
    [
        ("spread-unknown", {"trials": 2}),
        ("indicative", {"trials": 6}),
        ("variation-limit", {"edit": first_only(noisy)}),
        ("invalid-trials", {"invalid": (3,)}),
        ("incomplete", {"invalid": (3,)}),
        ("above-physical-limit", {"cluster": SLOW}),
        ("not-the-bottleneck", {"cluster": FAST}),
        ("limits-unknown", {}),
        ("cache-warm", {}),
        ("cache-mixed", {"edit": first_only(cold)}),
        ("cache-unknown", {"edit": changed(before=None)}),
        ("load-before-start", {"edit": first_only(busy)}),
        ("settings-changed", {"edit": first_only(lambda t: {"provenance": "beef"})}),
        ("provenance-missing", {"edit": changed(provenance=None)}),
        ("drift", {"drift": 0.03}),
        ("order-not-randomised", {"shuffled": False}),
        ("trial-flag", {"edit": first_only(lambda t: {"flags": ["saturated"]})}),
        ("mixed-kinds", {"edit": first_only(lambda t: {"kind": "predicted"})}),
    ],
)
def test_a_broken_rule_is_said(tmp_path: Path, rule: str, plan: dict[str, Any]):
    assert rule in raised(results(tmp_path / "broken", **plan))
    if rule not in {"limits-unknown", "cache-warm"}:
        assert rule not in raised(results(tmp_path / "kept"))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({}, "differences within rounds are without it"),
        ({"trials": 8}, "affects all treatments equally"),
        ({"invalid": (12,)}, "the treatments have different rounds"),
    ],
)
def test_the_consequence_of_a_drift_depends_on_the_rounds(
    tmp_path: Path, plan: dict[str, Any], words: str
) -> None:
    assert words in said(results(tmp_path, drift=0.05, **plan), "drift")[1]


@pytest.mark.parametrize(
    ("other", "severity", "words"),
    [
        ({"windtunnel_commit": "b" * 40}, "caution", "only Windtunnel itself changed"),
        ({"python": "3.12.1"}, "serious", "(machine.python: 3.11.7 / 3.12.1)"),
    ],
)
def test_the_change_between_trials_is_named(
    tmp_path: Path, other: dict[str, str], severity: str, words: str
):
    found = results(tmp_path, edit=first_only(lambda t: {"provenance": "beef"}))
    facts = {"python": "3.11.7", "windtunnel_commit": "a" * 40}
    # the first trial of this cell has "cafe"
    for name, machine in (("cafe", facts), ("beef", facts | other)):
        stored = json.dumps({"machine": machine})
        (found.path / "provenance" / f"{name}.json").write_text(stored)

    assert words in said(found, "settings-changed")[0]
    assert raised(found)["settings-changed"] == severity


def test_unverified_output_is_said(tmp_path: Path):
    def edit(trial: Trial) -> Trial:
        return trial.model_copy(update={"verdict": trial.verdict.model_copy(update={"checks": []})})

    assert raised(results(tmp_path, edit=edit))["unverified"] == "serious"


def test_a_missing_baseline_is_said_and_the_first_level_taken(tmp_path: Path):
    found = results(tmp_path)
    study = found.study.model_copy(update={"baseline": {}})
    analysis = analyse(Results(found.path, study, found.trials))
    assert "no-baseline" in {w.id for w in analysis.warnings}
    assert {e.baseline for e in analysis.effects} == {"stock"}


def test_treatments_in_blocks_are_serious(tmp_path: Path):
    found = results(tmp_path)
    blocks = sorted(found.trials, key=lambda t: (t.treatment.id, t.round))
    moved = [t.model_copy(update={"started_at": float(i)}) for i, t in enumerate(blocks)]
    ids = raised(Results(found.path, found.study, moved))
    assert ids["order-not-randomised"] == "serious"


def test_every_warning_advises(tmp_path: Path):
    warnings = analyse(results(tmp_path, trials=6, invalid=(2,), shuffled=False)).warnings
    assert len(warnings) >= 4
    assert all(w.advice.strip() and w.text.strip() for w in warnings)


def test_capacity_adds_up_workers():
    limits = capacity(SLOW)
    assert (limits.workers, limits.cores) == (3, 24.0)
    assert limits.disk_read == 3e6
    assert limits.network == 3 * 10e9 / 8
    assert capacity({}).disk_read is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("10 Gb/s", 1.25e9), ("150 MB/s", 150e6), ("8 GiB", 8 * 1024**3), (5, 5.0), ("fast", None)],
)
def test_quantities(text: object, value: float | None):
    assert number(text) == value


def test_a_rate_above_the_disks_is_named_with_the_limit(tmp_path: Path):
    analysis = analyse(results(tmp_path, cluster=SLOW))
    (first, *_) = [w for w in analysis.warnings if w.id == "above-physical-limit"]
    assert "3 MB/s" in first.text or "3.00 MB/s" in first.text


def limits_by_resource(found: Results) -> dict[str, set[float | None]]:
    seen: dict[str, set[float | None]] = {}
    for use in analyse(found).usages:
        seen.setdefault(use.resource, set()).add(use.limit)
    return seen


def test_local_takes_no_limit_from_the_description(tmp_path: Path):
    found = with_threads(results(tmp_path, testbed="local", cluster=SLOW), 2)
    nothing: set[float | None] = {None}
    assert limits_by_resource(found) == {
        "CPU": {2.0},
        "disk read": nothing,
        "disk write": nothing,
        "network": nothing,
    }
    assert "above-physical-limit" not in raised(found)
    text, advice = said(found, "limits-unknown")
    assert "all hosts of the testbed local share this machine" in text
    assert text.endswith("disk read, disk write, network")
    assert "state the rates" not in advice


@pytest.mark.parametrize("threads", [None, "two", 0])
def test_local_without_threads_in_the_provenance_has_no_limit(tmp_path: Path, threads: object):
    found = with_threads(results(tmp_path, testbed="local", cluster=FAST), threads)
    assert limits_by_resource(found)["CPU"] == {None}
    assert said(found, "limits-unknown")[0].count("CPU") == 1
    assert "not-the-bottleneck" not in raised(found)


def test_local_machines_that_differ_or_cannot_be_read_give_no_limit(tmp_path: Path):
    plan = {"edit": first_only(lambda t: {"provenance": "beef"})}
    found = with_threads(results(tmp_path, testbed="local", **plan), 2)
    other = found.path / "provenance" / "beef.json"
    other.write_text('{"machine": {"cpu_threads": 4}}')
    assert limits_by_resource(found)["CPU"] == {None}
    other.write_text("{")
    assert limits_by_resource(found)["CPU"] == {2.0}


def test_a_predicted_study_keeps_the_described_limits(tmp_path: Path):
    found = results(tmp_path, testbed="local", cluster=SLOW)
    study = found.study.model_copy(update={"kind": "predicted"})
    predicted = Results(found.path, study, found.trials)
    assert limits_by_resource(predicted)["disk read"] == {3e6}


def extra_at(number: int) -> Callable[[Trial], Trial]:
    """Trials from this round on are extra ones; the first trial of the study is odd."""

    def edit(trial: Trial) -> Trial:
        odd = first_only(noisy)(trial)
        return odd.model_copy(update={"extra": trial.round >= number})

    return edit


def test_the_cap_is_called_reached_only_after_that_many_extra_trials(tmp_path: Path):
    found = results(tmp_path, edit=extra_at(6))
    planned = found.study.protocol.model_copy(update={"rounds": 5})
    study = found.study.model_copy(update={"protocol": planned})
    found = Results(found.path, study, found.trials)
    advice = said(capped(found, 1), "variation-limit")[1]
    assert "the maximum of extra rounds (1) was reached; look for" in advice
    advice = said(capped(found, 2), "variation-limit")[1]
    assert "1 of 2); run the same command again" in advice
    assert "reached" not in advice


def test_an_unfinished_study_has_not_reached_its_cap(tmp_path: Path):
    found = results(tmp_path, edit=extra_at(99), invalid=(7,))
    advice = said(capped(found, 1), "variation-limit")[1]
    assert "0 of 1), because the study is not complete; run the same command again" in advice
    assert "reached" not in advice


@pytest.mark.parametrize("repeats", [0, 1])
def test_trials_that_are_not_repeated_again_need_an_option(tmp_path: Path, repeats: int):
    found = results(tmp_path, invalid=(3,))
    protocol = found.study.protocol.model_copy(update={"retry_invalid": repeats})
    study = found.study.model_copy(update={"protocol": protocol})
    advice = said(Results(found.path, study, found.trials), "incomplete")[1]
    assert advice.startswith("run the same command again on this folder to complete the study")
    assert ("--retry-invalid" in advice) is (repeats == 0)


def reference(trial: Trial) -> Trial:
    """The first phase is a reference phase with very different times."""
    phases = list(trial.phases)
    wild = {"beside": True, "elapsed_s": 10.0 * trial.round}
    return trial.model_copy(update={"phases": [phases[0].model_copy(update=wild), *phases[1:]]})


def test_the_variation_of_a_reference_phase_requires_no_rounds(tmp_path: Path) -> None:
    found = results(tmp_path, edit=reference)
    assert "variation-limit" not in raised(capped(found, 2))


@pytest.mark.parametrize(
    ("odd", "ended"),
    [("t00001", True), ("t00005", False)],
)
def test_a_retest_of_all_rounds_judges_its_last_set(tmp_path: Path, odd: str, ended: bool) -> None:
    """Three rounds and three extra ones of one treatment; one trial is three times as long."""

    def edit(trial: Trial) -> Trial:
        longer = noisy(trial) if trial.id == odd else {}
        return trial.model_copy(update={**longer, "extra": trial.round > 3})

    found = results(tmp_path, trials=6, levels=("stock",), edit=edit)
    rules = {"rounds": 3, "extra_rounds": 9, "retest": "all again"}
    protocol = found.study.protocol.model_copy(update=rules)
    found = Results(found.path, found.study.model_copy(update={"protocol": protocol}), found.trials)
    advice = said(found, "variation-limit")[1]
    assert (
        "the rule 'protocol.retest' requires no more rounds, because the last set of rounds"
        in advice
    ) is ended
    assert ("3 of 9); run the same command again" in advice) is not ended
    advice = said(capped(found, 5), "variation-limit")[1]
    assert ("the maximum of extra rounds (5) was reached" in advice) is not ended


def test_metrics_of_the_trial_join_the_total(tmp_path: Path):
    found = results(tmp_path, edit=changed(metrics={"energy": Metric(value=5.0, unit="Wh")}))
    cell = analyse(found).cell("stock", "terasort", "total", "energy")
    assert cell is not None
    assert cell.mean == 5.0


def with_speculation(found: Results, counts: list[int]) -> Results:
    """The study whose first trials have these numbers of speculative attempts."""
    changed = []
    for trial, count in zip(found.trials, counts, strict=False):
        first, *others = trial.phases
        metrics = {**first.metrics, "speculative_attempts": Metric(value=count, unit="count")}
        phases = [first.model_copy(update={"metrics": metrics}), *others]
        changed.append(trial.model_copy(update={"phases": phases}))
    return Results(found.path, found.study, [*changed, *found.trials[len(changed) :]])


def test_speculative_attempts_are_counted(tmp_path: Path) -> None:
    found = with_speculation(results(tmp_path), [0, 2, 1, 0])
    text, advice = said(found, "speculation")

    assert text.startswith(
        "two attempts of a task ran at the same time in 2 of 4 trials (at most 2 "
    )
    assert "mapreduce.map.speculative" in advice


@pytest.mark.parametrize("counts", [[0, 0, 0], []])
def test_without_speculative_attempts_there_is_no_warning(
    tmp_path: Path, counts: list[int]
) -> None:
    found = with_speculation(results(tmp_path), counts)

    assert not [w for w in analyse(found).warnings if w.id == "speculation"]


def with_core_speed(found: Results, core_speed: float | None, own_s_per_gb: float) -> Results:
    """The study as a scale model whose tasks had this CPU time; 100 s per GB at full size."""
    phase = found.trials[0].phases[0].name
    scale = ScaleRecord(rate=0.1, data=0.1, core_speed=core_speed, cpu_s_per_gb={phase: 100.0})
    changed = []
    for trial in found.trials:
        first, *others = trial.phases
        cpu = {**first.metrics, "cpu_time": Metric(value=2 * own_s_per_gb, unit="s")}
        metrics = {**trial.metrics, "data_bytes": Metric(value=2e9, unit="bytes")}
        phases = [first.model_copy(update={"metrics": cpu}), *others]
        changed.append(trial.model_copy(update={"phases": phases, "metrics": metrics}))
    study = found.study.model_copy(update={"scale": scale})
    return Results(found.path, study, changed)


@pytest.mark.parametrize(
    ("core_speed", "own", "right", "work"),
    [(1.75, 106.0, "0.943", "46 % less"), (None, 50.0, "2", "100 % more")],
)
def test_a_core_speed_of_another_machine_is_named(
    tmp_path: Path, core_speed: float | None, own: float, right: str, work: str
) -> None:
    text, advice = said(with_core_speed(results(tmp_path), core_speed, own), "core-speed")

    assert f"is {core_speed or 1:.3g}, but it should be {right} on this machine" in text
    assert f"had {own:.0f} s of CPU time per GB in the model, and 100 s at full size" in text
    assert f"do {work} work than at full size" in text
    assert f"set 'core_speed: {right}'" in advice


def test_the_warning_has_the_core_probe_of_the_trials(tmp_path: Path) -> None:
    found = with_core_speed(results(tmp_path), 1.75, 106.0)
    for trial in found.trials:
        trial.phases[0].metrics["core_probe"] = Metric(value=0.6, unit="ms")
    _, advice = said(found, "core-speed")
    assert "set 'core_speed: 0.943' and 'core_probe_ms: 0.6' in 'testbed'" in advice

    # quotas that follow the probe were 20 % larger than planned: the work is that of 88.3 s
    assert found.study.scale is not None
    found.study.scale.core_probe_ms = 0.5
    _, advice = said(found, "core-speed")
    assert "set 'core_speed: 1.13' in 'testbed'" in advice


def test_a_right_core_speed_has_no_warning(tmp_path: Path) -> None:
    found = with_core_speed(results(tmp_path), 1.75, 60.0)
    assert not [w for w in analyse(found).warnings if w.id == "core-speed"]
