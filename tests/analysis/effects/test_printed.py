"""Equal values of a publication: the spread is below the last printed digit, and not zero."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.truth_anova import WHERE, factorial, table_of
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.compare.noise import Points, estimate, predict
from windtunnel.analysis.effects.anova import anova
from windtunnel.analysis.effects.cells import Sample, cells
from windtunnel.analysis.effects.effects import Effect, effect, effects
from windtunnel.analysis.statistics.summary import contrast, summarise
from windtunnel.published.sources import build_published
from windtunnel.report.sections import sections
from windtunnel.results.folder import Results

ABOUT = ("network", "5 Gb/s", "10 Gb/s", "wordcount", "total", "elapsed", "s")


@pytest.fixture(scope="module")
def cisco() -> Analysis:
    """Its times are printed to 0.1 min."""
    built = build_published("cisco-2014")
    return analyse(Results(Path("published"), built.study, built.trials))


def of(level: Sequence[float], base: Sequence[float], *, printed: bool = True) -> Effect:
    return effect(ABOUT, [(level, base)], printed=printed)


def test_a_cell_of_equal_printed_values_has_no_spread_and_no_interval() -> None:
    key = ("t", "wordcount", "total", "elapsed")
    (cell,) = cells({key: Sample("s", [186.0] * 8, printed=True)})

    assert cell.equal
    assert (cell.mean, cell.n) == (186.0, 8)
    spread = (cell.sd, cell.cv, cell.ci_low, cell.ci_high, cell.median_low, cell.bca_low)
    assert spread == (None,) * 6
    (other,) = cells({key: Sample("s", [186.0, 186.0, 192.0], printed=True)})
    assert not other.equal
    assert other.sd is not None and other.sd > 0


def test_an_effect_between_equal_printed_values_has_no_interval_and_no_p() -> None:
    found = of([186.0] * 3, [156.0] * 3)

    assert found.relative == pytest.approx(30 / 156)
    assert (found.ci_low, found.ci_high, found.absolute_ci_low, found.p) == (None,) * 4
    assert found.distinguishable is None
    assert found.equal


def test_a_spread_of_one_side_gives_an_interval() -> None:
    found = of([186.0] * 3, [156.0, 156.0, 162.0])

    assert found.ci_low is not None and found.ci_high is not None
    assert found.ci_low < found.ci_high
    assert not found.equal


def test_measured_counts_that_are_equal_have_no_spread() -> None:
    """A job of one size reads the same number of bytes in each trial."""
    found = of([2e9] * 3, [1e9] * 3, printed=False)

    assert found.p == 0
    assert not found.equal


def test_one_trial_has_too_few_values_and_not_equal_ones() -> None:
    assert not of([186.0], [156.0] * 3).equal
    assert summarise([1.0], printed=True) == summarise([1.0])
    assert contrast([(1.0, [3.0, 3.0])], printed=True).interval() is None


def test_equal_printed_times_have_no_analysis_of_variance() -> None:
    study = factorial()
    table = table_of(study, {("a",): 0.1}, 2, 0.0, np.random.default_rng(1))
    printed = {
        key: Sample(s.unit, [round(s.values[0])] * 2, s.rounds, printed=True)
        for key, s in table.items()
    }

    assert anova(study, table, *WHERE) is not None
    assert anova(study, printed, *WHERE) is None
    assert {e.p for e in effects(study, printed)} == {None}


def test_two_folders_with_equal_printed_times_have_no_verdict() -> None:
    a, b = Points((1.0, 1.0), printed=True), Points((2.0, 2.0), printed=True)

    assert (estimate(a, b).p(), estimate(a, b).interval()) == (None, None)
    assert predict(b, [a, a]).p() is None


def test_the_cisco_study_states_why_an_effect_has_no_interval(cisco: Analysis) -> None:
    (finding,) = (f for f in cisco.findings if f.effect.workload == "wordcount" and f.effect.equal)

    assert finding.distinguishable is None
    assert "+19 % interval unknown, +30.0 s" in finding.text
    assert "printed times are equal, so the spread is unknown and not 0" in finding.text
    (table,) = (s for s in sections(cisco) if s.id == "cells")
    assert "printed times are equal" in table.tables[0].hint
    row = next(row for row in table.tables[0].rows if "wordcount" in row[0] and "186 s" in row)
    assert "186 to 186" not in row
