"""Validation of scale models: ratios of a model against those of its reference.

The error of a model is the ratio of both ratios, on the log scale: a contrast of four samples with
Welch's interval, from the trials from which the ratios are computed. The permitted error depends
on the similarity groups that are relevant for factor and phase.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.analysis.effects.cells import Key, Sample, samples
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import Effect, both_sides, effects
from windtunnel.analysis.effects.pairing import match
from windtunnel.analysis.observations import ELAPSED, TOTAL, observe
from windtunnel.analysis.statistics.summary import Contrast, contrast
from windtunnel.analysis.subjects.similarity import START_UP, start_up_shares, with_start_up
from windtunnel.results.folder import Results
from windtunnel.results.record import SimilarityGroup, StudyRecord
from windtunnel.results.similarity import LIMITS, state_of

Verdict = Literal[
    "within the limit",
    "likely within the limit",
    "likely beyond the limit",
    "beyond the limit",
    "not decided",
    "same direction",
    "other direction",
]
RULE = (
    "The permitted error of a model's ratio depends on the similarity groups that are relevant for "
    "factor and phase. It is 10 % if all match, and 30 % if the worst is near. If one is broken or "
    "unknown, only the direction must be correct. The verdict is 'within the limit' or 'beyond the "
    "limit' if this holds for the whole interval of the error, and 'likely' if it holds only for "
    "the estimate."
)
_FIXED_CPU = "fixed CPU time of tasks, fraction of their CPU time"
_DAEMONS = "CPU of daemons, fraction of their hosts"
# The rest of these fractions is what must agree, as in the similarity report.
_REST = (START_UP, _FIXED_CPU, _DAEMONS)
_ALWAYS = (
    START_UP,
    _FIXED_CPU,
    "waves of maps",
    "slots in use, mean over all waves of maps",
    "slots left by an application master",
)
_SORTING = (
    "spills per map",
    "reducer data : buffer",
    "reduce tasks of the busiest worker : mean",
)
_PLACEMENT = "replicas that the busiest host receives : mean"
_CACHES = tuple(
    f"data that the cache can hold, {when}" for when in ("tasks running", "between jobs")
)
_SINGLE = "CPU of a single task, fraction of its host"
_CPU = ("disk : CPU", "network : CPU", "slots per core", _SINGLE, _DAEMONS)
# The part of a description that a factor changes -> the groups that are relevant for it.
BEARING: dict[str, tuple[str, ...]] = {
    "nics": ("disk : network", "network : CPU", "oversubscription", "(N-1)/N", "replication"),
    "disks": ("disk : network", "disk : CPU", "streams per disk", "replication", *_CACHES),
    "cpu": _CPU,
    "count": ("(N-1)/N", "replication", "disk : network", *_CPU),
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """A ratio of the reference, the same ratio of a model, and the model's error (their ratio).

    The intervals have 95 % confidence and are None if a side has one trial. ``within`` is the
    permitted error as a fraction, None if only the direction must be correct.
    """

    model: str
    workload: str
    phase: str
    factor: str
    level: str
    reference: float
    reference_interval: tuple[float, float] | None
    ratio: float
    interval: tuple[float, float] | None
    error: float
    error_interval: tuple[float, float] | None
    within: float | None
    groups: tuple[SimilarityGroup, ...]
    n: int
    verdict: Verdict

    @property
    def finding(self) -> bool:
        """Whether the error is larger than permitted although all groups match."""
        return self.verdict == "beyond the limit" and self.within == LIMITS["match"]


def predictions(reference: Results, models: Mapping[str, Results]) -> list[Prediction]:
    """Compare each model with the reference, by model, factor, level, workload and phase."""
    base = samples(observe(reference.trials))
    truth = {_place(e): e for e in _elapsed(reference.study, base)}
    found = []
    for name, results in models.items():
        table = samples(observe(results.trials))
        full, study = _as_measured(reference, results), _as_measured(results, reference)
        for effect in _elapsed(results.study, table):
            known = truth.get(_place(effect))
            if known is not None:
                logs = (_logs(results.study, table, effect), _logs(reference.study, base, known))
                found.append(_prediction(name, full, study, known, effect, logs))
    return found


def _as_measured(results: Results, other: Results) -> StudyRecord:
    """The study with the measured start-up of the workloads that ``other`` has measured, too."""
    study = results.study
    if study.scale is None:
        return study
    both = {name for name, _ in start_up_shares(other.study, other.trials)}
    shares = start_up_shares(study, results.trials)
    known = {place: share for place, share in shares.items() if place[0] in both}
    return study.model_copy(update={"scale": with_start_up(study.scale, known)})


def bearing(
    reference: StudyRecord, study: StudyRecord, effect: Effect
) -> tuple[SimilarityGroup, ...]:
    """The groups that bear on a factor and a phase; ``full`` is the value in the reference."""
    at = next(t for t in study.treatments if t.levels.get(effect.factor) == effect.level)
    wanted = {**at.levels, effect.factor: effect.baseline}
    base_at = next((t.overrides for t in study.treatments if t.levels == wanted), {})
    changed = {
        path
        for path in at.overrides.keys() | base_at.keys()
        if at.overrides.get(path) != base_at.get(path)
    }
    parts = {part for path in changed if (part := _part(path)) is not None}
    names = {*_ALWAYS, *(name for part in parts for name in BEARING[part])}
    names |= {_PLACEMENT} if effect.phase == "teragen" else {*_SORTING}
    known = {(g.name, g.workload, g.treatment): g for g in _groups(reference)}
    own = {(g.name, g.workload) for g in _groups(study) if g.treatment == at.id}
    found = []
    for group in _groups(study):
        ours = group.workload in (None, effect.workload) and group.treatment in (None, at.id)
        if group.name in names and ours:
            base = known.get((group.name, group.workload, None))
            level = known.get((group.name, group.workload, at.id), base)
            # a group without a treatment is that of the level, too, if the level has none
            both = group.treatment is None and (group.name, group.workload) in own
            found.append(_against(base if both else level, group))
    return tuple(found)


def _part(path: str) -> str | None:
    """The part of a description that a path changes: ``count`` of ``hosts.worker.count``."""
    below = path.split(".")[2:] if path.startswith("hosts.") else []
    return below[0] if below and below[0] in BEARING else None


def _groups(study: StudyRecord) -> Sequence[SimilarityGroup]:
    return study.scale.groups if study.scale else ()


def _against(base: SimilarityGroup | None, group: SimilarityGroup) -> SimilarityGroup:
    """The group with the value of the reference at ``full``, and its state against that value."""
    full, model = None if base is None else base.model, group.model
    if group.name in _REST and full is not None and model is not None:
        state = state_of(1 - full, 1 - model)
    else:
        state = state_of(full, model)
    return group.model_copy(update={"full": full, "state": state, "says": ""})


def permitted_error(groups: Sequence[SimilarityGroup]) -> float | None:
    """The permitted error as a fraction; None if only the direction must be correct."""
    if not groups or any(group.state not in LIMITS for group in groups):
        return None
    return max(LIMITS[group.state] for group in groups)


def judge(error: float, interval: tuple[float, float] | None, within: float) -> Verdict:
    """Whether the error is within the limit; without an interval, nothing is decided."""
    if interval is None:
        return "not decided"
    low, high = 1 - within, 1 + within
    if low <= error <= high:
        inside = low <= interval[0] and interval[1] <= high
        return "within the limit" if inside else "likely within the limit"
    touches = interval[0] <= high and interval[1] >= low
    return "likely beyond the limit" if touches else "beyond the limit"


def _prediction(
    name: str,
    base_study: StudyRecord,
    study: StudyRecord,
    known: Effect,
    effect: Effect,
    logs: tuple[Logs, Logs],
) -> Prediction:
    found = contrast([*logs[0], *((-weight, values) for weight, values in logs[1])])
    error, span = math.exp(found.estimate), _span(found)
    groups = bearing(base_study, study, effect)
    within = permitted_error(groups)
    verdict = _direction(known, effect) if within is None else judge(error, span, within)
    return Prediction(
        model=name,
        workload=effect.workload,
        phase=effect.phase,
        factor=effect.factor,
        level=effect.level,
        reference=1 + (known.relative or 0.0),
        reference_interval=_bounds(known),
        ratio=1 + (effect.relative or 0.0),
        interval=_bounds(effect),
        error=error,
        error_interval=span,
        within=within,
        groups=groups,
        n=min(effect.n, effect.n_baseline, known.n, known.n_baseline),
        verdict=verdict,
    )


def _direction(known: Effect, effect: Effect) -> Verdict:
    if not known.clear_alone or not effect.clear_alone:
        return "not decided"
    same = ((known.relative or 0.0) > 0) == ((effect.relative or 0.0) > 0)
    return "same direction" if same else "other direction"


def _elapsed(study: StudyRecord, table: Mapping[Key, Sample]) -> list[Effect]:
    rows = effects(study, {k: v for k, v in table.items() if k[3] == ELAPSED and k[2] != TOTAL})
    return [row for row in rows if row.relative is not None]


def _place(e: Effect) -> tuple[str, ...]:
    return e.factor, e.level, e.baseline, e.workload, e.phase


Logs = list[tuple[float, list[float]]]
"""Weights and logarithms of elapsed times: the terms of the logarithm of a mean ratio."""


def _logs(study: StudyRecord, table: Mapping[Key, Sample], e: Effect) -> Logs:
    """The terms of the ratio of a level and its baseline, from the trials that the effect uses."""
    matching = match(study.treatments, e.factor, e.level, e.baseline)
    pairs, _ = compared(both_sides(table, matching, e.workload, e.phase, ELAPSED))
    return [
        (sign / len(pairs), [math.log(value) for value in values])
        for pair in pairs
        for sign, values in zip((1, -1), pair, strict=True)
    ]


def _span(found: Contrast) -> tuple[float, float] | None:
    bounds = found.interval()
    return None if bounds is None else (_exp(bounds[0]), _exp(bounds[1]))


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0))  # two trials: an interval can exceed the range of a float


def _bounds(e: Effect) -> tuple[float, float] | None:
    return None if e.ci_low is None or e.ci_high is None else (1 + e.ci_low, 1 + e.ci_high)
