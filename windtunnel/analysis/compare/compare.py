"""Verdicts on results folders: better, worse, not distinguishable, or refused.

The first folder is the reference; each other folder is compared with it. The family of the
correction for multiple comparisons (Holm [1]_) is the total elapsed time of every matched
workload and treatment, over all compared pairs of folders. Verdicts on phases and other metrics
have no correction and are called hints.

References
----------
.. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure.
   Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from windtunnel.analysis.compare.cell_pairs import (
    Match,
    Matched,
    Side,
    Where,
    match,
    shared,
    side_of,
    unmatched,
)
from windtunnel.analysis.compare.differences import Difference, differences
from windtunnel.analysis.compare.directions import Direction, direction_of
from windtunnel.analysis.compare.noise import (
    Basis,
    Estimate,
    Points,
    against_prediction,
    by_deployment,
    estimate,
    predict,
)
from windtunnel.analysis.compare.refusals import Pairing, Refusal, refusals
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.correction import holm
from windtunnel.analysis.statistics.summary import CONFIDENCE, INDICATIVE_BELOW
from windtunnel.results.folder import Results

# Counters of bytes differ by a few bytes in every trial, such as the length of a folder's name:
# a change that is printed as 0.0 % is not a difference, however small its p-value is.
_NEGLIGIBLE = 0.0005

Verdict = Literal["better", "worse", "differs", "not distinguishable", "unknown"]


@dataclass(frozen=True, slots=True)
class CellComparison:
    """One phase and metric of one matched workload and treatment, other against reference.

    ``ratio`` is other / reference (geometric means; for interleaved folders without the common
    trend), with its 95 % interval ``low`` .. ``high``. ``p_adjusted`` is Holm's for the family
    of ``primary`` comparisons, None for hints. ``detectable`` is the smallest relative increase
    that is detected with 80 % power: for a primary comparison at the level of Holm's first
    step, for elapsed times of phases without correction, else None. ``verdict`` is ``unknown``
    if the spread is unknown, or if a value is not positive. ``treatment`` is an id, ``name`` the
    name of the treatment.

    ``n_reference`` and ``n_other`` count trials. ``units_reference`` and ``units_other`` count the
    units of the statistics: earlier runs with ``history``, deployments if ``nested``, else trials.
    ``mean_reference`` and ``mean_other`` are means of the means of these units, in ``unit``.
    """

    workload: str
    treatment: str
    name: str
    phase: str
    metric: str
    unit: str
    direction: Direction | None
    n_reference: int
    n_other: int
    units_reference: int
    units_other: int
    mean_reference: float
    mean_other: float
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    detectable: float | None
    basis: Basis | None
    nested: bool
    verdict: Verdict
    estimate: Estimate | None = field(default=None, repr=False, compare=False)

    @property
    def primary(self) -> bool:
        """Whether it belongs to the corrected family."""
        return self.metric == ELAPSED and self.phase == TOTAL

    @property
    def indicative(self) -> bool:
        """Whether one of the cells has too few units for a firm result."""
        return min(self.units_reference, self.units_other) < INDICATIVE_BELOW

    @property
    def units(self) -> str:
        """The unit of the statistics in the plural: ``trials``, ``deployments`` or ``runs``."""
        return "runs" if self.basis == "history" else "deployments" if self.nested else "trials"

    @property
    def few(self) -> str:
        """The unit of which an indicative comparison has too few."""
        enough_runs = self.basis == "history" and self.units_reference >= INDICATIVE_BELOW
        return "trials" if enough_runs else self.units


@dataclass(frozen=True)
class Pair:
    """One folder against the reference, without cells if the comparison is refused."""

    reference: str
    other: str
    cells: list[CellComparison]
    unmatched: list[str]
    differences: list[Difference]
    refusals: list[Refusal]

    @property
    def refused(self) -> list[Refusal]:
        """The reasons that were not allowed."""
        return [refusal for refusal in self.refusals if not refusal.allowed]

    @property
    def totals(self) -> list[CellComparison]:
        """The primary comparisons."""
        return [cell for cell in self.cells if cell.primary]


@dataclass(frozen=True)
class Comparison:
    """All folders against the reference; with ``history``, several folders are the reference."""

    reference: str
    pairs: list[Pair]
    family: int
    history: tuple[str, ...] = ()

    @property
    def worse(self) -> list[CellComparison]:
        """The primary comparisons that are worse."""
        return [c for pair in self.pairs for c in pair.totals if c.verdict == "worse"]

    @property
    def refused(self) -> list[Pair]:
        """The folders that must not be compared with the reference."""
        return [pair for pair in self.pairs if pair.refused]


Named = tuple[str, Results]
"""A folder with the name that the user entered, and its results."""


def compare(
    folders: Sequence[Named],
    *,
    by: Match = "treatment",
    allowed: Sequence[str] = (),
    history: bool = False,
) -> Comparison:
    """Compare at least two folders; the first one is the reference.

    With ``history``, all folders but the last are earlier runs of the same study (at least two).
    The last one is compared with them on the basis of the spread between them.
    """
    sides = [side_of(name, results) for name, results in folders]
    if history:
        return _against_history(sides, by, allowed)
    first = sides[0]
    pairs = []
    for side in sides[1:]:
        pairing = _pairing(first, side, by)
        found = refusals(pairing, allowed)
        cells = [] if _stops(found) else _cells(pairing)
        pairs.append(_pair(pairing, found, cells))
    return _corrected(Comparison(first.name, pairs, 0))


def _against_history(sides: Sequence[Side], by: Match, allowed: Sequence[str]) -> Comparison:
    """The last folder against the earlier ones; each of these must be comparable with it."""
    *earlier, new = sides
    names = tuple(side.name for side in earlier)
    pairings = [_pairing(side, new, by) for side in earlier]
    found: dict[str, Refusal] = {}
    for pairing in pairings:
        for refusal in refusals(pairing, allowed):
            text = f"{pairing.a.name}: {refusal.text}"
            found.setdefault(refusal.id, replace(refusal, text=text))
    reasons = list(found.values())
    last = pairings[-1]
    cells = [] if _stops(reasons) else _history_cells(pairings)
    pair = _pair(last, reasons, cells)
    return _corrected(Comparison(f"{len(earlier)} earlier runs", [pair], 0, names))


def _pairing(a: Side, b: Side, by: Match) -> Pairing:
    matched = match(a, b, by)
    return Pairing(a, b, matched, differences(a, b, matched))


def _pair(pairing: Pairing, found: list[Refusal], cells: list[CellComparison]) -> Pair:
    lonely = unmatched(pairing.a, pairing.b, pairing.matched)
    return Pair(pairing.a.name, pairing.b.name, cells, lonely, list(pairing.differences), found)


def _stops(found: Sequence[Refusal]) -> bool:
    return any(not refusal.allowed for refusal in found)


def _cells(p: Pairing) -> list[CellComparison]:
    return [_cell(p, m, where) for m in p.matched for where in shared(p.a, p.b, m)]


def _cell(p: Pairing, m: Matched, where: Where) -> CellComparison:
    a, b = p.a.table[(m.treatment, where)].values, p.b.table[(m.other, where)].values
    unit = p.a.table[(m.treatment, where)].unit
    found = None
    groups = [[value] for value in a], [[value] for value in b]
    if all(value > 0 for value in (*a, *b)):
        found = _estimate(p, m, where)
    if found is not None and found.nested:
        ours, theirs = p.a.points(m.treatment, where), p.b.points(m.other, where)
        groups = (
            [[a[place] for place in places] for places in by_deployment(ours)],
            [[b[place] for place in places] for places in by_deployment(theirs)],
        )
    return _comparison_of(m, where, unit, groups, found)


def _estimate(p: Pairing, m: Matched, where: Where) -> Estimate:
    ours, theirs = p.a.points(m.treatment, where), p.b.points(m.other, where)
    both = (p.a.table[(m.treatment, where)].error, p.b.table[(m.other, where)].error)
    if errors := [error for error in both if error is not None]:
        return against_prediction(ours, theirs, errors)
    return estimate(ours, theirs, p.a.beside(m.treatment, where), p.b.beside(m.other, where))


def _history_cells(pairings: Sequence[Pairing]) -> list[CellComparison]:
    """The cells that the new folder shares with at least two earlier ones."""
    new = pairings[-1].b
    found: dict[tuple[str, Where], list[tuple[Points, list[float]]]] = {}
    places: dict[tuple[str, Where], Matched] = {}
    for p in pairings:
        for m in p.matched:
            for where in shared(p.a, p.b, m):
                values = p.a.table[(m.treatment, where)].values
                if all(value > 0 for value in values):
                    key = (m.other, where)
                    found.setdefault(key, []).append((p.a.points(m.treatment, where), values))
                    places[key] = m
    rows = []
    for (treatment, where), earlier in found.items():
        sample = new.table[(treatment, where)]
        if len(earlier) < 2 or any(value <= 0 for value in sample.values):
            continue
        guess = predict(new.points(treatment, where), [points for points, _ in earlier])
        groups = [values for _, values in earlier], [[value] for value in sample.values]
        rows.append(_comparison_of(places[treatment, where], where, sample.unit, groups, guess))
    return rows


def _comparison_of(
    m: Matched,
    where: Where,
    unit: str,
    groups: tuple[list[list[float]], list[list[float]]],
    found: Estimate | None,
) -> CellComparison:
    """The numbers of one comparison, with the verdict before correction.

    ``groups`` are the values of each side by unit of the statistics, in ``unit``.
    """
    a, b = groups
    workload, phase, metric = where
    predicted = found is not None and found.basis == "model"
    direction = None if predicted else direction_of(metric, unit)  # nothing became worse
    span = None if found is None else found.interval()
    p = None if found is None else found.p()
    hint = found is not None and metric == ELAPSED and phase != TOTAL
    return CellComparison(
        workload=workload,
        treatment=m.label,
        name=m.name,
        phase=phase,
        metric=metric,
        unit=unit,
        direction=direction,
        n_reference=sum(map(len, a)),
        n_other=sum(map(len, b)),
        units_reference=len(a),
        units_other=len(b),
        mean_reference=fmean(fmean(group) for group in a),
        mean_other=fmean(fmean(group) for group in b),
        ratio=None if found is None else _exp(found.log),
        low=None if span is None else _exp(span[0]),
        high=None if span is None else _exp(span[1]),
        p=p,
        p_adjusted=None,
        detectable=_detectable(found, 1) if hint else None,
        basis=None if found is None else found.basis,
        nested=found is not None and found.nested,
        verdict=_verdict(p, None if found is None else found.log, direction),
        estimate=found,
    )


def _detectable(found: Estimate | None, family: int) -> float | None:
    """The smallest relative increase detected with 80 % power, at Holm's first step."""
    seen = (
        None
        if found is None or found.basis == "model"
        else found.detectable(1 - (1 - CONFIDENCE) / family)
    )
    return None if seen is None else _exp(seen) - 1


def _verdict(p: float | None, log: float | None, direction: Direction | None) -> Verdict:
    if p is None or log is None:
        return "unknown"
    if p > 1 - CONFIDENCE or abs(log) < _NEGLIGIBLE:
        return "not distinguishable"
    if direction is None:
        return "differs"
    return "better" if (log < 0) == (direction == "less") else "worse"


def _corrected(comparison: Comparison) -> Comparison:
    """Holm's correction over the primary comparisons of all pairs."""
    known = [c.p for pair in comparison.pairs for c in pair.totals if c.p is not None]
    if not known:
        return comparison
    adjusted = iter(holm(known))

    def correct(c: CellComparison) -> CellComparison:
        if not c.primary or c.p is None or c.ratio is None:
            return c
        p = next(adjusted)
        verdict = _verdict(p, math.log(c.ratio), c.direction)
        seen = _detectable(c.estimate, len(known))
        return replace(c, p_adjusted=p, verdict=verdict, detectable=seen)

    pairs = [replace(pair, cells=[correct(c) for c in pair.cells]) for pair in comparison.pairs]
    return replace(comparison, pairs=pairs, family=len(known))


def _exp(log: float) -> float:
    """exp, limited: with two trials an interval can exceed the range of a float."""
    return math.exp(max(-700.0, min(700.0, log)))
