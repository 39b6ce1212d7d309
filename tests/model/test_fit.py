"""Fits: known constants are found again, few points of an unknown cluster suffice, files last."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support import cloud
from windtunnel.errors import ResultsError
from windtunnel.model.constants import CONSTANTS, INDEX, bounds, priors
from windtunnel.model.fit import Batch, Fit, Point, Prior, fit
from windtunnel.model.jobs import software_of
from windtunnel.model.predict import predict
from windtunnel.model.store import read_fit, shipped_fit, write_fit


def synthetic(log: np.ndarray, noise: float) -> list[Point]:
    """Points of the cloud with times of the model itself."""
    found = cloud.points()
    times = Batch([(point.hardware, point.job) for point in found]).times(log).elapsed_s
    chance = random.Random(1)
    return [
        replace(point, elapsed_s=float(value) * float(np.exp(chance.gauss(0.0, noise))))
        for point, value in zip(found, times, strict=True)
    ]


def test_known_constants_predict_their_own_times() -> None:
    truth = priors()
    truth[INDEX["cycles_sort"]] += 0.5
    truth[INDEX["start"]] += 0.4
    found = fit(synthetic(truth, 0.0))
    wanted = synthetic(truth, 0.0)
    made = predict(found, [(point.hardware, point.job) for point in wanted])
    errors = [abs(one.elapsed_s / p.elapsed_s - 1.0) for one, p in zip(made, wanted, strict=True)]
    assert max(errors) < 0.03


def test_eight_configurations_predict_the_other_sixty_one() -> None:
    points = cloud.points()
    assert len({point.treatment for point in points}) == 69
    errors, inside = [], []
    for seed in range(5):
        given = set(cloud.eight(seed))
        found = fit(
            [point for point in points if point.treatment in given],
            Prior.of_new_cluster(shipped_fit()),
        )
        others = [point for point in points if point.treatment not in given]
        made = predict(found, [(point.hardware, point.job) for point in others])
        for one, point in zip(made, others, strict=True):
            errors.append(abs(one.elapsed_s / point.elapsed_s - 1.0))
            inside.append(one.low_s <= point.elapsed_s <= one.high_s)
    assert np.mean(errors) < 0.13
    assert 0.85 < np.mean(inside) <= 1.0


def test_other_software_has_a_time_of_its_own() -> None:
    """Spark takes 0.5 of the time of MapReduce; both are fitted together."""
    points = [point for point in cloud.points() if point.workload == "terasort"]
    spark = [
        replace(
            p, workload="spark", elapsed_s=p.elapsed_s * 0.5, job=replace(p.job, software="spark")
        )
        for p in points
    ]
    given = set(cloud.eight(3))
    found = fit(
        [point for point in points + spark if point.treatment in given],
        Prior.of_new_cluster(shipped_fit()),
    )
    value, deviation = found.offsets["sort/spark"]
    assert value == pytest.approx(np.log(0.5), abs=0.1)
    assert 0 < deviation < 0.2
    others = [point for point in points + spark if point.treatment not in given]
    made = predict(found, [(point.hardware, point.job) for point in others])
    errors = [abs(one.elapsed_s / p.elapsed_s - 1.0) for one, p in zip(made, others, strict=True)]
    assert np.mean(errors) < 0.13
    # software that no fit has seen: the time of MapReduce, with a wider interval
    row = (points[0].hardware, replace(points[0].job, software="flink"))
    known, unknown = predict(found, [(points[0].hardware, points[0].job), row])
    assert unknown.high_s / unknown.low_s > 2.0 * known.high_s / known.low_s
    assert not unknown.inside
    # a fit of Spark alone does not know the time of MapReduce: the constants are the latter's
    alone = fit([p for p in spark if p.treatment in given], Prior.of_new_cluster(shipped_fit()))
    assert alone.offsets["sort/spark"][1] > 0.2


def test_a_crash_while_a_fit_is_written_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "fit.json"
    write_fit(shipped_fit(), file)
    before = file.read_bytes()

    def crash(_: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(ResultsError):
        write_fit(shipped_fit(), file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["", "terasort/Spark"], "spark"),
        (["flink", "terasort"], "flink"),
        (["pig", "wordcount", "Hadoop"], ""),
        (["", "sparkle"], ""),
        (["", "terasort/PySpark"], "spark"),
        (["", "SparkSQL scan"], "spark"),
        (["", "wordcount", "Spark 2.4"], "spark"),
    ],
)
def test_software_is_found_in_names(words: list[str], name: str) -> None:
    assert software_of(words) == name


def test_intervals_of_constants_stay_within_their_prior() -> None:
    """Points that contradict each other leave the prior: they do not widen it."""
    points = cloud.points()
    noisy = [
        replace(p, elapsed_s=p.elapsed_s * (3.0 if i % 2 else 0.3)) for i, p in enumerate(points)
    ]
    prior = Prior.of_new_cluster(shipped_fit())
    found = fit(noisy, prior)
    assert np.all(np.sqrt(np.diag(found.covariance)) <= prior.spread * 1.001)


def test_a_timeout_pulls_up_only() -> None:
    points = [point for point in cloud.points() if point.workload == "terasort"][:10]
    plain = fit(points, Prior.of_new_cluster(shipped_fit()))
    late = [replace(points[0], elapsed_s=points[0].elapsed_s * 5, timeout=True), *points[1:]]
    early = [replace(points[0], elapsed_s=points[0].elapsed_s / 5, timeout=True), *points[1:]]
    row = [(points[0].hardware, points[0].job)]
    base = predict(plain, row)[0].elapsed_s
    prior = Prior.of_new_cluster(shipped_fit())
    assert predict(fit(late, prior), row)[0].elapsed_s > base * 1.05
    # the job ran longer than a limit that is far below its time: nothing is learned
    assert predict(fit(early, prior), row)[0].elapsed_s == pytest.approx(base, rel=0.15)


def test_an_erasure_code_keeps_the_factor_of_the_software() -> None:
    points = [point for point in cloud.points() if point.workload == "terasort"][:12]
    spark = [
        replace(p, workload="s", elapsed_s=p.elapsed_s / 2, job=replace(p.job, software="spark"))
        for p in points
    ]
    found = fit(points + spark, Prior.of_new_cluster(shipped_fit()))
    assert found.offset(replace(spark[0].job, coded=1.0)) == found.offset(spark[0].job)
    coded = [replace(p, job=replace(p.job, coded=1.0)) for p in points]
    assert not fit(points + coded).offsets, "a code is no other software"


def test_an_outlier_says_little_of_its_neighbours() -> None:
    """One of eight fitted times is three times too long: the others are predicted as without it."""
    points = [point for point in cloud.points() if point.workload == "terasort"]
    given = set(cloud.eight(3))
    known = [point for point in points if point.treatment in given]
    others = [point for point in points if point.treatment not in given]
    prior = Prior.of_new_cluster(shipped_fit())

    def error(fitted: list[Point]) -> float:
        made = predict(fit(fitted, prior), [(point.hardware, point.job) for point in others])
        wrong = [one.elapsed_s / p.elapsed_s - 1.0 for one, p in zip(made, others, strict=True)]
        return float(np.mean(np.abs(wrong)))

    wrong = replace(known[4], elapsed_s=known[4].elapsed_s * 3.0)
    spoilt = [wrong if point is known[4] else point for point in known]
    assert error(spoilt) < error(known) + 0.05


def test_a_job_that_did_not_finish_says_nothing_of_the_correction() -> None:
    points = [point for point in cloud.points() if point.workload == "terasort"][:10]
    early = [replace(points[0], elapsed_s=points[0].elapsed_s / 5, timeout=True), *points[1:]]
    found = fit(early, Prior.of_new_cluster(shipped_fit()))
    assert found.residuals[0] == 0.0
    assert found.noise[0] > 1.0 > found.noise[1:].max()
    (at_it,) = predict(found, [(points[0].hardware, points[0].job)])
    (beside,) = predict(found, [(points[1].hardware, points[1].job)])
    assert at_it.high_s / at_it.low_s > beside.high_s / beside.low_s


def test_constants_stay_within_their_bounds() -> None:
    found = fit(cloud.points())
    low, high = bounds()
    assert np.all((found.log >= low) & (found.log <= high))


def test_without_points_the_fit_is_the_prior() -> None:
    found = fit([])
    assert np.array_equal(found.log, priors())
    one = cloud.points()[0]
    made = predict(found, [(one.hardware, one.job)])[0]
    assert made.low_s < made.elapsed_s < made.high_s
    assert not made.inside


def test_a_constant_without_data_is_not_determined() -> None:
    found = fit([point for point in cloud.points() if point.workload == "wordcount"])
    known = found.determined()
    assert known["cycles_count"] > 0.5
    assert known["guest_disk"] < 0.1


def test_points_inside_and_outside_of_the_fitted_range() -> None:
    points = cloud.points()
    found = fit(points, Prior.of_new_cluster(shipped_fit()))
    one = points[0]
    large = replace(one.hardware, hosts=500.0, stores=500.0)
    assert predict(found, [(one.hardware, one.job)])[0].inside
    assert not predict(found, [(large, one.job)])[0].inside


def same(one: Fit, other: Fit) -> None:
    for name in ("log", "covariance", "features", "residuals", "noise", "centre"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    for name in ("error", "freedom", "correction", "misfit", "kinds", "names", "offsets", "origin"):
        assert getattr(one, name) == getattr(other, name)


def test_a_written_fit_reads_back(tmp_path: Path) -> None:
    found = fit(cloud.points()[:20], Prior.of_new_cluster(shipped_fit()), origin="cloud")
    write_fit(found, tmp_path / "fit.json")
    same(read_fit(tmp_path / "fit.json"), found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "is not a fit"),
        ("{}", "origin"),
        ('{"schema": "windtunnel.trial/1"}', "is not a fit"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "fit.json").write_text(text)
    with pytest.raises(ResultsError, match=words):
        read_fit(tmp_path / "fit.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be read"):
        read_fit(tmp_path / "none.json")


def test_there_are_at_most_20_constants() -> None:
    assert len(CONSTANTS) <= 20
    assert all(one.low < one.prior < one.high for one in CONSTANTS)
