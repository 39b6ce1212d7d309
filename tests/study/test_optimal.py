"""The design ``optimal``: few treatments, chosen by the physics model."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support import cloud
from tests.support.mock import plan_from
from windtunnel.errors import DescriptionError
from windtunnel.model.correction import ERROR_PRIOR
from windtunnel.model.fit import Batch, Point, Prior
from windtunnel.model.information import most_informative
from windtunnel.model.store import shipped_fit
from windtunnel.study.plan import Plan

STUDY = """
study: few
cluster: cisco-2014
testbed: modelled
workloads:
  terasort: {size: 1 TB, maps: 90, reduces: 90, input_replication: 3, output_replication: 1}
factors:
  hosts.worker.count: [4, 8, 16]
  hosts.worker.nics.0.rate: [10 Gb/s, 1 Gb/s]
  workloads.terasort.size: [1 TB, 3 TB]
baseline: {hosts.worker.count: 8}
design: {kind: optimal, treatments: 4}
"""


def plan(text: str = STUDY) -> Plan:
    return plan_from(text)


def test_the_plan_has_the_baseline_and_the_chosen_treatments() -> None:
    made = plan()
    levels = [tuple(one.levels.values()) for one in made.treatments]
    assert len(set(levels)) == 4
    assert levels[0] == ("8", "10 Gb/s", "1 TB")
    assert len({one[0] for one in levels}) > 1
    assert made.design.kind == "optimal"
    assert made.design.options == {"treatments": 4}
    assert any("interactions cannot be estimated" in line for line in made.design.confounded)
    assert plan().treatments == made.treatments


def information(groups: list[list[Point]], chosen: list[int]) -> float:
    prior = Prior.of_new_cluster(shipped_fit())
    points = [point for place in chosen for point in groups[place]]
    rows = Batch([(point.hardware, point.job) for point in points]).slopes(prior.log) / ERROR_PRIOR
    return float(np.linalg.slogdet(np.diag(prior.spread**-2.0) + rows.T @ rows)[1])


def test_the_choice_determines_the_constants_better_than_chance() -> None:
    by_name: dict[str, list[Point]] = {}
    for point in cloud.points():
        by_name.setdefault(point.treatment, []).append(point)
    groups = list(by_name.values())
    rows = [[(point.hardware, point.job) for point in group] for group in groups]
    chosen = most_informative(rows, 8)
    assert len(set(chosen)) == 8
    assert 0 in chosen
    best = information(groups, chosen)
    chance = random.Random(1)
    others = [[0, *chance.sample(range(1, len(groups)), 7)] for _ in range(50)]
    assert best > max(information(groups, other) for other in others)
    # no exchange of a single treatment is better
    for place, old in enumerate(chosen):
        if old:
            for new in set(range(len(groups))) - set(chosen):
                other = [*chosen[:place], new, *chosen[place + 1 :]]
                assert information(groups, other) <= best + 1e-6


def test_as_many_as_there_are_takes_all() -> None:
    groups = [[(point.hardware, point.job)] for point in cloud.points()[:5]]
    assert most_informative(groups, 5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("treatments: 4", "treatments: 13"), "have 12 combinations"),
        (("input_replication: 3, ", ""), "input_replication"),
    ],
)
def test_mistakes(change: tuple[str, str], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        plan(STUDY.replace(*change))


def test_a_workload_without_equations() -> None:
    text = STUDY.split("workloads:")[0].replace("testbed: modelled\n", "") + (
        "workloads:\n  scan: {size: 1 GB, replication: 1}\n"
        "factors:\n  hosts.worker.count: [4, 8, 16]\n"
        "design: {kind: optimal, treatments: 2}\n"
    )
    with pytest.raises(DescriptionError, match="no equations for these workloads"):
        plan(text)
