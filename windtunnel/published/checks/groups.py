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
from windtunnel.published.judged import Judged, Trial, judged, place, shown, spans
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

TOTALS = frozenset({"total", "sum", "overall", "all", "subtotal", "average", "mean"})
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


def _total(values: Sequence[Span]) -> Span:
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
    "sum": _total,
    "minimum": _of(min),
    "maximum": _of(max),
}
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
            if detail is summary or not _is_detail(detail, summary):
                continue
            join = _join(summary, detail)
            if join is None:
                continue
            for stated in own_numbers(summary):
                for column, statistic, name in _possible(stated, detail):
                    trials = judged(_group_trials(join, stated, column, statistic))
                    named = _says(stated, name) and trials.holds_for_some
                    if trials.accepted or named:
                        found[stated.name].append((name, column, trials, join))
        for name, readings in found.items():
            yield from _best(summary, summary.columns[name], readings)


def _is_detail(detail: Profile, summary: Profile) -> bool:
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
    if stated.has("n", "run", "sample", "count", "repetition") and not stated.dimension:
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
    if statistic in WRONG:
        return False
    return (
        statistic == "count"
        or statistic in SPREADS
        or statistic in EDGES
        or ("mean" in statistic and stated.has("mean", "avg", "average"))
        or stated.has(statistic)
    )


def _join(summary: Profile, detail: Profile) -> Join | None:
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
        try:
            yield Trial(row, own[0], statistic(values), tuple(rows))
        except NumberError:
            continue


def _best(
    summary: Profile, stated: Column, readings: Sequence[tuple[str, Column, Judged, Join]]
) -> Iterator[Point]:
    """The points of a column: rows that follow none of the accepted readings."""
    name, column, best, _ = max(readings, key=lambda r: len(r[2].fitting))
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
            means=f"the printed number is not the {what}; it is no other mean of these rows either."
            if "mean" in name
            else "the printed number does not follow from the rows that it summarises.",
            cells=(
                place(trial.row, stated.name),
                *(place(r, column.name) for r in trial.others),
            ),
        )


# --- totals in the same table ---------------------------------------------------------------


def totals(case: Case) -> Iterator[Point]:
    """Rows named total, sum or mean, against the other rows with the same labels."""
    for profile in case.profiles.values():
        for label in profile.labels:
            rows = [r for r in profile.table.rows if _is_total(r[label.name])]
            if rows and len(rows) <= 0.5 * len(profile.table.rows):
                yield from _totals(profile, label, rows)


def _is_total(text: str) -> bool:
    words = text.casefold().replace("_", " ").split()
    return bool(words) and len(words) <= 2 and not TOTALS.isdisjoint(words)


def _totals(profile: Profile, label: Column, rows: Sequence[Row]) -> Iterator[Point]:
    totals_ = {id(row) for row in rows}
    rest = [r for r in profile.table.rows if id(r) not in totals_]
    # A label that all totals have for themselves ("sum of phase means") does not group.
    keys = [
        c.name
        for c in profile.labels
        if c is not label
        and {r[c.name] for r in rows} & {r[c.name] for r in rest}
        and any(r[c.name] for r in rows)
    ]
    for column in profile.numbers:
        if column.dimension in ("ratio", "mixed"):
            continue
        readings = [
            (name, judged(_total_trials(profile, column, rows, chosen, keys, statistic)))
            for name, statistic in (("sum", _total), ("arithmetic mean", mean), *_others())
            for chosen in _choices(profile, rest)
        ]
        good = [(n, j) for n, j in readings if j.fitting]
        name, best = max(good or readings, key=lambda r: len(r[1].fitting))
        fits = {t.row.line for _, j in readings for t in j.fitting}
        failing = [t for t in best.failing if t.row.line not in fits and t.stated.value]
        if len(best.fitting) < max(1, len(failing)):
            continue
        for trial in failing:
            yield Point(
                check="summaries",
                severity="serious",
                subject=f"{column.name} = {name} of the rows: {profile.label(trial.row)}",
                stated=f"{column.name} {trial.row[column.name]}",
                stated_source=source_of(trial.row),
                found=f"{shown(trial.found.value, column, trial.row)}, the {name}",
                found_source=sources_in_words(source_of(r) for r in trial.others),
                means="the printed total is not that of the rows above it.",
                cells=(
                    place(trial.row, column.name),
                    *(place(r, column.name) for r in trial.others),
                ),
            )


def _others() -> Iterator[tuple[str, Statistic]]:
    yield from ((n, s) for n, s in MEANS.items() if n not in ("sum", "arithmetic mean"))


def _choices(profile: Profile, rest: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """All rows, or the rows of one level of a table with levels."""
    yield rest
    for column in profile.numbers:
        if column.has("level", "depth") and not column.dimension:
            for value in sorted({r[column.name] for r in rest}):
                yield [r for r in rest if r[column.name] == value]


def _total_trials(
    profile: Profile,
    column: Column,
    rows: Sequence[Row],
    rest: Sequence[Row],
    keys: Sequence[str],
    statistic: Statistic,
) -> Iterator[Trial]:
    for row in rows:
        group = [r for r in rest if all(r[k] == row[k] for k in keys)]
        own = spans(profile, row, [column])
        values = [s[0] for r in group if (s := spans(profile, r, [column]))]
        if own is not None and len(values) > 1:
            try:
                yield Trial(row, own[0], statistic(values), tuple(group))
            except NumberError:
                continue
