"""A selection of treatments that contains every pair of levels, for the check of a large plan.

Building every cluster of a large factorial takes too long for ``plan``. An error in a treatment
nearly always comes from one level (an invalid value) or from two levels together (more replicas
than hosts), and every such pair is in the selection. ``check`` and ``run`` check every treatment.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from windtunnel.results.record import Treatment

FEW = 200
"""Number of treatments up to which all are checked."""

Pair = tuple[tuple[str, str], tuple[str, str]]


def covering(treatments: Sequence[Treatment]) -> list[Treatment]:
    """All treatments if they are few, else a selection with every pair of levels, in order.

    The search is greedy: it first selects the treatments with the most pairs that are not covered
    yet. The same treatments give the same selection.
    """
    if len(treatments) <= FEW:
        return list(treatments)
    order = list(range(len(treatments)))
    random.Random(0).shuffle(order)  # adjacent treatments differ in one factor only
    pairs = [list(itertools.combinations(t.levels.items(), 2)) for t in treatments]
    if not pairs[0]:  # with a single factor, every level is a treatment
        return list(treatments)
    seen: set[Pair] = set()
    chosen: set[int] = set()
    for wanted in range(len(pairs[0]), 0, -1):
        for i in order:
            if i not in chosen and sum(pair not in seen for pair in pairs[i]) >= wanted:
                chosen.add(i)
                seen.update(pairs[i])
    return [treatments[i] for i in sorted(chosen)]
