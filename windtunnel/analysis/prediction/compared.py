"""Predictions of all treatments of a results folder, compared with what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from windtunnel.analysis.prediction.described import as_data
from windtunnel.analysis.prediction.points import Found
from windtunnel.model.fit import Fit, Point
from windtunnel.model.predict import Prediction, predict


def predict_results(source: str, found: Found, fit: Fit) -> dict[str, Any]:
    """``predictions`` of all points, and ``errors``: of the fitted points and of the others."""
    seen = set(fit.names)
    made = predict(fit, [(point.hardware, point.job) for point in found.points])
    pairs = list(zip(found.points, made, strict=True))
    fitted = [pair for pair in pairs if _names(pair[0]) in seen]
    others = [pair for pair in pairs if _names(pair[0]) not in seen]
    return {
        "results": source,
        "fit": fit.origin,
        "level": 0.9,
        "predictions": [
            as_data(one)
            | {
                "treatment": point.treatment,
                "workload": point.workload,
                "phase": point.phase,
                "measured_s": point.elapsed_s,
                "timeout": point.timeout,
                "fitted": _names(point) in seen,
            }
            for point, one in pairs
        ],
        "errors": {"fitted": errors(fitted), "not_fitted": errors(others)},
        "assumed": found.assumed,
    }


def _names(point: Point) -> tuple[str, str, str, str]:
    return point.study, point.treatment, point.workload, point.phase


def errors(pairs: Sequence[tuple[Point, Prediction]]) -> dict[str, Any]:
    """Number, mean absolute relative error, largest one, and coverage of the intervals.

    Jobs that did not finish have no time and do not count; ``timeouts`` is their number.
    """
    late = sum(point.timeout for point, _ in pairs)
    pairs = [pair for pair in pairs if not pair[0].timeout]
    if not pairs:
        return {
            "points": 0,
            "timeouts": late,
            "mean_absolute_error": None,
            "largest": None,
            "covered": None,
        }
    relative = [one.elapsed_s / point.elapsed_s - 1.0 for point, one in pairs]
    return {
        "points": len(pairs),
        "timeouts": late,
        "mean_absolute_error": fmean(abs(value) for value in relative),
        "largest": max(relative, key=abs),
        "covered": fmean(one.low_s <= point.elapsed_s <= one.high_s for point, one in pairs),
    }
