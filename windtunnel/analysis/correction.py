"""Correction of p values for many comparisons: statsmodels' Holm."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the same order; one alone stays as it is.

    Holm's step-down method holds the chance of even one false alarm in the family at the
    nominal level, whatever the dependence between the comparisons (those against one baseline
    do depend on each other).
    """
    if len(p_values) < 2:
        return list(p_values)
    from statsmodels.stats.multitest import multipletests  # slow to import

    return [float(p) for p in multipletests(p_values, method="holm")[1]]
