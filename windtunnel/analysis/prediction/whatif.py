"""One change of a measured study: the measured times are multiplied by a predicted ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scipy.stats import t as student

from windtunnel.analysis.prediction.described import as_data, check_finite
from windtunnel.analysis.prediction.no_effect import reason
from windtunnel.analysis.prediction.points import AsRun, Found, capacity_of
from windtunnel.analysis.prediction.ratios import ratios
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.errors import DescriptionError, ResultsError
from windtunnel.model.correction import features
from windtunnel.model.fit import Fit, Point, Prior, fit
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job, job
from windtunnel.model.predict import LEVEL, predict
from windtunnel.model.store import shipped_fit
from windtunnel.model.understood import misunderstood
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial


def what_if(
    results: Results, found: Found, changes: Mapping[str, Any], as_run: AsRun | None = None
) -> dict[str, Any]:
    """Times of every treatment with the changes, as plain data for JSON.

    ``elapsed_s`` is the measured time times the predicted ratio, so that errors which both
    predictions share cancel out. ``changed`` states whether the change changes a number of the
    model for this time, and ``no_effect`` why a changed path changes none for all times. Jobs that
    did not finish are fitted but have no time to multiply; ``timeouts`` is their number.

    Raises
    ------
    ResultsError
        If the model can predict none of the times.
    DescriptionError
        If a change is not possible in a cluster, or the model cannot use its value.
    """
    if not found.points:
        raise ResultsError(
            f"no time of {results.path} can be predicted by the model",
            remedy="the model knows TeraSort's phases, WordCount, Pi, TestDFSIO, PUT and GET.",
        )
    made = fit(found.points, Prior.of_new_cluster(shipped_fit()), origin=str(results.path))
    late = sum(point.timeout for point in found.points)
    found = replace(found, points=[point for point in found.points if not point.timeout])
    if not found.points:
        raise ResultsError(
            f"no job of {results.path} finished", remedy="use results with finished jobs."
        )
    after = _changed(results, found, changes, as_run)
    bound = predict(made, _rows(after))
    check_finite([(point.treatment, point.workload, point.phase) for point in after], bound)
    logs, deviations = _ratios(made, found.points, after)
    old, new = (_numbers(made, points) for points in (found.points, after))
    reach = float(student.ppf(0.5 + LEVEL / 2.0, made.freedom))
    rows = []
    for place, point in enumerate(found.points):
        changed = old[place] != new[place]
        wide = reach * deviations[place] if changed else 0.0
        ratio = math.exp(logs[place])
        low, high = ratio * math.exp(-wide), ratio * math.exp(wide)
        data = as_data(bound[place])
        rows.append(
            {
                "treatment": point.treatment,
                "workload": point.workload,
                "phase": point.phase,
                "measured_s": point.elapsed_s,
                "ratio": ratio,
                "ratio_low": low,
                "ratio_high": high,
                "elapsed_s": point.elapsed_s * ratio,
                "low_s": point.elapsed_s * low,
                "high_s": point.elapsed_s * high,
                "changed": changed,
                **{k: data[k] for k in ("bottleneck", "next_bottleneck", "inside_fitted_range")},
            }
        )
    return {
        "results": str(results.path),
        "changes": dict(changes),
        "level": LEVEL,
        "predictions": rows,
        "timeouts": late,
        "no_effect": _no_effect(made, results, found, changes, as_run),
        "assumed": found.assumed,
    }


def _rows(points: Sequence[Point]) -> list[tuple[Hardware, Job]]:
    return [(point.hardware, point.job) for point in points]


def _numbers(made: Fit, points: Sequence[Point]) -> list[tuple[object, ...]]:
    """What the equations and the correction take from each point."""
    plain = predict(made, _rows(points), corrected=False)
    return [
        (one.elapsed_s, one.cpu_s, one.resources_s, features(point.hardware, point.job))
        for one, point in zip(plain, points, strict=True)
    ]


def _ratios(
    made: Fit, before: Sequence[Point], after: Sequence[Point]
) -> tuple[list[float], list[float]]:
    """Logarithms of after by before, and their standard deviations.

    The ratio is that of the equations alone: what the equations do not know of a measured
    treatment stays. The correction, which :func:`predict` uses, returns to zero far from the fitted
    points. The deviation is that of the joint prediction about this ratio: its own deviation, and
    the difference of the two ratios.
    """
    sides = [predict(made, _rows(points), corrected=False) for points in (before, after)]
    logs = [
        math.log(new.elapsed_s / old.elapsed_s) for old, new in zip(sides[0], sides[1], strict=True)
    ]
    pairs = [([new], [old]) for new, old in zip(_rows(after), _rows(before), strict=True)]
    joint = [one.log for one in ratios(made, pairs)]
    deviations = [
        math.hypot(one.se or 0.0, one.estimate - log) for one, log in zip(joint, logs, strict=True)
    ]
    return logs, deviations


def _no_effect(
    made: Fit, results: Results, found: Found, changes: Mapping[str, Any], as_run: AsRun | None
) -> dict[str, str]:
    """Path -> why it changes no number of the model for any of the times."""
    clusters = ClusterOf(results.study)
    trials = _trials(results, found)
    workloads = {trial.workload: trial.parameters for trial in trials.values()}
    reasons = {}
    for path, value in changes.items():
        try:
            after = _changed(results, found, {path: value}, as_run)
        except DescriptionError:
            continue  # possible only together with another change
        if _numbers(made, after) != _numbers(made, found.points):
            continue
        sides = [_sides(clusters, trial, {path: value}) for trial in trials.values()]
        old, new = next((pair for pair in sides if pair[0] != pair[1]), sides[0])
        reasons[path] = reason(path, old, new, workloads)
    return reasons


def _trials(results: Results, found: Found) -> dict[tuple[str, str], Trial]:
    """The last trial of each treatment and workload that has a point."""
    wanted = {(point.treatment, point.workload) for point in found.points}
    trials = {(t.treatment.id, t.workload): t for t in results.trials}
    return {key: trials[key] for key in wanted}


def _sides(
    clusters: ClusterOf, trial: Trial, changes: Mapping[str, Any]
) -> tuple[Cluster, Cluster]:
    """The cluster of a trial without and with the changes.

    Raises
    ------
    DescriptionError
        If a change is not possible, or if the model cannot use its value.
    """
    cluster = clusters.of(trial.treatment)
    assert cluster is not None  # it has a point
    changed = apply_overrides(cluster, changes)
    known = misunderstood(cluster)  # a measured cluster may have values that the model ignores
    for path, why in misunderstood(changed).items():
        if path not in known:
            raise DescriptionError(why, key=path, remedy="change the value, or remove it.")
    return cluster, changed


def _changed(
    results: Results, found: Found, changes: Mapping[str, Any], as_run: AsRun | None
) -> list[Point]:
    """The points on the changed clusters."""
    clusters = ClusterOf(results.study)
    trials = _trials(results, found)
    points = []
    for point in found.points:
        trial = trials[point.treatment, point.workload]
        measured, changed = _sides(clusters, trial, changes)
        ran, capacity = capacity_of(results, trial, changed, as_run, measured=measured)
        work = job(point.kind, trial.parameters, ran, capacity)
        work = replace(work, software=point.job.software)
        points.append(replace(point, hardware=capacity, job=work))
    return points
