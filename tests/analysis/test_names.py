"""What treatments are called: by their levels, and no two alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.formatting import listed
from windtunnel.analysis.names import level_words, origin, short_names, treatment_names
from windtunnel.published import open_results
from windtunnel.results.record import Treatment


def named(
    *levels: dict[str, str], baseline: dict[str, str] | None = None, **more: Any
) -> list[str]:
    made = [Treatment(id=f"t{i}-0b34bd", levels=each, **more) for i, each in enumerate(levels)]
    return list(treatment_names(made, baseline or {}).values())


@pytest.mark.parametrize(
    ("factor", "level", "words"),
    [
        ("network", "1 Gb/s", "1 Gb/s"),
        ("hosts.worker.disks", "24", "24 disks"),
        ("workloads.keyvalue.threads", "1", "1 thread"),
        ("hyper_threading", "off", "hyper_threading off"),
        ("rate", "0.5", "rate 0.5"),
    ],
)
def test_a_level_stands_alone_only_if_it_says_enough(factor: str, level: str, words: str) -> None:
    assert level_words(factor, level) == words


def test_one_or_two_factors_are_named_in_full() -> None:
    assert named({"net": "1 Gb/s"}, {"net": "10 Gb/s"}) == ["1 Gb/s", "10 Gb/s"]
    rows = [{"net": n, "disks": d} for n in ("1 Gb/s", "10 Gb/s") for d in ("12", "24")]
    assert named(*rows)[:2] == ["1 Gb/s, 12 disks", "1 Gb/s, 24 disks"]


def test_with_more_factors_what_differs_from_the_baseline_is_named() -> None:
    base = {"net": "10 Gb/s", "disks": "12", "cpu": "E5"}
    rows = [base, {**base, "net": "1 Gb/s"}, {**base, "disks": "24", "cpu": "E7"}]
    assert named(*rows, baseline=base) == [
        "baseline (10 Gb/s, 12 disks, E5)",
        "1 Gb/s",
        "24 disks, E7",
    ]


def test_a_level_that_two_factors_have_needs_its_factor() -> None:
    rows = [{"map": "fast", "sort": "slow"}, {"map": "slow", "sort": "fast"}]
    assert named(*rows) == ["map fast, sort slow", "map slow, sort fast"]


def test_factors_with_the_same_last_part_have_longer_names() -> None:
    assert short_names(["a.map.mb", "a.reduce.mb", "net.rate", "mb"]) == {
        "a.map.mb": "map.mb",
        "a.reduce.mb": "reduce.mb",
        "net.rate": "rate",
        "mb": "mb",
    }
    rows = [{"map.mb": "1", "reduce.mb": "2"}, {"map.mb": "2", "reduce.mb": "1"}]
    assert named(*rows) == ["map.mb 1, reduce.mb 2", "map.mb 2, reduce.mb 1"]


def test_treatments_of_the_same_levels_are_told_apart_by_what_they_set() -> None:
    same = {"net": "1 Gb/s"}
    made = [
        Treatment(id=f"x{size}", levels=same, overrides={"hosts.worker.memory": f"{size} GiB"})
        for size in (16, 32)
    ]
    assert list(treatment_names(made, {}).values()) == [
        "1 Gb/s (memory 16 GiB)",
        "1 Gb/s (memory 32 GiB)",
    ]
    alike = [Treatment(id=key, levels=same) for key in ("a", "b")]
    assert list(treatment_names(alike, {}).values()) == ["1 Gb/s (a)", "1 Gb/s (b)"]


WORDS = st.sampled_from(["a", "b", "on", "1", "a (b)", "a, b"])


@given(
    st.lists(st.fixed_dictionaries({"f": WORDS, "g": WORDS, "h": WORDS}), min_size=1, max_size=8),
    st.fixed_dictionaries({"f": WORDS, "g": WORDS, "h": WORDS}),
)
def test_no_two_treatments_have_one_name(
    rows: list[dict[str, str]], baseline: dict[str, str]
) -> None:
    names = named(*rows, baseline=baseline)
    assert len(set(names)) == len(rows)


def test_warnings_call_treatments_by_their_levels() -> None:
    found = analyse(open_results("published:cisco-2014"))
    assert found.name("test7") == "E5-2690 v2, hyper_threading off"
    assert not any("test7" in w.text or "test9" in w.text for w in found.warnings)
    assert any("E5-2695 v2, 5 Gb/s" in w.text for w in found.warnings)


def test_names_with_commas_are_listed_with_semicolons() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(["1 Gb/s, 24 disks", "baseline"]) == "1 Gb/s, 24 disks; baseline"


def test_published_results_have_no_testbed() -> None:
    study = open_results("published:cisco-2014").study
    assert origin(study) == "published results"
    measured = study.model_copy(update={"testbed": "local", "kind": "measured"})
    assert origin(measured) == "testbed local, measured"
