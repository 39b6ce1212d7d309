"""The splits of the accuracy test: which points are fitted and which are predicted.

The splits are fixed here and have a hash, so that a reader can see whether they changed.
"""

from __future__ import annotations

import hashlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from windtunnel.model.fit import Point

STUDIES = ("cisco-2014", "vmware-2011")
HALVES = 6
Pair = tuple[list[Point], list[Point]]  # fitted, predicted


@dataclass(frozen=True)
class Split:
    """A way to divide the points; ``target`` is the largest acceptable mean absolute error."""

    name: str
    pairs: Callable[[Sequence[Point]], Iterator[Pair]]
    target: float | None = None


def study_of(point: Point) -> str:
    """The published study of a point: CPU time is known for one of them only."""
    return STUDIES[1] if point.hardware.old else STUDIES[0]


def _all(points: Sequence[Point]) -> Iterator[Pair]:
    yield list(points), list(points)


def _one_point(points: Sequence[Point]) -> Iterator[Pair]:
    for one in points:
        yield [point for point in points if point is not one], [one]


def _one_treatment(points: Sequence[Point]) -> Iterator[Pair]:
    for key in dict.fromkeys((point.study, point.treatment) for point in points):
        own = [point for point in points if (point.study, point.treatment) == key]
        yield [point for point in points if (point.study, point.treatment) != key], own


def _halves(points: Sequence[Point]) -> Iterator[Pair]:
    for seed in range(HALVES):
        order = list(points)
        random.Random(seed).shuffle(order)
        yield order[: len(order) // 2], order[len(order) // 2 :]


def _three_of_cisco(points: Sequence[Point]) -> Iterator[Pair]:
    own = [point for point in points if study_of(point) == "cisco-2014"]
    names = list(dict.fromkeys(point.treatment for point in own))
    for three in combinations(names, 3):
        fitted = [point for point in own if point.treatment in three]
        yield fitted, [point for point in own if point.treatment not in three]


def _platform(points: Sequence[Point]) -> Iterator[Pair]:
    plain = ("pi", "write", "read")
    fitted = [p for p in points if study_of(p) == "cisco-2014" or p.kind in plain]
    yield fitted, [p for p in points if study_of(p) == "vmware-2011" and p.kind not in plain]


def _small_to_large(points: Sequence[Point]) -> Iterator[Pair]:
    limit = 1.1e12
    large = [point for point in points if point.job.data_bytes > limit]
    yield [point for point in points if point.job.data_bytes <= limit], large


def _cisco_to_vmware(points: Sequence[Point]) -> Iterator[Pair]:
    fitted = [point for point in points if study_of(point) == "cisco-2014"]
    seen = {point.kind for point in fitted}
    yield fitted, [p for p in points if study_of(p) == "vmware-2011" and p.kind in seen]


SPLITS: tuple[Split, ...] = (
    Split("all points, in-sample", _all, 0.06),
    Split("leave one point out", _one_point, 0.08),
    Split("leave one configuration out", _one_treatment),
    Split("random halves", _halves),
    Split("three Cisco configurations predict the others", _three_of_cisco, 0.09),
    Split("Cisco, Pi and TestDFSIO predict VMware's TeraSort family", _platform, 0.12),
    Split("1 TB predicts 2 and 3.5 TB", _small_to_large),
    Split("Cisco predicts VMware", _cisco_to_vmware),
)


def fingerprint() -> str:
    """SHA-256 of this module's source: that of the splits."""
    return hashlib.sha256(inspect.getsource(sys.modules[__name__]).encode()).hexdigest()
