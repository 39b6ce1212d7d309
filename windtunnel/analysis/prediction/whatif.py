"""One change of a measured study: the measured times are multiplied by a predicted ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from windtunnel.analysis.prediction.described import as_data
from windtunnel.analysis.prediction.points import AsRun, Found, capacity_of
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import apply_overrides
from windtunnel.errors import ResultsError
from windtunnel.model.fit import CORRECTION_NOISE, Batch, Fit, Matrix, Point, Prior, features, fit
from windtunnel.model.jobs import job
from windtunnel.model.predict import LEVEL, predict
from windtunnel.model.store import shipped_fit
from windtunnel.results.folder import Results


def what_if(
    results: Results, found: Found, changes: Mapping[str, Any], as_run: AsRun | None = None
) -> dict[str, Any]:
    """Times of every treatment with the changes, as plain data for JSON.

    ``elapsed_s`` is the measured time times the predicted ratio, so that errors which both
    predictions share cancel out.

    Raises
    ------
    ResultsError
        If the model can predict none of the times.
    DescriptionError
        If a change is not possible in a cluster.
    """
    if not found.points:
        raise ResultsError(
            f"no time of {results.path} can be predicted by the model",
            remedy="the model knows TeraSort's phases, WordCount, Pi, TestDFSIO, PUT and GET.",
        )
    made = fit(found.points, Prior.of_new_cluster(shipped_fit()), origin=str(results.path))
    after = _changed(results, found, changes, as_run)
    logs, deviations = _ratios(made, found.points, after)
    reach = float(student.ppf(0.5 + LEVEL / 2.0, made.freedom))
    bound = predict(made, [(point.hardware, point.job) for point in after])
    rows = []
    for place, point in enumerate(found.points):
        wide = reach * deviations[place]
        ratio = math.exp(logs[place])
        data = as_data(bound[place])
        rows.append(
            {
                "treatment": point.treatment,
                "workload": point.workload,
                "phase": point.phase,
                "measured_s": point.elapsed_s,
                "ratio": ratio,
                "ratio_low": ratio * math.exp(-wide),
                "ratio_high": ratio * math.exp(wide),
                "elapsed_s": point.elapsed_s * ratio,
                "low_s": point.elapsed_s * ratio * math.exp(-wide),
                "high_s": point.elapsed_s * ratio * math.exp(wide),
                **{k: data[k] for k in ("bottleneck", "next_bottleneck", "inside_fitted_range")},
            }
        )
    return {
        "results": str(results.path),
        "changes": dict(changes),
        "level": LEVEL,
        "predictions": rows,
        "assumed": found.assumed,
    }


def _changed(
    results: Results, found: Found, changes: Mapping[str, Any], as_run: AsRun | None
) -> list[Point]:
    """The points on the changed clusters."""
    clusters = ClusterOf(results.study)
    first = {(t.treatment.id, t.workload): t for t in results.trials}
    points = []
    for point in found.points:
        trial = first[point.treatment, point.workload]
        cluster = clusters.of(trial.treatment)
        assert cluster is not None  # it has a point
        changed = apply_overrides(cluster, changes)
        ran, capacity = capacity_of(results, trial, changed, as_run)
        work = job(point.kind, trial.parameters, ran, capacity)
        work = replace(work, software=point.job.software)
        points.append(replace(point, hardware=capacity, job=work))
    return points


def _ratios(made: Fit, before: list[Point], after: list[Point]) -> tuple[list[float], list[float]]:
    """Logarithms of after by before, and their standard deviations.

    The deviation has the uncertainty of the constants in the ratio, and what the correction leaves
    open between the two places; a change that changes nothing has none.
    """
    old, new = (Batch([(p.hardware, p.job) for p in points]) for points in (before, after))
    logs = np.log(new.times(made.log).elapsed_s) - np.log(old.times(made.log).elapsed_s)
    slopes = new.slopes(made.log) - old.slopes(made.log)
    variance = np.einsum("ij,jk,ik->i", slopes, made.covariance, slopes)
    one = made.correction
    kinds = [point.job.label for point in before]
    places = [_places(made, points) for points in (before, after)]
    near = one.covariance(kinds, places[0], kinds, places[1]).diagonal()
    own = [one.spread**2 + one.slope**2 * (place**2).sum(axis=1) for place in places]
    apart = np.maximum(own[0] + own[1] - 2.0 * near, 0.0)
    # the noise of a single treatment counts as far as the treatments differ
    share = np.minimum(apart / one.spread**2, 1.0)
    variance = variance + made.misfit * (apart + share * CORRECTION_NOISE**2)
    return [float(value) for value in logs], [float(value) for value in np.sqrt(variance)]


def _places(made: Fit, points: list[Point]) -> Matrix:
    rows = [features(point.hardware, point.job) for point in points]
    return np.array(rows) - made.centre
