"""From a study file to treatments and rounds: designs, order, what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mock import MockTestbed, plan_from, toy_plan
from windtunnel.cluster import Cluster
from windtunnel.errors import DescriptionError, NotRealisableError
from windtunnel.study.check import check_plan
from windtunnel.study.factors import overwrites
from windtunnel.study.file import catalogue_names, load_study
from windtunnel.study.plan import Plan, make_plan
from windtunnel.testbeds.base import Realisation

HEAD = """\
study: toy
cluster: local-3
workloads:
  terasort: {rows: 1000, input_replication: 1, output_replication: 1}
"""


def order(plan: Plan, number: int) -> list[str]:
    return [slot.treatment.id for slot in plan.round_slots(number)]


def eight(seed: int) -> Plan:
    levels = ", ".join(str(64 * (i + 1)) for i in range(8))
    return plan_from(
        HEAD + f"factors: {{settings.mapreduce.task.io.sort.mb: [{levels}]}}\n"
        f"protocol: {{rounds: 5, seed: {seed}}}\n"
    )


def test_a_study_without_factors_has_the_baseline_as_its_treatment() -> None:
    assert [treatment.id for treatment in plan_from(HEAD).treatments] == ["baseline"]


# -- the order of rounds ---------------------------------------------------------------


@given(seed=st.integers(), number=st.integers(1, 99))
def test_a_round_holds_every_treatment_once_whatever_the_seed(seed: int, number: int) -> None:
    plan = EIGHT.__class__(
        **{**EIGHT.__dict__, "protocol": EIGHT.protocol.model_copy(update={"seed": seed})}
    )
    slots = plan.round_slots(number)

    assert Counter(slot.treatment.id for slot in slots) == Counter(t.id for t in plan.treatments)
    assert [slot.position for slot in slots] == list(range(1, 9))
    assert len({slot.id for slot in slots}) == 8
    assert slots == plan.round_slots(number), "the same seed gives the same order"


EIGHT = eight(1)


def test_the_order_differs_between_rounds_and_between_seeds() -> None:
    rounds = {tuple(order(eight(1), number)) for number in range(1, 6)}
    seeds = {tuple(order(eight(seed), 1)) for seed in range(1, 6)}

    # 8! orders: that two of five agree by chance has odds of 1 to 4000
    assert len(rounds) == 5
    assert len(seeds) == 5


def test_every_treatment_comes_first_now_and_then() -> None:
    firsts = {order(EIGHT, number)[0] for number in range(1, 200)}

    assert firsts == {treatment.id for treatment in EIGHT.treatments}


def test_a_round_runs_all_workloads_of_all_treatments_before_the_next() -> None:
    for number in (1, 2, 3):
        assert {slot.round for slot in EIGHT.round_slots(number)} == {number}


def test_slots_of_different_rounds_never_share_an_id() -> None:
    slots = [slot for number in range(1, 50) for slot in EIGHT.round_slots(number)]
    slots += [slot for number in range(1, 5) for slot in EIGHT.warmup_slots(number)]

    assert len({slot.id for slot in slots}) == len(slots)


def test_extra_rounds_hold_the_noisy_cells_alone() -> None:
    slots = EIGHT.extra_slots(6, [("terasort", "128"), ("terasort", "512")])

    assert sorted(slot.treatment.id for slot in slots) == ["128", "512"]
    assert all(slot.extra and slot.round == 6 for slot in slots)


# -- treatments ------------------------------------------------------------------------

TWO_FACTORS = (
    HEAD
    + """\
factors:
  sort: {small: {}, large: {settings.mapreduce.task.io.sort.mb: 256}}
  hosts.worker.count: [3, 4, 5]
baseline: {sort: large}
"""
)


def test_a_full_factorial_design_has_every_combination() -> None:
    plan = plan_from(TWO_FACTORS)

    assert [t.id for t in plan.treatments] == [
        f"{sort}_{count}" for sort in ("small", "large") for count in (3, 4, 5)
    ]
    assert plan.baseline == {"sort": "large", "hosts.worker.count": "3"}


def test_one_factor_at_a_time_keeps_the_others_at_the_baseline() -> None:
    plan = plan_from(TWO_FACTORS + "design: one-factor-at-a-time\n")

    assert [t.id for t in plan.treatments] == ["large_3", "small_3", "large_4", "large_5"]


def test_a_treatment_is_a_concrete_cluster_and_parameters() -> None:
    plan = plan_from(
        HEAD + "set: {storage.replication: 2}\n"
        "factors: {size: {little: {workloads.terasort.rows: 10}, more: {hosts.worker.count: 4}}}\n"
    )
    little, more = plan.treatments

    assert plan.parameters_of("terasort", little)["rows"] == 10
    assert plan.parameters_of("terasort", more)["rows"] == 1000
    assert plan.cluster_of(little).hosts["worker"].count == 3
    assert plan.cluster_of(more).hosts["worker"].count == 4
    assert plan.cluster_of(more).storage.replication == 2


def test_a_bundle_becomes_its_settings() -> None:
    plan = plan_from(HEAD + "factors: {s: {stock: {}, tuned: {bundle: terasort-tuned}}}\n")

    assert plan.treatments[1].overrides["settings.mapreduce.task.io.sort.mb"] == 256


def test_levels_that_are_numbers_or_truths_are_named_by_their_text() -> None:
    plan = plan_from(HEAD + "factors: {settings.mapreduce.map.speculative: [true, false]}\n")

    assert [t.id for t in plan.treatments] == ["true", "false"]


@given(labels=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, unique=True))
def test_whatever_a_level_is_called_its_id_is_a_file_name_of_its_own(labels: list[str]) -> None:
    from windtunnel.study.factors import treatment_of

    levels: dict[str, dict[str, Any]] = {"f": {label: {} for label in labels}}
    found = [treatment_of({"f": label}, levels).id for label in labels]

    assert len(set(found)) == len(found)
    assert all("/" not in name and len(name) < 80 for name in found)


def test_combinations_whose_labels_join_to_the_same_text_stay_apart() -> None:
    plan = plan_from(HEAD + "factors:\n  a: {x: {}, x_y: {}}\n  b: {y_z: {}, z: {}}\n")

    assert len({treatment.id for treatment in plan.treatments}) == 4


# -- the fingerprint -------------------------------------------------------------------


def test_the_fingerprint_is_that_of_what_is_measured() -> None:
    same = toy_plan(), toy_plan()
    assert same[0].fingerprint == same[1].fingerprint
    for other in (toy_plan(rounds=3), toy_plan(seed=2), toy_plan(extra_rounds=1)):
        assert other.fingerprint != same[0].fingerprint
    assert plan_from(HEAD).fingerprint == plan_from(HEAD + "question: why?\n").fingerprint
    assert plan_from(HEAD).fingerprint != plan_from(HEAD.replace("1000", "1001")).fingerprint


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("factors: {hosts.wroker.count: [1, 2]}", "did you mean 'hosts.worker'"),
        ("factors: {hosts.worker.count: [3]}", "has fewer than two levels"),
        ("factors: {hosts.worker.count: [3, 3]}", "the same level twice"),
        ("factors: {hosts.worker.count: [3, null]}", "level 2 of hosts.worker.count is empty"),
        ("factors: {workloads.terasort.maps: [null, 3]}", "level 1 of"),
        ("factors: {hosts.worker.count: [3, 0]}", "at least 1"),
        ("factors: {f: {a: {}, b: {bundle: nope}}}", "no 'nope' among its bundles"),
        ("factors: {workloads.wordcount.rows: [1, 2]}", "refers to no workload of this study"),
        ("factors: {workloads.terasort: [a, b]}", "'workloads.terasort' has no parameter"),
        ("factors: {f: {a: {workloads.terasort.: 1}, b: {}}}", "has no parameter"),
        ("factors: {workloads.terasort.size: [1 MB, 2 MB]}", "only one of them"),
        ("factors: {workloads.terasort.maps: [1, 0]}", "greater than 0"),
        ("baseline: {sort: small}", "which is not a factor"),
        ("factors: {f: {a: {}, b: {}}}\nbaseline: {f: c}", "has no level 'c'"),
        ("set: {hosts.worker.cuont: 3}", "did you mean 'hosts.worker.count'"),
    ],
)
def test_a_study_that_cannot_be_meant_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        plan_from(HEAD + text + "\n")

    shown = caught.value.render()
    assert says in shown or says in shown.replace("more than 0", "greater than 0")
    assert "toy.yaml:" in shown


def test_what_the_testbed_or_a_workload_cannot_do_is_listed_with_its_treatment() -> None:
    class Small(MockTestbed):
        def check(self, cluster: Cluster) -> Realisation:
            many = cluster.hosts["worker"].count > 4
            return Realisation(["too many workers"] if many else [], ["no network"])

    text = HEAD.replace("output_replication: 1", "output_replication: 4")
    plan = plan_from(text + "factors: {hosts.worker.count: [3, 4, 5]}\n")
    with pytest.raises(NotRealisableError) as caught:
        check_plan(plan, Small())  # type: ignore[arg-type]

    assert "treatment count 3: workloads.terasort.output_replication is 4" in caught.value.message
    assert "treatment count 5: too many workers" in caught.value.message
    assert "treatment 4:" not in caught.value.message


def test_unknown_settings_are_caveats_and_not_errors() -> None:
    plan = plan_from(HEAD + "set: {settings.dfs.replicaton: 2}\n")
    caveats = check_plan(plan, MockTestbed())  # type: ignore[arg-type]

    assert caveats == [
        "Hadoop 3.5 has no property 'dfs.replicaton'; did you mean 'dfs.replication'?"
    ]


@pytest.mark.parametrize(
    ("factors", "names"),
    [
        ("{hosts.worker.memory: [64 GiB, 64GiB]}", "64 GiB and 64GiB"),
        ("{a: {x: {}, y: {}}}", "x and y"),
        ("{name: [a, b]}", "a and b"),
        ("{hosts.worker.memory: [64 GiB, 65 GiB]}", ""),
        ("{workloads.terasort.rows: [1000, 1001]}", ""),
    ],
)
def test_treatments_with_equal_content_are_a_caveat(factors: str, names: str) -> None:
    """A study of equal treatments (A/A) is possible: it measures the noise."""
    plan = plan_from(f"{HEAD}factors: {factors}\n")
    caveats = check_plan(plan, MockTestbed())  # type: ignore[arg-type]
    note = (
        f"treatments {names} have the same cluster and parameters: a difference between them is "
        "noise"
    )
    assert caveats == ([note] if names else [])


def test_many_groups_of_equal_treatments_are_counted() -> None:
    text = "factors: {hosts.worker.count: [1, 2, 3, 4, 5], name: [a, b, c]}\n"
    plan = plan_from(HEAD + text)
    notes = check_plan(plan, MockTestbed())  # type: ignore[arg-type]

    assert [note.count("count") for note in notes[:3]] == [3, 3, 3]
    assert notes[3] == "2 more groups of treatments have the same content, too"


def test_a_value_that_hadoop_cannot_parse_is_refused_before_the_testbed_uses_it() -> None:
    class Calculating(MockTestbed):
        def check(self, cluster: Cluster) -> Realisation:
            int(str(cluster.settings["mapreduce.map.memory.mb"]))
            return Realisation()

    plan = plan_from(HEAD + "set: {settings.mapreduce.map.memory.mb: 1g}\n")
    with pytest.raises(NotRealisableError, match=r"memory\.mb: '1g' is not a whole number"):
        check_plan(plan, Calculating())  # type: ignore[arg-type]


def test_a_caveat_names_its_treatments_unless_it_applies_to_all() -> None:
    class Noted(MockTestbed):
        def check(self, cluster: Cluster) -> Realisation:
            few = cluster.hosts["worker"].count < 8
            return Realisation([], ["no network", *(["few workers"] if few else [])])

    plan = plan_from(HEAD + "factors: {hosts.worker.count: [3, 4, 5, 6, 7, 8]}\n")
    caveats = check_plan(plan, Noted())  # type: ignore[arg-type]

    assert caveats == ["no network", "count 3; count 4; count 5 and 2 more: few workers"]


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue_names("studies"))
def test_every_study_of_the_catalogue_can_be_planned(name: str) -> None:
    plan = make_plan(*load_study(name))

    # a mix compares within its trials
    assert len(plan.treatments) > 1 or "mix" in plan.workloads
    assert plan.question


def test_a_cluster_file_is_looked_for_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nhosts:\n  one: {count: 1, roles: [namenode, datanode]}\n"
    )
    study = tmp_path / "study.yaml"
    study.write_text(HEAD.replace("local-3", "mine.yaml"))

    assert make_plan(*load_study(str(study))).base.name == "mine"


def test_changes_from_the_command_line_come_last() -> None:
    file, located = load_study("demo")
    plan = make_plan(file, located, {"hosts.worker.count": 2, "storage.replication": 1})

    assert plan.base.hosts["worker"].count == 2


def test_two_factors_that_set_the_same_path_are_refused() -> None:
    text = HEAD + (
        "factors:\n"
        "  bundle: {stock: {}, tuned: {bundle: terasort-tuned}}\n"
        "  settings.mapreduce.job.reduces: [1, 4]\n"
    )

    with pytest.raises(DescriptionError, match=r"both set 'settings\.mapreduce\.job\.reduces'"):
        plan_from(text)


def test_a_factor_that_overwrites_a_part_that_another_sets_is_refused() -> None:
    text = HEAD + (
        "factors:\n"
        "  hosts.worker.disks.0.count: [1, 2]\n"
        "  kind: {hdd: {}, ssd: {hosts.worker.disks: [{kind: ssd}]}}\n"
    )

    with pytest.raises(DescriptionError, match=r"overwrites 'hosts\.worker\.disks") as caught:
        plan_from(text)
    assert "write 'kind' before" in caught.value.remedy


@pytest.mark.parametrize(
    ("later", "earlier", "lost"),
    [
        ("hosts.worker.count", "hosts.worker.count", True),
        ("hosts.worker", "hosts.worker.count", True),
        ("hosts.worker.count", "hosts.worker", False),
        ("hosts.work", "hosts.worker.count", False),
        ("settings.dfs.replication", "settings.dfs.replication.max", False),
    ],
)
def test_a_path_overwrites_itself_and_its_parts(later: str, earlier: str, lost: bool) -> None:
    assert overwrites(later, earlier) is lost


def test_a_change_from_the_command_line_is_not_lost_in_a_factor() -> None:
    file, located = load_study("demo")

    with pytest.raises(DescriptionError, match=r"cannot set 'settings\.mapreduce"):
        make_plan(file, located, {"settings.mapreduce.job.reduces": 7})


@pytest.mark.parametrize(
    "level",
    [
        "{settings.mapreduce.task.io.sort.mb: 99, bundle: terasort-tuned}",
        "{bundle: terasort-tuned, settings.mapreduce.task.io.sort.mb: 99}",
    ],
)
def test_a_level_changes_a_setting_of_its_bundle(level: str) -> None:
    plan = plan_from(HEAD + f"factors:\n  bundle: {{stock: {{}}, mine: {level}}}\n")

    assert plan.treatments[-1].overrides["settings.mapreduce.task.io.sort.mb"] == 99
