"""Cells: treatment x workload x phase x metric, summarised over the counted trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal

from windtunnel.analysis.observations import ELAPSED, Observation
from windtunnel.analysis.predicted_error import Place, PredictedError, log_contrast
from windtunnel.analysis.statistics.intervals import (
    Interval,
    Method,
    bca_intervals,
    median_interval,
)
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW, summarise

IntervalKind = Method | Literal["model"]
Key = tuple[str, str, str, str]
"""(treatment, workload, phase, metric)"""


@dataclass(frozen=True, slots=True)
class Cell:
    """The statistics of one cell.

    ``mean``, ``median``, ``sd`` and the 95 % interval of the mean ``ci_low`` .. ``ci_high``
    are in ``unit``; ``cv`` is a ratio. With n = 1 the spread is unknown: None, never 0; so it is
    if printed values are equal.
    ``ci_method`` is the method of the interval: ``t`` (Student), ``bca`` (bootstrap), ``model``
    (the error of a predicted time), or None if there is no interval. ``bca_low`` .. ``bca_high``
    is an additional interval of elapsed times, from 8 trials on; ``median_low`` ..
    ``median_high`` that of the median, from 6 on.
    """

    treatment: str
    workload: str
    phase: str
    metric: str
    unit: str
    n: int
    mean: float
    median: float
    sd: float | None
    cv: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: IntervalKind | None = None
    bca_low: float | None = None
    bca_high: float | None = None
    median_low: float | None = None
    median_high: float | None = None

    @property
    def equal(self) -> bool:
        """Whether the spread is unknown because all printed values are equal."""
        return self.n > 1 and self.sd is None

    @property
    def indicative(self) -> bool:
        """Whether there are too few trials for a firm result."""
        return self.n < INDICATIVE_BELOW


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of one cell in the order of their rounds, and the round of each.

    Without known rounds, ``rounds`` is empty: the values have none in common with other cells,
    and are in the order of the trials. ``error`` is that of a predicted time; None for measured
    values. ``printed``: the values are those of a publication, which have few digits: if they are
    equal, their spread is unknown and not 0.
    """

    unit: str
    values: list[float]
    rounds: list[int] = field(default_factory=list)
    error: PredictedError | None = None
    printed: bool = False

    def by_round(self) -> Sample:
        """The sample in the order of its rounds, in which samples are paired.

        A trial that was repeated at the end of a study belongs to an earlier round.
        """
        if self.rounds == sorted(self.rounds):
            return self
        rows = sorted(zip(self.rounds, self.values, strict=True), key=itemgetter(0))
        return replace(self, values=[v for _, v in rows], rounds=[number for number, _ in rows])


def samples(
    observations: Iterable[Observation],
    errors: Mapping[Place, PredictedError] | None = None,
    *,
    rounds_known: bool = True,
    printed: bool = False,
) -> dict[Key, Sample]:
    """Values by cell, by round; only valid trials that are not warm-ups count.

    ``errors`` are those of predicted times. ``printed``: as in :class:`Sample`.
    """
    table: dict[Key, Sample] = {}
    for row in observations:
        if not row.counts:
            continue
        key = (row.treatment, row.workload, row.phase, row.metric)
        sample = table.get(key)
        if sample is None:
            error = (errors or {}).get(key[:3]) if row.metric == ELAPSED else None
            table[key] = sample = Sample(row.unit, [], error=error, printed=printed)
        sample.values.append(row.value)
        if rounds_known:
            sample.rounds.append(row.round)
    return {key: sample.by_round() for key, sample in table.items()}


def cells(table: dict[Key, Sample], method: Method = "t") -> list[Cell]:
    """One :class:`Cell` per key, in the order of first appearance.

    ``method`` selects the interval of the mean; cells with too few trials for BCa have ``t``.
    """
    boot = _bootstrapped(table, method)
    return [_cell(key, sample, boot.get(key), method) for key, sample in table.items()]


def _bootstrapped(table: dict[Key, Sample], method: Method) -> dict[Key, Interval]:
    """BCa intervals: of all cells if the method is ``bca``, else of the elapsed times only."""
    wanted = [key for key in table if method == "bca" or key[3] == ELAPSED]
    made = bca_intervals([table[key].values for key in wanted])
    return {key: span for key, span in zip(wanted, made, strict=True) if span is not None}


def _predicted(value: float, error: PredictedError) -> Interval | None:
    """The interval of a predicted time."""
    span = log_contrast(math.log(value), [(1.0, error)]).interval() if value > 0 else None
    return None if span is None else (math.exp(span[0]), math.exp(span[1]))


def _cell(key: Key, sample: Sample, boot: Interval | None, method: Method) -> Cell:
    s = summarise(sample.values, printed=sample.printed)
    treatment, workload, phase, metric = key
    student = None if s.ci_low is None or s.ci_high is None else (s.ci_low, s.ci_high)
    chosen: IntervalKind = "bca" if method == "bca" and boot is not None else "t"
    span = boot if chosen == "bca" else student
    if sample.error is not None:
        chosen, span = "model", _predicted(s.mean, sample.error)
    middle = None if s.sd is None else median_interval(sample.values)
    return Cell(
        treatment=treatment,
        workload=workload,
        phase=phase,
        metric=metric,
        unit=sample.unit,
        n=s.n,
        mean=s.mean,
        median=s.median,
        sd=s.sd,
        cv=s.cv,
        ci_low=None if span is None else span[0],
        ci_high=None if span is None else span[1],
        ci_method=None if span is None else chosen,
        bca_low=None if boot is None else boot[0],
        bca_high=None if boot is None else boot[1],
        median_low=None if middle is None else middle[0],
        median_high=None if middle is None else middle[1],
    )
