"""Rule on single trials that stand apart: shown, named, never dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.observations import total_elapsed
from windtunnel.analysis.words import listed, quantity
from windtunnel.results.record import Trial

Z_LIMIT = 3.5
"""Limit of the modified z score: Iglewicz & Hoaglin (1993), How to detect and handle outliers."""
FROM = 5
"""Trials in a cell from which the score says anything."""
AT_LEAST = 0.05
"""A trial is named only if it is also this far from the median: in a quiet cell a score of 3.5
may be a tenth of a second."""


def outliers(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 3: all trials are kept; those far from the others of their cell are named."""
    cells: dict[tuple[str, str], list[tuple[Trial, float]]] = defaultdict(list)
    for trial in evidence.counted:
        elapsed = total_elapsed(trial)
        if elapsed is not None:
            cells[slot(trial)].append((trial, elapsed))
    names = []
    for (workload, treatment), rows in cells.items():
        values = [value for _, value in rows]
        middle = median(values)
        names += [
            f"{trial.id} ({treatment} / {workload}: {quantity(value, 's')}, "
            f"median {quantity(middle, 's')})"
            for (trial, value), z in zip(rows, modified_z(values), strict=True)
            if abs(z) > Z_LIMIT and abs(value - middle) >= AT_LEAST * middle
        ]
    if names:
        yield ReportWarning(
            id="outlier",
            rule=3,
            severity="note",
            text=f"far from the other trials of its cell, and kept in every number: "
            f"{listed(names)}",
            advice="look at its timeline and at the load before it. Among clean cells of five "
            "trials up to one in five has such a trial by chance; it is no reason to drop one.",
        )


def modified_z(values: Sequence[float]) -> list[float]:
    """0.6745 (x - median) / MAD; with a MAD of 0 the mean absolute deviation takes its place.

    All 0 below 5 values, where the score means nothing.
    """
    if len(values) < FROM:
        return [0.0] * len(values)
    middle = median(values)
    away = [value - middle for value in values]
    scale = median(abs(a) for a in away) / 0.6745
    if scale == 0:
        scale = 1.253314 * fmean(abs(a) for a in away)
    return [a / scale if scale > 0 else 0.0 for a in away]
