"""A few treatments of many that hold every pair of levels: what is looked at before a start.

A large factorial is too long to build every cluster of it just to show a plan. What can be
wrong with a treatment is nearly always wrong with one level (a bad value) or with two
together (more replicas than hosts), and every such pair is in the selection. ``check`` and
``run`` look at every treatment all the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from windtunnel.results.record import Treatment

FEW = 200
"""Up to so many treatments all are looked at."""

Pair = tuple[tuple[str, str], tuple[str, str]]


def covering(treatments: Sequence[Treatment]) -> list[Treatment]:
    """All treatments if they are few, else a selection with every pair of levels, in order.

    Greedy, in passes: first the treatments that bring the most pairs not seen yet. The same
    treatments give the same selection.
    """
    if len(treatments) <= FEW:
        return list(treatments)
    order = list(range(len(treatments)))
    random.Random(0).shuffle(order)  # neighbours differ in one factor and share most pairs
    pairs = [list(itertools.combinations(t.levels.items(), 2)) for t in treatments]
    if not pairs[0]:  # a single factor: every level is a treatment
        return list(treatments)
    seen: set[Pair] = set()
    chosen: set[int] = set()
    for wanted in range(len(pairs[0]), 0, -1):
        for i in order:
            if i not in chosen and sum(pair not in seen for pair in pairs[i]) >= wanted:
                chosen.add(i)
                seen.update(pairs[i])
    return [treatments[i] for i in sorted(chosen)]
