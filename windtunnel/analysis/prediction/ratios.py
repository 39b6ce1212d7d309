"""Predicted ratios of two treatments, with the error that their predictions do not share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis.predicted_error import PredictedError, joined, log_contrast
from windtunnel.analysis.statistics.summary import Contrast
from windtunnel.model.fit import Fit
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job
from windtunnel.model.joint import alone, joint
from windtunnel.model.predict import predict

Rows = Sequence[tuple[Hardware, Job]]
"""The phases of one treatment; their times are added."""


@dataclass(frozen=True)
class Ratio:
    """Logarithm of the ratio with its error, the ratio of CPU times, and what binds.

    ``bottlenecks`` are those of the longest phase at the treatment and at the baseline.
    """

    log: Contrast
    cpu: float
    bottlenecks: tuple[str, str]
    inside: bool


def ratios(fit: Fit, pairs: Sequence[tuple[Rows, Rows]]) -> list[Ratio]:
    """The ratios treatment / baseline of all pairs, predicted by one fit."""
    found = []
    for treatment, baseline in pairs:
        rows = [*treatment, *baseline]
        made = predict(fit, rows)
        errors = joint(fit, rows) if fit.kinds else alone(made, fit.freedom)
        sides = []
        for start, end in ((0, len(treatment)), (len(treatment), len(rows))):
            times = [one.elapsed_s for one in made[start:end]]
            terms = [
                (
                    seconds / sum(times),
                    PredictedError(
                        tuple(float(value) for value in errors.loadings[place]),
                        float(errors.own[place]),
                        fit.freedom,
                    ),
                )
                for seconds, place in zip(times, range(start, end), strict=True)
            ]
            longest = max(made[start:end], key=lambda one: one.elapsed_s)
            cpu = sum(one.cpu_s for one in made[start:end])
            sides.append((sum(times), joined(terms), longest.bottleneck, cpu))
        (top, error, binds, cpu), (bottom, base_error, base_binds, base_cpu) = sides
        found.append(
            Ratio(
                log_contrast(math.log(top / bottom), [(1.0, error), (-1.0, base_error)]),
                cpu / base_cpu if base_cpu else math.nan,
                (binds, base_binds),
                all(one.inside for one in made),
            )
        )
    return found
