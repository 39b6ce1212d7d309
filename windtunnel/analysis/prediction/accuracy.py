"""The accuracy of the model on the published studies: errors, coverage, directions, baselines."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from scipy import stats

from windtunnel.analysis.prediction.baselines import ernest, row_mean
from windtunnel.analysis.prediction.splits import SPLITS, STUDIES, fingerprint, study_of
from windtunnel.model.constants import CONSTANTS
from windtunnel.model.fit import Point, fit
from windtunnel.model.hardware import Hardware
from windtunnel.model.predict import Prediction, predict

__all__ = ["STUDIES", "assess"]
EFFECT = 0.10  # an effect whose direction counts
NOISE_CONFIDENCE = 0.90
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Case:
    """A predicted point: with and without the correction, and by the baselines."""

    point: Point
    made: Prediction
    plain: Prediction
    row_mean_s: float | None
    ernest_s: float | None


def assess(points: Sequence[Point], progress: Progress) -> dict[str, Any]:
    """The accuracy on all splits, as plain data for JSON.

    Parameters
    ----------
    progress:
        Called before each split with its number from 0, the number of splits, and its name.
    """
    splits = []
    cases_of: dict[str, list[_Case]] = {}
    for place, split in enumerate(SPLITS):
        progress(place, len(SPLITS), split.name)
        cases: list[_Case] = []
        for fitted, wanted in split.pairs(points):
            found, rows = fit(fitted), [(point.hardware, point.job) for point in wanted]
            made, plain = predict(found, rows), predict(found, rows, corrected=False)
            means, others = row_mean(fitted, wanted), ernest(fitted, wanted)
            cases += [_Case(*row) for row in zip(wanted, made, plain, means, others, strict=True)]
        cases_of[split.name] = cases
        splits.append({"split": split.name, "target": split.target} | _summary(cases))
    whole, held = cases_of[SPLITS[0].name], cases_of[SPLITS[2].name]
    return {
        "constants": len(CONSTANTS),
        "points": len(points),
        "splits_sha256": fingerprint(),
        "splits": splits,
        "tables": _tables(held),
        "factors": _factors(held),
        "directions": {"in-sample": _directions(whole), "held out": _directions(held)},
        "predictions": [
            {
                "study": study_of(case.point),
                "treatment": case.point.treatment,
                "workload": case.point.workload,
                "phase": case.point.phase,
                "published_s": case.point.elapsed_s,
                "predicted_s": case.made.elapsed_s,
                "low_s": case.made.low_s,
                "high_s": case.made.high_s,
            }
            for case in held
        ],
    }


def _summary(cases: Sequence[_Case]) -> dict[str, Any]:
    errors = [abs(case.made.elapsed_s / case.point.elapsed_s - 1.0) for case in cases]
    inside = [case.made.low_s <= case.point.elapsed_s <= case.made.high_s for case in cases]
    return {
        "predicted": len(cases),
        "error": fmean(errors),
        "uncorrected_error": _error([(c.point, c.plain.elapsed_s) for c in cases]),
        "largest": max(errors),
        "covered": fmean(inside),
        "row_mean_error": _error([(c.point, c.row_mean_s) for c in cases]),
        "ernest_error": _error([(c.point, c.ernest_s) for c in cases]),
    }


def _error(pairs: Sequence[tuple[Point, float | None]]) -> float | None:
    found = [abs(value / point.elapsed_s - 1.0) for point, value in pairs if value is not None]
    return fmean(found) if found else None


def _tables(cases: Sequence[_Case]) -> list[dict[str, Any]]:
    """Errors and directions by study and phase, with configurations held out."""
    groups: dict[tuple[str, str], list[_Case]] = defaultdict(list)
    for case in cases:
        groups[study_of(case.point), case.point.phase].append(case)
    return [
        {"study": study, "phase": phase} | _summary(group) | _directions(group)
        for (study, phase), group in groups.items()
    ]


@dataclass(frozen=True)
class _Effect:
    """Ratios of two treatments; ``noise`` is that of two means without a difference, 1 if unknown.

    The published ratio of such means is between ``1 / noise`` and ``noise`` with 90 % confidence.
    """

    factor: str
    measured: float
    predicted: float
    noise: float = 1.0

    @property
    def size(self) -> float:
        """The published ratio, or its inverse if that is larger."""
        return max(self.measured, 1.0 / self.measured)

    @property
    def right(self) -> bool:
        """Whether the predicted ratio has the direction of the published one."""
        return (self.measured > 1.0) == (self.predicted > 1.0)


def _effects(cases: Sequence[_Case]) -> list[_Effect]:
    """The ratios of all pairs of treatments that differ in one property of the hardware."""
    groups: dict[tuple[str, str, str], list[_Case]] = defaultdict(list)
    for case in cases:
        groups[case.point.study, case.point.workload, case.point.phase].append(case)
    found = []
    for group in groups.values():
        deviation = _deviation([case.point for case in group])
        for place, one in enumerate(group):
            for other in group[place + 1 :]:
                factor = _difference(one.point.hardware, other.point.hardware)
                if factor is not None:
                    measured = other.point.elapsed_s / one.point.elapsed_s
                    predicted = other.made.elapsed_s / one.made.elapsed_s
                    noise = _noise(deviation, len(one.point.runs_s), len(other.point.runs_s))
                    found.append(_Effect(factor, measured, predicted, noise))
    return found


def _deviation(points: Sequence[Point]) -> tuple[float, int]:
    """The pooled standard deviation of the logarithm of one run, and its degrees of freedom."""
    repeated = [[math.log(run) for run in point.runs_s] for point in points]
    repeated = [runs for runs in repeated if len(runs) > 1]
    freedom = sum(len(runs) - 1 for runs in repeated)
    if freedom == 0:
        return 0.0, 0
    squares = sum(variance(runs) * (len(runs) - 1) for runs in repeated)
    return math.sqrt(squares / freedom), freedom


def _noise(deviation: tuple[float, int], runs: int, other_runs: int) -> float:
    """See :class:`_Effect`."""
    spread, freedom = deviation
    if freedom == 0 or not runs or not other_runs:
        return 1.0
    quantile = float(stats.t.ppf((1.0 + NOISE_CONFIDENCE) / 2.0, freedom))
    return math.exp(quantile * spread * math.sqrt(1.0 / runs + 1.0 / other_runs))


_PROPERTIES = {
    "network": ("nic_bytes_s", "cross_bytes_s"),
    "CPU": ("cores", "clock_ghz"),
    "Hyper-Threading": ("threads_per_core",),
    "virtual machines": ("guests", "pinned"),
}


def _difference(one: Hardware, other: Hardware) -> str | None:
    changed = [
        name
        for name, fields in _PROPERTIES.items()
        if any(getattr(one, field) != getattr(other, field) for field in fields)
    ]
    return changed[0] if len(changed) == 1 else None


def _factors(cases: Sequence[_Case]) -> list[dict[str, Any]]:
    """Errors of the ratios by factor, with configurations held out."""
    groups: dict[str, list[_Effect]] = defaultdict(list)
    for effect in _effects(cases):
        groups[effect.factor].append(effect)
    return [
        {
            "factor": factor,
            "ratios": len(group),
            "error": fmean(abs(one.predicted / one.measured - 1.0) for one in group),
        }
        | _right(group)
        for factor, group in groups.items()
    ]


def _directions(cases: Sequence[_Case]) -> dict[str, Any]:
    return _right(_effects(cases))


def _right(effects: Sequence[_Effect]) -> dict[str, Any]:
    """The fraction of right directions among published effects above 10 %.

    ``clear`` are those of them that are larger than the noise of the published runs, as far as it
    is known.
    """
    large = [one for one in effects if one.size - 1.0 > EFFECT]
    clear = [one for one in large if one.size > one.noise]
    return {
        "effects": len(large),
        "right": fmean(one.right for one in large) if large else None,
        "clear_effects": len(clear),
        "clear_right": fmean(one.right for one in clear) if clear else None,
    }
