from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.statistics.correction import holm

P = st.floats(0, 1, allow_nan=False)


@pytest.fixture(scope="module")
def uncollected() -> Iterator[None]:
    """``multipletests`` collects garbage on each call: 0.1 s in a process that has loaded much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


@pytest.mark.usefixtures("uncollected")
@given(st.lists(P, min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx([float(p) for p in expected])


def test_one_comparison_needs_no_correction() -> None:
    assert holm([0.03]) == [0.03]
    assert holm([]) == []
