"""Rule on outliers: they are reported and never removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.formatting import listed, quantity
from windtunnel.analysis.observations import total_elapsed
from windtunnel.results.record import Trial

Z_LIMIT = 3.5
"""Limit of the modified z score: Iglewicz & Hoaglin (1993), How to detect and handle outliers."""
FROM = 5
"""Number of trials in a cell from which the score is meaningful."""
AT_LEAST = 0.05
"""A trial is reported only if it also differs from the median by this fraction: in a cell with
little noise, a score of 3.5 may be a tenth of a second."""


def outliers(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 3: all trials are kept; trials far from the others of their cell are reported."""
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
            f"{trial.id} ({evidence.place(treatment, workload)}: {quantity(value, 's')}, "
            f"median {quantity(middle, 's')})"
            for (trial, value), z in zip(rows, modified_z(values), strict=True)
            if abs(z) > Z_LIMIT and abs(value - middle) >= AT_LEAST * middle
        ]
    if names:
        yield ReportWarning(
            id="outlier",
            rule=3,
            severity="note",
            text=f"outliers, which all results include: {listed(names)}",
            advice="check the timeline and the load before the trial. Up to one in five "
            "undisturbed cells of five trials has an outlier by chance; do not remove the trial.",
        )


def modified_z(values: Sequence[float]) -> list[float]:
    """0.6745 (x - median) / MAD; if the MAD is 0, the mean absolute deviation replaces it.

    All scores are 0 below 5 values, where the score is not meaningful.
    """
    if len(values) < FROM:
        return [0.0] * len(values)
    middle = median(values)
    away = [value - middle for value in values]
    scale = median(abs(a) for a in away) / 0.6745
    if scale == 0:
        scale = 1.253314 * fmean(abs(a) for a in away)
    return [a / scale if scale > 0 else 0.0 for a in away]
