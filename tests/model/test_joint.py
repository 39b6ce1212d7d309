"""The errors of several predictions together."""

from __future__ import annotations

import numpy as np
import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model.hardware import Hardware, hardware
from windtunnel.model.jobs import Job, job
from windtunnel.model.joint import alone, joint
from windtunnel.model.predict import predict
from windtunnel.model.store import shipped_fit

PARAMETERS = {"size": "1 TB", "input_replication": 3, "output_replication": 1}


def row(cluster: Cluster, kind: str = "sort") -> tuple[Hardware, Job]:
    capacity = hardware(cluster)
    return capacity, job(kind, PARAMETERS, cluster, capacity)


def rows() -> list[tuple[Hardware, Job]]:
    base = load_cluster("cisco-2014")
    more = [apply_overrides(base, {"hosts.worker.count": count}) for count in (5, 6, 8, 12)]
    return [row(cluster, kind) for cluster in more for kind in ("generate", "sort")]


def test_each_error_is_that_of_the_single_prediction() -> None:
    fit = shipped_fit()
    together = joint(fit, rows())
    deviations = np.sqrt((together.loadings**2).sum(axis=1) + together.own**2)
    assert deviations == pytest.approx(alone(predict(fit, rows()), fit.freedom).own, rel=1e-6)


def test_equal_treatments_have_equal_errors_and_similar_ones_a_common_part() -> None:
    base = load_cluster("cisco-2014")
    far, near = (apply_overrides(base, {"hosts.worker.count": count}) for count in (12, 11))
    found = joint(shipped_fit(), [row(far), row(far), row(near)])
    assert found.loadings[0] == pytest.approx(found.loadings[1], abs=1e-6)
    assert found.own == pytest.approx(0.0, abs=5e-3)
    ratio = np.linalg.norm(found.loadings[2] - found.loadings[0])
    single = np.linalg.norm(found.loadings[0])
    assert 0.0 < ratio < 0.5 * single


def test_no_rows_have_no_errors() -> None:
    assert joint(shipped_fit(), []).own.shape == (0,)
