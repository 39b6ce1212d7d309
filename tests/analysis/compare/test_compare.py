"""Folders with known truth: verdicts, the family of the correction, matching, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.pairs import LATER, QUIET, results
from windtunnel.analysis.compare import REFUSAL_IDS, CellComparison, Comparison, compare
from windtunnel.analysis.compare.refusals import REFUSALS
from windtunnel.analysis.compare.sentences import answer, caveats, what_differs
from windtunnel.report.comparison import cells_table
from windtunnel.results.folder import Results
from windtunnel.results.record import Before, Check, Metric, Trial

OTHER_SEED = replace(QUIET, seed=2)


def verdicts(comparison: Comparison) -> dict[str, str]:
    """Treatment -> verdict on the total elapsed time, of the only pair."""
    return {cell.treatment: cell.verdict for cell in comparison.pairs[0].totals}


def cell(comparison: Comparison, phase: str, metric: str, treatment: str) -> CellComparison:
    cells = comparison.pairs[0].cells
    return next(c for c in cells if (c.phase, c.metric, c.treatment) == (phase, metric, treatment))


# --- verdicts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.0, "not distinguishable"), (1.25, "worse"), (0.8, "better")]
)
def test_the_verdict_follows_the_truth(tmp_path: Path, factor: float, expected: str) -> None:
    a = results(tmp_path / "a")
    b = results(tmp_path / "b", OTHER_SEED, later=LATER, levels=factor)
    found = compare([("a", a), ("b", b)])
    assert verdicts(found) == {"stock": expected, "tuned": expected}
    assert found.family == 2
    for total in found.pairs[0].totals:
        assert total.low is not None
        assert total.high is not None
        assert total.low <= factor <= total.high
        assert total.basis == "apart"


def test_only_what_may_be_compared_is_called_two_runs_of_one_thing(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b", OTHER_SEED, later=LATER)
    same = "cluster, settings and software are the same"
    two = compare([("a", a), ("b", b)]).pairs[0]
    assert what_differs(two) == f"two runs of the same configuration: {same}"
    elsewhere = replace(b, study=b.study.model_copy(update={"testbed": "attached"}))
    assert what_differs(compare([("a", a), ("b", elsewhere)]).pairs[0]) == same
    trials = [t.model_copy(update={"workload": "pi"}) for t in b.trials]
    other = compare([("a", a), ("b", replace(b, trials=trials))]).pairs[0]
    assert what_differs(other).startswith("nothing is compared: the folders have no workload")


def test_a_small_difference_names_what_would_have_been_seen(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b", OTHER_SEED, later=LATER)
    found = compare([("a", a), ("b", b)])
    total = found.pairs[0].totals[0]
    assert total.detectable is not None
    assert 0.01 < total.detectable < 0.10
    assert "(minimum detectable effect +" in answer(found)


def test_one_change_that_is_real_is_told_from_one_that_is_not(tmp_path: Path) -> None:
    a = results(tmp_path / "a")
    b = results(tmp_path / "b", replace(OTHER_SEED, effect=-0.10), later=LATER)
    assert verdicts(compare([("a", a), ("b", b)])) == {
        "stock": "not distinguishable",
        "tuned": "worse",
    }


def test_more_of_a_rate_is_better_and_of_a_count_neither(tmp_path: Path) -> None:
    a = results(tmp_path / "a")

    def half(trial: Trial) -> Trial:
        phases = []
        for phase in trial.phases:
            rate = Metric(value=phase.metrics["rate"].value / 2, unit="bytes/s")
            maps = Metric(value=12, unit="count")
            phases.append(
                phase.model_copy(update={"metrics": phase.metrics | {"rate": rate, "maps": maps}})
            )
        return trial.model_copy(update={"phases": phases})

    found = compare([("a", a), ("b", results(tmp_path / "b", OTHER_SEED, later=LATER, edit=half))])
    assert cell(found, "terasort", "rate", "stock").verdict == "worse"
    assert cell(found, "terasort", "maps", "stock").verdict == "differs"


def test_a_few_bytes_more_are_not_a_difference(tmp_path: Path) -> None:
    def sent(count: float) -> Callable[[Trial], Trial]:
        def edit(trial: Trial) -> Trial:
            phases = [
                p.model_copy(
                    update={"metrics": p.metrics | {"sent": Metric(value=count, unit="bytes")}}
                )
                for p in trial.phases
            ]
            return trial.model_copy(update={"phases": phases})

        return edit

    a = results(tmp_path / "a", edit=sent(512_000_000))
    for count, verdict in ((512_000_040, "not distinguishable"), (513_000_000, "differs")):
        b = results(tmp_path / f"{count}", OTHER_SEED, later=LATER, edit=sent(count))
        found = compare([("a", a), ("b", b)])
        assert cell(found, "terasort", "sent", "stock").verdict == verdict


def test_one_trial_gives_no_verdict(tmp_path: Path) -> None:
    a = results(tmp_path / "a", replace(QUIET, trials=2))
    b = results(tmp_path / "b", replace(OTHER_SEED, trials=10), later=LATER, levels=3.0)
    found = compare([("a", a), ("b", b)])
    assert set(verdicts(found).values()) == {"unknown"}
    assert found.pairs[0].totals[0].low is None
    assert "spread is unknown" in answer(found)


def test_few_trials_are_indicative(tmp_path: Path) -> None:
    plan = replace(QUIET, trials=6)
    a = results(tmp_path / "a", plan)
    b = results(tmp_path / "b", replace(plan, seed=2), later=LATER)
    found = compare([("a", a), ("b", b)])
    assert any("indicative" in text for text in caveats(found, found.pairs[0]))


def test_folders_that_ran_at_different_times_say_so(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b", OTHER_SEED, later=LATER)
    found = compare([("a", a), ("b", b)])
    assert any(
        "cannot be distinguished from an effect of the configuration" in text
        for text in caveats(found, found.pairs[0])
    )
    b = results(tmp_path / "c", OTHER_SEED, later=20.0)
    found = compare([("a", a), ("b", b)])
    assert {c.basis for c in found.pairs[0].totals} == {"interleaved"}
    assert not any("cannot be distinguished" in text for text in caveats(found, found.pairs[0]))


def test_the_correction_counts_every_folder(tmp_path: Path) -> None:
    folders = [
        (name, results(tmp_path / name, replace(QUIET, seed=i), later=i * LATER))
        for i, name in enumerate("abc", start=1)
    ]
    found = compare(folders)
    assert found.family == 4
    for pair in found.pairs:
        for total in pair.totals:
            assert total.p is not None
            assert total.p_adjusted is not None
            assert total.p <= total.p_adjusted <= 1


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000), st.floats(0.5, 2.0), st.sampled_from([20.0, 700.0, LATER]))
def test_b_against_a_mirrors_a_against_b(
    tmp_path_factory: pytest.TempPathFactory, seed: int, factor: float, later: float
) -> None:
    path = tmp_path_factory.mktemp("pair")
    a = results(path / "a", replace(QUIET, seed=seed))
    b = results(path / "b", replace(QUIET, seed=seed + 1), later=later, levels=factor)
    there, back = compare([("a", a), ("b", b)]), compare([("b", b), ("a", a)])
    mirror = {"better": "worse", "worse": "better"}
    ours, theirs = there.pairs[0].cells, back.pairs[0].cells
    assert len(ours) == len(theirs) > 30
    for one, two in zip(ours, theirs, strict=True):
        assert two.verdict == mirror.get(one.verdict, one.verdict)
        if one.ratio is not None and one.low is not None:
            assert two.ratio == pytest.approx(1 / one.ratio)
            assert two.high == pytest.approx(1 / one.low)
            assert two.p == pytest.approx(one.p, rel=1e-6, abs=1e-12)


# --- history --------------------------------------------------------------------------------


def test_a_new_run_is_judged_by_the_spread_of_the_earlier_ones(tmp_path: Path) -> None:
    shifts = (1.0, 1.06, 0.95, 1.03, 0.98)
    earlier = [
        (f"e{i}", results(tmp_path / f"e{i}", replace(QUIET, seed=i), later=i * LATER, levels=s))
        for i, s in enumerate(shifts)
    ]
    new = results(tmp_path / "new", replace(QUIET, seed=9), later=9 * LATER, levels=1.05)
    usual = compare([*earlier, ("new", new)], history=True)
    assert set(verdicts(usual).values()) == {"not distinguishable"}
    slow = results(tmp_path / "slow", replace(QUIET, seed=9), later=9 * LATER, levels=1.5)
    assert set(verdicts(compare([*earlier, ("slow", slow)], history=True)).values()) == {"worse"}
    # two folders alone do not know how much runs differ, and find the 5 %
    assert "worse" in verdicts(compare([earlier[0], ("new", new)])).values()


def _run(name: str, path: Path, seconds: float, rounds: int, number: int) -> tuple[str, Results]:
    """A run of one treatment in which the total of every trial is ``seconds``."""

    def steady(trial: Trial) -> Trial:
        factor = seconds / sum(phase.elapsed_s for phase in trial.phases)
        wiggle = 1 + 1e-4 * trial.round
        phases = [
            p.model_copy(update={"elapsed_s": p.elapsed_s * factor * wiggle}) for p in trial.phases
        ]
        return trial.model_copy(update={"phases": phases})

    plan = replace(QUIET, trials=rounds, levels=("stock",), seed=number)
    return name, results(path / name, plan, later=number * LATER, edit=steady)


def test_the_unit_of_a_history_is_the_run(tmp_path: Path) -> None:
    runs = [
        _run(name, tmp_path, seconds, rounds, number)
        for number, (name, seconds, rounds) in enumerate(
            [("a", 100.0, 20), ("b", 120.0, 2), ("new", 105.0, 5)]
        )
    ]
    found = compare(runs, history=True)
    (total,) = found.pairs[0].totals
    assert (total.n_reference, total.units_reference, total.n_other) == (22, 2, 5)
    assert total.indicative
    assert total.mean_reference == pytest.approx(110.0, rel=2e-3)
    assert "a cell has fewer than 5 runs: verdicts are indicative" in caveats(found, found.pairs[0])
    table = cells_table("", [total])
    assert table.rows[0][-1] == "22 in 2 runs : 5 *"
    assert table.hint == "* fewer than 5 runs: indicative"


def test_the_unit_of_several_deployments_is_the_deployment(tmp_path: Path) -> None:
    def deployed(trial: Trial) -> Trial:
        return trial.model_copy(update={"deployment": 1 + trial.round % 2})

    plan = replace(QUIET, trials=12)
    a = results(tmp_path / "a", plan, edit=deployed)
    b = results(tmp_path / "b", replace(plan, seed=2), later=LATER, edit=deployed)
    found = compare([("a", a), ("b", b)])
    total = found.pairs[0].totals[0]
    assert total.nested and total.indicative
    assert (total.n_reference, total.units_reference, total.units_other) == (6, 2, 2)
    said = caveats(found, found.pairs[0])
    assert "a cell has fewer than 5 deployments: verdicts are indicative" in said
    assert cells_table("", [total]).rows[0][-1] == "6 in 2 deployments : 6 in 2 deployments *"


# --- matching -------------------------------------------------------------------------------


def test_treatments_without_a_partner_are_listed(tmp_path: Path) -> None:
    a = results(tmp_path / "a")
    b = results(tmp_path / "b", replace(OTHER_SEED, levels=("stock", "larger")), later=LATER)
    found = compare([("a", a), ("b", b)])
    assert verdicts(found).keys() == {"stock"}
    assert found.pairs[0].unmatched == [
        "terasort at tuned: only in a",
        "terasort at larger: only in b",
    ]


def test_single_treatments_match_by_workload(tmp_path: Path) -> None:
    plan = replace(QUIET, trials=5)
    a = results(tmp_path / "a", replace(plan, levels=("x",)))
    b = results(tmp_path / "b", replace(plan, levels=("y",), seed=2), later=LATER)
    refused = compare([("a", a), ("b", b)])
    assert [r.id for r in refused.pairs[0].refused] == ["no-match"]
    found = compare([("a", a), ("b", b)], by="workload")
    assert verdicts(found) == {"x : y": "not distinguishable"}


# --- refusals -------------------------------------------------------------------------------


def test_warm_trials_with_stock_starts_are_refused(tmp_path: Path) -> None:
    warm = {"cluster": {"software": {"task_start": "warm"}}}
    a = results(tmp_path / "a", study=warm, edit=_started(0))
    b = results(tmp_path / "b", OTHER_SEED, later=LATER, study=warm, edit=_started(3))
    (refused,) = compare([("a", a), ("b", b)]).pairs[0].refused
    assert refused.id == "task-start"
    assert "0 % against 30 % stock starts" in refused.text
    same = results(tmp_path / "c", OTHER_SEED, later=LATER, study=warm, edit=_started(0))
    assert compare([("a", a), ("c", same)]).pairs[0].refused == []


def _parameters(trial: Trial) -> Trial:
    return trial.model_copy(update={"parameters": {**trial.parameters, "size": 5e8}})


def _published(trial: Trial) -> Trial:
    return trial.model_copy(update={"kind": "published"})


def _unchecked(trial: Trial) -> Trial:
    checks = [Check(name="rows", passed=True)]
    return trial.model_copy(update={"verdict": trial.verdict.model_copy(update={"checks": checks})})


def _dropped(trial: Trial) -> Trial:
    assert isinstance(trial.before, Before)
    return trial.model_copy(
        update={"before": trial.before.model_copy(update={"cache_state": "dropped"})}
    )


def _started(stock: int) -> Callable[[Trial], Trial]:
    """Adds the starts of the containers of a trial with warm starts."""

    def edit(trial: Trial) -> Trial:
        starts = {"warm_starts": 10 - stock, "stock_starts": stock}
        counted = {name: Metric(value=value, unit="count") for name, value in starts.items()}
        first, *others = trial.phases
        more = first.model_copy(update={"metrics": {**first.metrics, **counted}})
        return trial.model_copy(update={"phases": [more, *others]})

    return edit


MACHINE = {"kernel": "6.1.0", "cpu": "made-up CPU", "cores": 2, "memory_bytes": 24 * 1024**3}
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "data size": ("workload-parameters", {"edit": _parameters}),
    "testbed": ("testbed", {"study": {"testbed": "attached"}}),
    "kind": ("kind", {"edit": _published}),
    "scale model": ("scale", {"study": {"scale": {"rate": 0.1, "data": 0.1}}}),
    "another scale": (
        "model-scale",
        {
            "base": {"scale": {"rate": 0.1, "data": 0.1}},
            "study": {"scale": {"rate": 0.1, "data": 0.2}},
        },
    ),
    "combined slots": (
        "model-scale",
        {
            "base": {"scale": {"rate": 0.1, "data": 0.1}},
            "study": {
                "scale": {"rate": 0.1, "data": 0.1},
                "testbed_options": {"combine": {"slots": 16}},
            },
        },
    ),
    "cores of another speed": (
        "model-scale",
        {
            "base": {"scale": {"rate": 0.1, "data": 0.1}},
            "study": {"scale": {"rate": 0.1, "data": 0.1, "core_speed": 1.75}},
        },
    ),
    "other CPU": ("machine", {"provenance": {"machine": {**MACHINE, "cpu": "another"}}}),
    "more threads": ("machine", {"provenance": {"machine": {**MACHINE, "cores": 4}}}),
    "more memory": ("machine", {"provenance": {"machine": {**MACHINE, "memory_bytes": 64e9}}}),
    "cache rule": ("cache", {"study": {"protocol": {"cache": "drop"}}}),
    "cache state": ("cache", {"edit": _dropped}),
    "replication": ("replication", {"study": {"cluster": {"storage": {"replication": 2}}}}),
    "warm starts": (
        "task-start",
        {"study": {"cluster": {"software": {"task_start": "warm"}}}},
    ),
    "other checks": ("verdict-rules", {"edit": _unchecked}),
    "invalidation": ("verdict-rules", {"study": {"protocol": {"invalidate": {"load": 4.0}}}}),
    "two things": (
        "several-changes",
        {"study": {"cluster": {"settings": {"x.y": "1"}, "software": {"hadoop": "3.4"}}}},
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_comparable_is_refused(case: str, tmp_path: Path) -> None:
    reason, changes = REFUSED[case][0], dict(REFUSED[case][1])
    base: dict[str, Any] = {"storage": {"kind": "hdfs", "replication": 3}}
    cluster = changes.get("study", {}).get("cluster", {})
    first = changes.pop("base", {})
    a = results(tmp_path / "a", study={**first, "cluster": base})
    study = {**changes.get("study", {}), "cluster": {**base, **cluster}}
    b = results(tmp_path / "b", OTHER_SEED, later=LATER, **{**changes, "study": study})

    found = compare([("a", a), ("b", b)])
    assert [r.id for r in found.pairs[0].refused] == [reason]
    assert found.pairs[0].cells == []
    assert "refused" in answer(found)

    allowed = compare([("a", a), ("b", b)], allowed=[reason])
    if reason == "scale":
        assert allowed.pairs[0].cells == []
        return
    assert not allowed.pairs[0].refused
    assert verdicts(allowed).keys() == {"stock", "tuned"}
    assert any(reason in text for text in caveats(allowed, allowed.pairs[0]))


ALLOWED: dict[str, dict[str, Any]] = {
    "a setting": {"study": {"cluster": {"settings": {"mapreduce.job.reduces": "8"}}}},
    "Hadoop": {"provenance": {"hadoop": {"version": "3.4.2", "jars": {}}}},
    "workers": {"study": {"cluster": {"hosts": {"worker": {"count": 5}}}}},
    "the same size in other words": {
        "edit": lambda t: t.model_copy(
            update={"parameters": {**t.parameters, "size": "256 MB", "output_replication": "1"}}
        )
    },
    "a hair less memory": {
        "provenance": {"machine": {**MACHINE, "memory_bytes": 24 * 1024**3 - 10_000_000}}
    },
    "kernel": {"provenance": {"machine": {**MACHINE, "kernel": "6.2.0"}}},
    "derived settings beside workers": {
        "study": {"cluster": {"hosts": {"worker": {"count": 5}}}},
        "provenance": {"settings": {"yarn.nodemanager.resource.memory-mb": "4096"}},
    },
}


@pytest.mark.parametrize("case", ALLOWED)
def test_the_thing_compared_may_differ(case: str, tmp_path: Path) -> None:
    a = results(tmp_path / "a")
    b = results(tmp_path / "b", OTHER_SEED, later=LATER, **ALLOWED[case])
    found = compare([("a", a), ("b", b)])
    assert found.pairs[0].refused == []
    named = case != "the same size in other words"
    groups = {"cluster", "settings", "software", "machine"}
    assert any(row.group in groups for row in found.pairs[0].differences) == named


def test_a_copy_is_no_second_run(tmp_path: Path) -> None:
    a, b = results(tmp_path / "a"), results(tmp_path / "b")
    found = compare([("a", a), ("b", b)], allowed=["same-trials"])
    assert [r.id for r in found.pairs[0].refused] == ["same-trials"]


def test_every_reason_has_its_case() -> None:
    covered = {reason for reason, _ in REFUSED.values()} | {"no-match", "same-trials"}
    assert covered == set(REFUSAL_IDS)
    assert len(REFUSALS) == len(REFUSAL_IDS)
