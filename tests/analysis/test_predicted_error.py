"""The errors of predicted times, and of what is computed from them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.predicted_error import PredictedError, log_contrast

PARTS = st.floats(-1.0, 1.0)


@given(shared=st.lists(PARTS, min_size=1, max_size=5), own=st.floats(0.0, 1.0))
def test_a_common_error_cancels_in_a_difference(shared: list[float], own: float) -> None:
    error = PredictedError(tuple(shared), own, 20.0)
    found = log_contrast(0.3, [(1.0, error), (-1.0, error)])
    assert found.estimate == 0.3
    assert found.se == pytest.approx(math.sqrt(2.0) * own, abs=1e-12)


@given(a=PARTS, b=PARTS, first=st.floats(0.0, 1.0), second=st.floats(0.0, 1.0))
def test_errors_of_different_directions_add_as_squares(
    a: float, b: float, first: float, second: float
) -> None:
    errors = PredictedError((a, 0.0), first, 30.0), PredictedError((0.0, b), second, 9.0)
    found = log_contrast(0.0, [(1.0, errors[0]), (-1.0, errors[1])])
    assert found.se == pytest.approx(math.sqrt(a**2 + b**2 + first**2 + second**2))
    assert found.df == 9.0
