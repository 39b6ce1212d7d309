"""The section "Factor ranking": what it states of intervals, and which columns it has."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.support.truth_anova import WHERE, factorial, table_of
from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import effects
from windtunnel.analysis.effects.ranking import rankings
from windtunnel.report.sections import ranking as section_module
from windtunnel.report.sections.known import INTERVALS_UNKNOWN

ROUNDS: dict[str, list[list[int]]] = {
    "Rounds are blocks": [[1, 2, 3]],
    "The rounds of the trials are unknown": [[]],
    "All trials are in one round": [[1, 1, 1]],
    "at least one round has only one treatment": [[1, 2, 3], [1, 2, 4], [1, 2, 3], [1, 2, 3]],
}
EFFECTS: dict[tuple[str, ...], float] = {("a",): 0.2, ("b",): 0.05}


@pytest.mark.parametrize(("rounds", "by"), [(1, "range"), (3, "variance")])
def test_unknown_intervals_are_stated_once(rounds: int, by: str) -> None:
    study = factorial(factors=("a", "b"))
    table = table_of(study, EFFECTS, rounds, 0.01, np.random.default_rng(1))
    found = rankings(study, table, effects(study, table), {WHERE[0]: [WHERE[1]]})
    section = section_module.section(cast(Analysis, SimpleNamespace(rankings=found)))
    assert section is not None
    names = list(itertools.chain(*([c.name for c in t.columns] for t in section.tables)))
    assert ("variance" in names) == (by == "variance")
    assert ("95 % interval" in names) == (by == "variance")
    assert section.lead.endswith(INTERVALS_UNKNOWN.capitalize()) == (by == "range")
    assert "interval unknown" not in str((section.said, section.tables))


@pytest.mark.parametrize("reason", list(ROUNDS))
def test_the_hint_has_the_reason_for_which_rounds_are_not_blocks(reason: str) -> None:
    study = factorial(factors=("a", "b"))
    table = table_of(study, EFFECTS, 3, 0.01, np.random.default_rng(1))
    rounds = itertools.cycle(ROUNDS[reason])
    table = {key: replace(sample, rounds=next(rounds)) for key, sample in table.items()}
    found = rankings(study, table, effects(study, table), {WHERE[0]: [WHERE[1]]})
    section = section_module.section(cast(Analysis, SimpleNamespace(rankings=found)))
    assert section is not None
    assert reason in section.hint
