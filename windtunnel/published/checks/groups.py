"""Numbers that summarise other rows: means, totals, spreads, intervals, counts, ratios."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import norm
from scipy.stats import t as student

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.judged import LEAST, Judged, Trial, judged, place, shown, spans
from windtunnel.published.numbers import (
    NumberError,
    Span,
    geometric_mean,
    harmonic_mean,
    mean,
    median,
)
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

LEVEL = 0.975
MOST_ROWS = 1000
SAME = 0.8
"""Fraction of the values of a column that another column must contain to be the same label."""

Statistic = Callable[[Sequence[Span]], Span]


def _of(function: Callable[[Sequence[float]], float], reach: float = 1.0) -> Statistic:
    """A statistic of the values; its tolerance is ``reach`` times that of one value."""

    def apply(values: Sequence[Span]) -> Span:
        found = function([v.value for v in values])
        slack = reach * max(v.high - v.value for v in values)
        return Span(found, found - slack, found + slack)

    return apply


def total(values: Sequence[Span]) -> Span:
    """The sum, as a statistic."""
    return Span(*(math.fsum(getattr(v, f) for v in values) for f in ("value", "low", "high")))


def _spread(values: Sequence[float], by: int) -> float:
    middle = statistics.fmean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / max(len(values) - by, 1))


def _edge(sign: int, normal: bool = False) -> Statistic:
    def apply(values: Sequence[float]) -> float:
        n = len(values)
        if n < 2:
            raise NumberError("an interval requires two values")
        quantile = float(norm.ppf(LEVEL) if normal else student.ppf(LEVEL, n - 1))
        return statistics.fmean(values) * (sign != 0) + (sign or 1) * quantile * _spread(
            values, 1
        ) / math.sqrt(n)

    # An end moves with the mean and, in the worst case, with the spread of two or three runs.
    return _of(apply, 3.0)


MEANS: Mapping[str, Statistic] = {
    "arithmetic mean": mean,
    "median": median,
    "geometric mean": geometric_mean,
    "harmonic mean": harmonic_mean,
    "sum": total,
    "minimum": _of(min),
    "maximum": _of(max),
}
COUNTS = ("n", "run", "sample", "count", "repetition")
"""Names of numbers of runs, which are exact."""
AVERAGES = ("arithmetic mean", "geometric mean", "harmonic mean", "median")
SPREADS: Mapping[str, Statistic] = {
    "standard deviation (n - 1)": _of(lambda v: _spread(v, 1)),
    "standard deviation divided by n": _of(lambda v: _spread(v, 0)),
}
EDGES: Mapping[str, Statistic] = {
    "lower end of the 95 % interval": _edge(-1),
    "upper end of the 95 % interval": _edge(1),
    "half of the 95 % interval": _edge(0),
    "lower end with 1.96 instead of Student's t": _edge(-1, normal=True),
    "upper end with 1.96 instead of Student's t": _edge(1, normal=True),
    "half of the interval with 1.96 instead of Student's t": _edge(0, normal=True),
}
WRONG = {
    "standard deviation divided by n": "divide by n - 1: the true spread is larger.",
    "lower end with 1.96 instead of Student's t": "with few runs the interval is too narrow.",
    "upper end with 1.96 instead of Student's t": "with few runs the interval is too narrow.",
    "half of the interval with 1.96 instead of Student's t": "with few runs the interval is too "
    "narrow.",
}


@dataclass(frozen=True)
class Join:
    """Rows of a table grouped for each row of another table."""

    summary: Profile
    detail: Profile
    groups: Sequence[tuple[Row, Sequence[Row]]]


def aggregates(case: Case) -> Iterator[Point]:
    """Printed means, sums, spreads, intervals and counts against the rows of another table."""
    for summary in case.profiles.values():
        found: dict[str, list[tuple[str, Column, Judged, Join]]] = defaultdict(list)
        for detail in case.profiles.values():
            if detail is summary or not is_detail(detail, summary):
                continue
            joined = join(summary, detail)
            if joined is None:
                continue
            for stated in own_numbers(summary):
                for column, statistic, name in _possible(stated, detail):
                    trials = judged(_group_trials(joined, stated, column, statistic))
                    named = _says(stated, name) and trials.holds_for_some
                    if trials.accepted or named or _only_wrong_fits(stated, name, trials):
                        found[stated.name].append((name, column, trials, joined))
        for name, readings in found.items():
            yield from _best(summary, summary.columns[name], readings)


def is_detail(detail: Profile, summary: Profile) -> bool:
    """Whether a table can hold the rows behind a summary; long series are integrated elsewhere."""
    return len(summary.table.rows) / 2 < len(detail.table.rows) <= MOST_ROWS


def own_numbers(profile: Profile) -> Iterator[Column]:
    """The numbers, without those that were converted from a printed number in a larger unit."""
    for column in profile.numbers:
        larger = [
            c
            for c in profile.numbers
            if c.dimension == column.dimension and c.factor > column.factor
        ]
        if not any(judged(_converted(profile, column, other)).accepted for other in larger):
            yield column


def _converted(profile: Profile, column: Column, other: Column) -> Iterator[Trial]:
    for row in profile.table.rows:
        if numbers := spans(profile, row, [column, other]):
            yield Trial(row, numbers[0], numbers[1])


def _possible(stated: Column, detail: Profile) -> Iterator[tuple[Column, Statistic, str]]:
    """The columns of the same dimension, and the statistics that a column of this name can be."""
    if stated.has(*COUNTS) and not stated.dimension:
        for column in detail.numbers[:1]:
            yield column, lambda v: Span.exact(len(v)), "count"
        return
    if not stated.dimension or stated.dimension in ("mixed", "ratio"):
        return
    statistics_: Mapping[str, Statistic] = MEANS
    if stated.has("sd", "std", "stdev", "stddev", "deviation"):
        statistics_ = SPREADS
    elif stated.has("ci", "ci95", "interval", "lower", "upper", "margin", "half"):
        statistics_ = EDGES
    for column in detail.numbers:
        if column.dimension == stated.dimension:
            for name, statistic in statistics_.items():
                yield column, statistic, name


def _says(stated: Column, statistic: str) -> bool:
    """Whether the name of a column states which statistic it is."""
    return statistic not in WRONG and _named(stated, statistic) > 0


def _named(stated: Column, statistic: str) -> int:
    """How exactly the name of a column states a statistic: 2 with its kind, 1 for "mean" alone."""
    if statistic == "count" or statistic in SPREADS or statistic in EDGES:
        return 1
    if "mean" not in statistic:
        return 2 * stated.has(statistic)
    if not stated.has("mean", "avg", "average"):
        return 0
    kind = next((k for k in ("geometric", "harmonic", "arithmetic") if stated.has(k)), None)
    if kind is not None:
        return 2 * (kind in statistic)
    return 1


def _only_wrong_fits(stated: Column, statistic: str, trials: Judged) -> bool:
    """Whether all rows follow a wrong statistic: coarse digits do not matter then."""
    values = {t.stated.value for t in trials.fitting}
    return statistic in WRONG and not trials.failing and len(values) >= LEAST


def join(summary: Profile, detail: Profile) -> Join | None:
    """Match the rows by labels with equal values; None without such labels or groups."""
    pairs: list[tuple[str, str]] = []
    for label in summary.labels:
        own = {row[label.name] for row in summary.table.rows if row[label.name]}
        best = max(
            detail.labels,
            key=lambda c: (_overlap(own, detail, c), c.name == label.name),
            default=None,
        )
        if best is not None and _overlap(own, detail, best) >= (
            0.5 if best.name == label.name else SAME
        ):
            pairs.append((label.name, best.name))
    if not pairs:
        return None
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in detail.table.rows:
        groups[tuple(row[theirs] for _, theirs in pairs)].append(row)
    matched = [
        (row, rows)
        for row in summary.table.rows
        if (rows := groups.get(tuple(row[ours] for ours, _ in pairs)))
    ]
    if len(matched) < 2 or max(len(rows) for _, rows in matched) < 2:
        return None
    return Join(summary, detail, matched)


def _overlap(own: set[str], detail: Profile, column: Column) -> float:
    theirs = {row[column.name] for row in detail.table.rows}
    return len(own & theirs) / len(own) if len(own) > 1 or own & theirs else 0.0


def _group_trials(
    join: Join, stated: Column, column: Column, statistic: Statistic
) -> Iterator[Trial]:
    for row, rows in join.groups:
        own = spans(join.summary, row, [stated])
        values = [s[0] for r in rows if (s := spans(join.detail, r, [column]))]
        if own is None or not values:
            continue
        exact = stated.has(*COUNTS) and not stated.dimension
        printed = Span.exact(own[0].value) if exact else own[0]
        try:
            yield Trial(row, printed, statistic(values), tuple(rows))
        except NumberError:
            continue


def _best(
    summary: Profile, stated: Column, readings: Sequence[tuple[str, Column, Judged, Join]]
) -> Iterator[Point]:
    """The points of a column: rows that follow none of the accepted readings."""
    right = [r for r in readings if r[0] not in WRONG]
    if any(len(r[2].fitting) >= len(r[2].failing) for r in right):
        readings = right  # With coarse digits, a few rows fit both.
    name, column, best, joined = max(
        readings, key=lambda r: (len(r[2].fitting), _named(stated, r[0]))
    )
    if name in WRONG:
        first = best.fitting[0]
        yield Point(
            check="summaries",
            rule=2,
            severity="caution",
            subject=f"{stated.name} is the {name}, all rows",
            stated=f"{stated.name} {first.row[stated.name]}",
            stated_source=source_of(first.row),
            found=f"the {name} of {column.name}",
            found_source=sources_in_words(source_of(r) for r in first.others),
            means=WRONG[name],
            cells=tuple(place(t.row, stated.name) for t in best.fitting),
        )
    fits = {t.row.line for _, _, reading, _ in readings for t in reading.fitting}
    for trial in best.failing:
        if trial.row.line in fits:
            continue
        found = shown(trial.found.value, stated) if name != "count" else f"{trial.found.value:g}"
        what = "number of rows" if name == "count" else f"{name} of {column.name}"
        yield Point(
            check="summaries",
            severity="serious",
            subject=f"{stated.name} = {what}: {summary.label(trial.row)}",
            stated=f"{stated.name} {trial.row[stated.name]}",
            stated_source=source_of(trial.row),
            found=f"{found}, the {what}",
            found_source=sources_in_words(source_of(r) for r in trial.others),
            means=_meaning(name, column, trial, joined.detail),
            cells=(
                place(trial.row, stated.name),
                *(place(r, column.name) for r in trial.others),
            ),
        )


def _meaning(name: str, column: Column, trial: Trial, detail: Profile) -> str:
    """What the stated number is instead, as far as other statistics of the rows show it."""
    follows = "the printed number does not follow from the rows that it summarises."
    if name not in AVERAGES:
        return follows
    numbers = [(r, s[0]) for r in trial.others if (s := spans(detail, r, [column]))]
    values = [span for _, span in numbers]
    for other in AVERAGES:
        if other != name and _gives(other, values, trial):
            return f"the printed number is the {other}, not the {name}."
    kept = []
    for at, (row, _) in enumerate(numbers):
        if len(values) > 2 and _gives(name, values[:at] + values[at + 1 :], trial):
            kept.append(row)
    if len(kept) == 1:
        value = kept[0][column.name]
        where = source_of(kept[0]).partition(" (")[0]
        return f"the printed number is the {name} without one row: {column.name} {value} ({where})."
    return (
        "the printed number is not the arithmetic, geometric or harmonic mean, nor the median, of "
        f"these {len(values)} rows."
    )


def _gives(name: str, values: Sequence[Span], trial: Trial) -> bool:
    try:
        return Trial(trial.row, trial.stated, MEANS[name](values)).fits
    except NumberError:
        return False
