"""The common linear trend of several series, each with a level of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from windtunnel.analysis.statistics.summary import two_sided_p


def common_slope(series: Sequence[Sequence[tuple[float, float]]]) -> tuple[float, float | None]:
    """Slope of y over x within the series, and the p value of "there is no slope".

    Each series has at least one pair (x, y). Both variables are centred within their series, so
    the slope is that of a regression with one constant per series (Frisch & Waugh 1933), with
    N - series - 1 degrees of freedom. p is None where there are too few pairs.
    """
    centred = [np.asarray(rows, dtype=float) - np.mean(rows, axis=0) for rows in series]
    if not centred:
        return 0.0, None
    x, y = np.concatenate(centred).T
    df = len(x) - len(centred) - 1
    if df < 2 or not (sxx := float(x @ x)):
        return 0.0, None
    slope = float(x @ y) / sxx
    rest = float(((y - slope * x) ** 2).sum())
    if rest <= 1e-18:
        return slope, (0.0 if abs(slope) > 1e-12 else 1.0)
    return slope, two_sided_p(slope / math.sqrt(rest / df / sxx), df)
