"""Observed jobs over time: a drift, a step on a date, and settings that are associated with it.

Nobody planned these runs, so each result is an association. A step is found by Pettitt's test, a
drift by Kendall's tau and Theil's slope of the logarithm of the time; p values are corrected by
Holm's method over all kinds of jobs. The ratio of two groups has Welch's interval on logarithms.

References
----------
.. [1] Pettitt, A. N. (1979). A non-parametric approach to the change-point problem.
   Applied Statistics 28(2), 126-135.
.. [2] Theil, H. (1950); Sen, P. K. (1968). Estimates of the regression coefficient based on
   Kendall's tau. J. American Statistical Association 63, 1379-1389.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from windtunnel.analysis.observations import total_elapsed
from windtunnel.analysis.statistics.correction import holm
from windtunnel.analysis.subjects.observed_metrics import INPUT_BYTES
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

OBSERVED: Literal["observed"] = "observed"
SETTINGS = "settings"
LEAST_RUNS = 8
"""Fewer runs of a kind of job are not analysed over time."""
_LEAST_GROUP = 3
_SIGNIFICANT = 0.05
_CONSISTENT = 0.8


@dataclass(frozen=True)
class SettingChange:
    """A setting whose usual value differs before and after a date; None: it is not set."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Change:
    """A drift or a step of a kind of job.

    ``ratio`` is the time after the step relative to before, or the change per 30 days of a drift;
    ``low`` .. ``high`` is its interval of 95 %. ``at`` is the start of the first run after the
    step. ``input_ratio`` is that of the medians of the bytes read; None if unknown. ``p`` is
    corrected for the number of kinds of jobs. ``settings_known`` is whether at least one run on
    each side of the step has known settings.
    """

    workload: str
    kind: str
    runs: int
    ratio: float
    low: float
    high: float
    p: float
    at: float | None = None
    settings: tuple[SettingChange, ...] = ()
    input_ratio: float | None = None
    settings_known: bool = True


@dataclass(frozen=True)
class Association:
    """Two values of a setting and the ratio of the times of the runs that had them.

    ``ratio`` is geometric, of ``value`` relative to ``reference`` (the more frequent one).
    """

    workload: str
    setting: str
    reference: str | None
    value: str | None
    runs_reference: int
    runs: int
    ratio: float
    low: float
    high: float
    p: float
    input_ratio: float | None = None


@dataclass(frozen=True)
class Run:
    """One run of a kind of job."""

    trial: Trial
    at: float
    log_s: float
    settings: Mapping[str, str]
    input_bytes: float | None


def runs_by_workload(results: Results) -> dict[str, list[Run]]:
    """The successful runs of each kind of job, in order of their start."""
    found: dict[str, list[Run]] = {}
    known: dict[str | None, Mapping[str, str]] = {}
    for trial in results.trials:
        elapsed = total_elapsed(trial)
        if not trial.verdict.valid or not elapsed:
            continue
        if trial.provenance not in known:
            settings = results.known_provenance(trial).get(SETTINGS)
            known[trial.provenance] = settings if isinstance(settings, dict) else {}
        size = trial.metrics.get(INPUT_BYTES.name)
        found.setdefault(trial.workload, []).append(
            Run(
                trial,
                trial.started_at,
                math.log(elapsed),
                known[trial.provenance],
                None if size is None else size.value,
            )
        )
    for runs in found.values():
        runs.sort(key=lambda run: run.at)
    return found


def changes(results: Results) -> list[Change]:
    """Steps and drifts that are significant, the largest first.

    Each test also rejects under the other kind of change. If both are significant, the one that is
    nearer to the times is reported.
    """
    tested = [
        (runs, (_step(name, runs), _drift(name, runs)))
        for name, runs in runs_by_workload(results).items()
        if len(runs) >= LEAST_RUNS
    ]
    adjusted = iter(holm([one.p for _, pair in tested for one in pair if one is not None]))
    found = []
    for runs, pair in tested:
        kept = [replace(one, p=next(adjusted)) for one in pair if one is not None]
        significant = [one for one in kept if one.p < _SIGNIFICANT]
        if len(significant) == 2 and _steady(runs, significant[0].at):
            significant.reverse()
        found += significant[:1]
    return sorted(found, key=lambda one: -abs(math.log(one.ratio)))


def _steady(runs: Sequence[Run], step_at: float | None) -> bool:
    """Whether a line over time is nearer to the times than a mean before and one after a step."""
    import numpy as np

    at, values = np.array([run.at for run in runs]), np.array([run.log_s for run in runs])
    line = np.polynomial.Polynomial.fit(at, values, 1)(at)
    after = at >= (step_at or 0.0)
    means = np.where(after, values[after].mean(), values[~after].mean())
    return bool(((values - line) ** 2).sum() < ((values - means) ** 2).sum())


def _step(name: str, runs: Sequence[Run]) -> Change | None:
    """The most likely step, by Pettitt's test; None if a side has too few runs."""
    import numpy as np
    from scipy.stats import rankdata

    values = np.array([run.log_s for run in runs])
    count = len(values)
    ranks = rankdata(values)
    # U(t) = 2 * (sum of the first t ranks) - t * (n + 1)
    places = np.arange(1, count)
    statistic = np.abs(2 * np.cumsum(ranks)[:-1] - places * (count + 1))
    allowed = (places >= _LEAST_GROUP) & (count - places >= _LEAST_GROUP)
    if not allowed.any():
        return None
    place = int(places[allowed][np.argmax(statistic[allowed])])
    top = float(statistic[allowed].max())
    p = min(1.0, 2 * math.exp(-6 * top**2 / (count**3 + count**2)))
    before, after = runs[:place], runs[place:]
    ratio, low, high, _ = _compared(before, after)
    known = [[run for run in side if run.settings] for side in (before, after)]
    return Change(
        name,
        "step",
        count,
        ratio,
        low,
        high,
        p,
        at=after[0].at,
        settings=tuple(_changed(*known)) if all(known) else (),
        input_ratio=_input_ratio(before, after),
        settings_known=all(known),
    )


def _drift(name: str, runs: Sequence[Run]) -> Change | None:
    """A steady change over time; None if all runs started at the same time."""
    from scipy.stats import kendalltau, theilslopes

    days = [(run.at - runs[0].at) / 86_400 for run in runs]
    if days[-1] <= 0:
        return None
    values = [run.log_s for run in runs]
    p = float(kendalltau(days, values).pvalue)
    if math.isnan(p):
        return None
    slope, _, low, high = theilslopes(values, days)
    # never beyond the time that was observed
    span = min(30.0, days[-1])
    half = len(runs) // 2
    ratio, least, most = (math.exp(max(-20.0, min(20.0, x * span))) for x in (slope, low, high))
    return Change(
        name,
        f"drift over {span:.3g} days",
        len(runs),
        ratio,
        least,
        most,
        p,
        input_ratio=_input_ratio(runs[:half], runs[half:]),
    )


def _compared(a: Sequence[Run], b: Sequence[Run]) -> tuple[float, float, float, float]:
    """Geometric ratio of b to a, its interval of 95 %, and p of the rank test."""
    import warnings

    from scipy.stats import mannwhitneyu, ttest_ind

    x, y = [run.log_s for run in a], [run.log_s for run in b]
    ratio = statistics.fmean(y) - statistics.fmean(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal values: the interval is a point
        interval = ttest_ind(y, x, equal_var=False).confidence_interval(0.95)
        p = float(mannwhitneyu(x, y).pvalue)
    low, high = float(interval.low), float(interval.high)
    if math.isnan(low) or math.isnan(high):
        low = high = ratio
    return math.exp(ratio), math.exp(low), math.exp(high), p


def _changed(before: Sequence[Run], after: Sequence[Run]) -> Iterator[SettingChange]:
    """Settings with one usual value on each side, which differ."""
    names = {name for run in (*before, *after) for name in run.settings}
    for name in sorted(names):
        usual = [_usual(side, name) for side in (before, after)]
        if usual[0] is not None and usual[1] is not None and usual[0] != usual[1]:
            yield SettingChange(name, usual[0][0], usual[1][0])


def _usual(runs: Sequence[Run], name: str) -> tuple[str | None] | None:
    value, count = Counter(run.settings.get(name) for run in runs).most_common(1)[0]
    return (value,) if count >= _CONSISTENT * len(runs) else None


def _input_ratio(a: Sequence[Run], b: Sequence[Run]) -> float | None:
    sizes = [[run.input_bytes for run in side if run.input_bytes] for side in (a, b)]
    if not sizes[0] or not sizes[1]:
        return None
    return statistics.median(sizes[1]) / statistics.median(sizes[0])


def associations(results: Results) -> list[Association]:
    """Settings whose values are associated with different times in runs of one kind of job.

    The two most frequent values of each setting are compared, with at least three runs each. Runs
    without known settings are excluded; in the others, a setting can be unset.
    Settings that always change together are one row. Significant ones only, the largest first.
    """
    found: list[Association] = []
    for workload, every in runs_by_workload(results).items():
        runs = [run for run in every if run.settings]
        seen: dict[frozenset[str], int] = {}
        for name in sorted({name for run in runs for name in run.settings}):
            made = _association(workload, name, runs)
            if made is None:
                continue
            side = frozenset(r.trial.id for r in runs if r.settings.get(name) == made.value)
            if side in seen:
                known = found[seen[side]]
                found[seen[side]] = _joined(known, name)
                continue
            seen[side] = len(found)
            found.append(made)
    adjusted = holm([one.p for one in found])
    kept = [replace(one, p=p) for one, p in zip(found, adjusted, strict=True) if p < _SIGNIFICANT]
    return sorted(kept, key=lambda one: -abs(math.log(one.ratio)))


def _joined(known: Association, name: str) -> Association:
    names = known.setting.split(", ")
    return replace(known, setting=", ".join([*names, name])) if len(names) < 4 else known


def _association(workload: str, name: str, runs: Sequence[Run]) -> Association | None:
    counts = Counter(run.settings.get(name) for run in runs).most_common(2)
    if len(counts) < 2 or counts[1][1] < _LEAST_GROUP:
        return None
    (reference, many), (value, few) = counts
    a = [run for run in runs if run.settings.get(name) == reference]
    b = [run for run in runs if run.settings.get(name) == value]
    ratio, low, high, p = _compared(a, b)
    return Association(
        workload, name, reference, value, many, few, ratio, low, high, p, _input_ratio(a, b)
    )


def proposed_study(
    steps: Sequence[Change], found: Sequence[Association], cluster: str | None
) -> str | None:
    """A study file that measures the effect of the setting with the largest association.

    None if no setting is associated with the time.
    """
    candidates = [
        (one.workload, change.name, change.before, change.after)
        for one in steps
        for change in one.settings
    ]
    candidates += [
        (one.workload, one.setting.split(", ")[0], one.reference, one.value) for one in found
    ]
    usable = [one for one in candidates if one[1].startswith(_JOB_SETTINGS)]
    if not usable:
        return None
    workload, name, before, after = usable[0]
    return _STUDY.format(
        workload=json.dumps(workload),
        setting=name,
        cluster=cluster or "local-3",
        before=_level("before", name, before),
        after=_level("after", name, after),
    )


def _level(label: str, name: str, value: str | None) -> str:
    if value is None:
        return f"    {label}: {{}}"
    return f"    {label}: {{settings.{name}: {json.dumps(value)}}}"


_JOB_SETTINGS = ("mapreduce.", "yarn.app.mapreduce.", "dfs.", "io.")
_STUDY = """\
# Measures the effect of a setting that is associated with the time of {workload}.
# The history shows an association only. TeraSort replaces the job: use a workload like the job,
# with data of its size, and a cluster description like its cluster ('windtunnel inspect').
study: proposed
question: Does {setting} change the elapsed time?

cluster: {cluster}
testbed: local

workloads:
  terasort: {{size: 20 MB, input_replication: 1, output_replication: 1}}

factors:
  setting:
{before}
{after}

baseline: {{setting: before}}

design: ab

protocol: {{rounds: 5, seed: 1, trial_time_limit: 5 min}}
"""
