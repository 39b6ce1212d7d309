"""The effects that a design cannot separate, computed from the matrix of its treatments.

Two effects are *aliased* if their columns of the model matrix are equal up to the sign: the data
contain one number for both. They are *partially aliased* if the columns are correlated: an estimate
of one contains a fraction of the other. Main effects and two-factor interactions are examined;
higher interactions are assumed to be absent. See Box, Hunter and Hunter, *Statistics for
Experimenters* (2005), chapters 6 and 7.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from windtunnel.study.designs.base import Combination, Labels, Signs

_NOTHING = 1e-9
_LISTED = 6  # interactions that are listed; the rest is counted


def alias_lines(signs: Signs, names: Sequence[str]) -> list[str]:
    """The effects that a two-level design with balanced columns cannot separate, by group."""
    pairs = list(itertools.combinations(range(len(names)), 2))
    effects = ["overall mean", *names, *(f"{names[a]}:{names[b]}" for a, b in pairs)]
    columns = [np.ones(len(signs)), *signs.T, *(signs[:, a] * signs[:, b] for a, b in pairs)]
    matrix = np.array(columns)
    shared = matrix @ matrix.T / len(signs)
    return [
        *_aliased(shared, effects),
        *_mixed_mains(shared, effects, len(names)),
        *_mixed_interactions(shared, len(names)),
    ]


def _aliased(shared: NDArray[np.float64], effects: list[str]) -> list[str]:
    lines = []
    same = np.abs(shared) > 1 - _NOTHING
    for i, effect in enumerate(effects):
        members = np.flatnonzero(same[i])
        if len(members) > 1 and members[0] == i:
            others = [("-" if shared[i, j] < 0 else "") + effects[j] for j in members[1:]]
            lines.append(" = ".join([effect, *others]))
    return lines


def _mixed_mains(shared: NDArray[np.float64], effects: list[str], factors: int) -> list[str]:
    """The main effects that contain a fraction of two-factor interactions."""
    lines = []
    for i in range(1, factors + 1):
        by_fraction: dict[Fraction, list[str]] = defaultdict(list)
        for j in range(factors + 1, len(effects)):
            if (fraction := _fraction(shared[i, j])) is not None:
                by_fraction[fraction].append(effects[j])
        others = (factors - 1) * (factors - 2) // 2
        for fraction, mixed in sorted(by_fraction.items(), reverse=True):
            if len(mixed) == others > 1:
                what = f"each of the {others} two-factor interactions of the other factors"
            else:
                more = len(mixed) - _LISTED
                what = ", ".join(mixed[:_LISTED]) + (f" and {more} more" if more > 0 else "")
            lines.append(f"{effects[i]} contains {fraction} of {what}, added or subtracted")
    return lines


def _mixed_interactions(shared: NDArray[np.float64], factors: int) -> list[str]:
    """One line for all partial aliasing among two-factor interactions: there can be thousands."""
    below = shared[factors + 1 :, factors + 1 :]
    counts: dict[Fraction, int] = defaultdict(int)
    for value in below[np.triu_indices(len(below), 1)]:
        if (fraction := _fraction(value)) is not None:
            counts[fraction] += 1
    if not counts:
        return []
    pairs = ", ".join(f"{n} pairs by {part}" for part, n in sorted(counts.items(), reverse=True))
    return [f"two-factor interactions are partially aliased with each other: {pairs}"]


def _fraction(value: float) -> Fraction | None:
    """The size of a partial correlation as a fraction; None if it is 0 or 1."""
    size = abs(value)
    if size < _NOTHING or size > 1 - _NOTHING:
        return None
    return Fraction(size).limit_denominator(1000)


def lost_interactions(labels: Labels, chosen: Sequence[Combination]) -> list[str]:
    """The two-factor interactions that cannot be estimated in addition to the main effects.

    This holds for any number of levels: the columns of an estimable interaction (the products of
    the indicator columns of its factors) increase the rank of the model of main effects.
    """
    columns = {name: _indicators(name, given, chosen) for name, given in labels.items()}
    mains = np.hstack([np.ones((len(chosen), 1)), *columns.values()])
    rank = np.linalg.matrix_rank(mains)
    lost = []
    for a, b in itertools.combinations(labels, 2):
        products = [x * y for x in columns[a].T for y in columns[b].T]
        if np.linalg.matrix_rank(np.column_stack([mains, *products])) == rank:
            lost.append(f"{a}:{b}")
    return lost


def lost_mains(labels: Labels, chosen: Sequence[Combination]) -> list[str]:
    """The factors whose main effects the treatments cannot separate from those of the others."""
    columns = {name: _indicators(name, given, chosen) for name, given in labels.items()}
    lost = []
    for name, own in columns.items():
        others = [found for other, found in columns.items() if other != name]
        rest = np.hstack([np.ones((len(chosen), 1)), *others])
        rank = int(np.linalg.matrix_rank(np.hstack([rest, own])))
        if rank < int(np.linalg.matrix_rank(rest)) + own.shape[1]:
            lost.append(name)
    return lost


def _indicators(
    name: str, given: Sequence[str], chosen: Sequence[Combination]
) -> NDArray[np.float64]:
    """A matrix of runs x (levels - 1), which is 1 if the run has that level."""
    return np.array([[float(run[name] == label) for label in given[1:]] for run in chosen])
