"""The section "Factor ranking": what it states of intervals, and which columns it has."""

from __future__ import annotations

import itertools
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
