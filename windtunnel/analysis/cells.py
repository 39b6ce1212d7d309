"""Cells: treatment x workload x phase x metric, summarised over the trials that count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windtunnel.analysis.observations import Observation
from windtunnel.analysis.stats import INDICATIVE_BELOW, summarise

Key = tuple[str, str, str, str]
"""(treatment, workload, phase, metric)"""


@dataclass(frozen=True, slots=True)
class Cell:
    """The statistics of one cell.

    ``mean``, ``median``, ``sd`` and the 95 % t interval ``ci_low`` .. ``ci_high`` are in
    ``unit``; ``cv`` is a ratio. With n = 1 the spread is unknown: None, never 0.
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

    @property
    def indicative(self) -> bool:
        """Whether there are too few trials for more than an indication."""
        return self.n < INDICATIVE_BELOW


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of one cell, in the order of the trials."""

    unit: str
    values: list[float]


def samples(observations: Iterable[Observation]) -> dict[Key, Sample]:
    """Values by cell; only valid trials that are no warm-up count."""
    table: dict[Key, Sample] = {}
    for row in observations:
        if not row.counts:
            continue
        key = (row.treatment, row.workload, row.phase, row.metric)
        sample = table.get(key)
        if sample is None:
            table[key] = sample = Sample(row.unit, [])
        sample.values.append(row.value)
    return table


def cells(table: dict[Key, Sample]) -> list[Cell]:
    """One :class:`Cell` per key, in the order of first appearance."""
    rows = []
    for (treatment, workload, phase, metric), sample in table.items():
        s = summarise(sample.values)
        rows.append(
            Cell(
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
                ci_low=s.ci_low,
                ci_high=s.ci_high,
            )
        )
    return rows
