"""Slowdowns in a mix: the effect on each part of running together with the others.

A trial runs each part alone and together, so its slowdown is a ratio within the trial. Ratios
are averaged geometrically; the interval is Student's t on their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.observations import counts
from windtunnel.analysis.statistics.summary import contrast
from windtunnel.results.record import Phase, Trial

TOGETHER = "together"
_ALONE = "alone-"
_OWN = frozenset({"elapsed", "slowdown", "overlap"})


@dataclass(frozen=True, slots=True)
class Change:
    """One number of a part: its means alone and together over the trials, with the unit.

    ``ratio`` is together / alone, a geometric mean with its 95 % interval; None if a value is
    not above 0. The interval is None if the spread is unknown.
    """

    metric: str
    unit: str
    alone: float
    together: float
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PartInMix:
    """One part at one treatment, from ``n`` trials.

    ``overlap`` is the fraction of its time in which other parts ran.
    """

    workload: str
    treatment: str
    part: str
    n: int
    slowdown: Change
    overlap: float | None
    others: tuple[Change, ...]


def parts_in_mix(analysis: Analysis) -> list[PartInMix]:
    """Every part of every mix, by treatment."""
    found = []
    for treatment in analysis.study.treatments:
        trials = [
            trial
            for trial in analysis.results.trials
            if counts(trial) and trial.treatment.id == treatment.id and _phase(trial, TOGETHER)
        ]
        for workload in dict.fromkeys(trial.workload for trial in trials):
            own = [trial for trial in trials if trial.workload == workload]
            found += [_part(own, treatment.id, part) for part in _parts(own[0])]
    return found


def _parts(trial: Trial) -> Iterator[str]:
    for phase in trial.phases:
        if phase.name.startswith(_ALONE):
            yield phase.name.removeprefix(_ALONE)


def _phase(trial: Trial, name: str) -> Phase | None:
    return next((phase for phase in trial.phases if phase.name == name), None)


def _part(trials: list[Trial], treatment: str, part: str) -> PartInMix:
    pairs = []
    for trial in trials:
        alone, together = _phase(trial, _ALONE + part), _phase(trial, TOGETHER)
        assert alone is not None
        assert together is not None
        pairs.append((alone, together))
    lead = f"{part}: "
    elapsed = [(a.elapsed_s, t.metrics[f"{lead}elapsed"].value) for a, t in pairs]
    overlaps = [
        t.metrics[f"{lead}overlap"].value for _, t in pairs if f"{lead}overlap" in t.metrics
    ]
    names = [
        (name, metric.unit)
        for name, metric in pairs[0][0].metrics.items()
        if name not in _OWN
        and all(name in a.metrics and lead + name in t.metrics for a, t in pairs)
    ]
    others = [
        _change(
            name, unit, [(a.metrics[name].value, t.metrics[lead + name].value) for a, t in pairs]
        )
        for name, unit in names
    ]
    return PartInMix(
        trials[0].workload,
        treatment,
        part,
        len(trials),
        _change("elapsed", "s", elapsed),
        fmean(overlaps) if overlaps else None,
        tuple(others),
    )


def _change(metric: str, unit: str, pairs: list[tuple[float, float]]) -> Change:
    alone, together = fmean(a for a, _ in pairs), fmean(t for _, t in pairs)
    if any(a <= 0 or t <= 0 for a, t in pairs):
        return Change(metric, unit, alone, together, None, None, None)
    ratio = contrast([(1, [math.log(t / a) for a, t in pairs])])
    span = ratio.interval()
    return Change(
        metric,
        unit,
        alone,
        together,
        math.exp(ratio.estimate),
        math.exp(span[0]) if span else None,
        math.exp(span[1]) if span else None,
    )
