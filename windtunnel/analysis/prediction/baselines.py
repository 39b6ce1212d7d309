"""Predictors to compare the model with: the mean of a row, and a regression like Ernest's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from scipy.optimize import nnls

from windtunnel.model.constants import Vector
from windtunnel.model.fit import Point


def row_mean(fitted: Sequence[Point], wanted: Sequence[Point]) -> list[float | None]:
    """The geometric mean of the same workload and phase of the same study; None without one."""
    rows: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for point in fitted:
        rows[point.study, point.workload, point.phase].append(float(np.log(point.elapsed_s)))
    found = (rows.get((point.study, point.workload, point.phase)) for point in wanted)
    return [float(np.exp(fmean(row))) if row else None for row in found]


def ernest(fitted: Sequence[Point], wanted: Sequence[Point]) -> list[float | None]:
    """Non-negative least squares of each phase on 1, data / cores, log(hosts) and hosts.

    Source: Venkataraman et al., Ernest, NSDI 2016, section 3.1; data per core replaces data per
    machine, because the machines here differ. None if the phase has no fitted point.
    """
    models: dict[str, Vector] = {}
    for kind in dict.fromkeys(point.kind for point in fitted):
        own = [point for point in fitted if point.kind == kind]
        weight = np.array([1.0 / point.elapsed_s for point in own])
        models[kind] = nnls(_terms(own) * weight[:, None], np.ones(len(own)))[0]
    return [
        float((_terms([point]) @ models[point.kind])[0]) if point.kind in models else None
        for point in wanted
    ]


def _terms(points: Sequence[Point]) -> Vector:
    rows = []
    for point in points:
        hosts, cores = point.hardware.hosts, point.hardware.cores
        work = max(point.job.data_bytes / 1e9, point.job.samples / 1e9)
        rows.append([1.0, work / (hosts * cores), float(np.log(hosts)), hosts])
    return np.array(rows)
