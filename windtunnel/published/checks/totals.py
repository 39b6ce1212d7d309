"""Rows that are the total or the mean of the other rows of their table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.groups import MEANS, Statistic, total
from windtunnel.published.judged import Judged, Trial, judged, place, shown, spans
from windtunnel.published.numbers import NumberError, Span, mean
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

TOTALS = frozenset({"total", "sum", "overall", "all", "subtotal", "average", "mean"})
COUNTED = (
    "node", "host", "server", "machine", "quantity", "qty", "count", "number", "disk", "core",
    "task", "file", "vm", "unit", "piece",
)  # fmt: skip
"""Names of whole numbers that are not rounded."""
NOT_ADDED = ("each", "per", "rate", "mean", "average", "avg", "median", "price", "list")
"""Names of numbers whose sum means nothing."""
APART = 3.0
"""A number that differs from the sum by more than this factor is something else."""


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
    columns = [c for c in profile.numbers if c.dimension not in ("ratio", "mixed")]
    sums = {c.name: judged(_trials(profile, c, rows, rest, keys, total)) for c in columns}
    for column in columns:
        readings = [
            (name, judged(_trials(profile, column, rows, chosen, keys, statistic)))
            for name, statistic in (("sum", total), ("arithmetic mean", mean), *_others())
            for chosen in _choices(profile, rest)
        ]
        good = [(n, j) for n, j in readings if j.fitting]
        name, best = max(good or readings, key=lambda r: len(r[1].fitting))
        fits = {t.row.line for _, j in readings for t in j.fitting}
        failing = [t for t in best.failing if t.row.line not in fits and t.stated.value]
        if len(best.fitting) < max(1, len(failing)):
            name, failing = "sum", [
                t
                for t in sums[column.name].failing
                if t.row.line not in fits and _is_sum(column, t) and _confirmed(t, column, sums)
            ]  # fmt: skip
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


def _is_sum(column: Column, trial: Trial) -> bool:
    """Whether a number of a row named "total" must be a sum."""
    stated, found = trial.stated.value, trial.found.value
    same = any(row[column.name] == trial.row[column.name] for row in trial.others)
    near = stated > 0 and found > 0 and max(stated, found) <= APART * min(stated, found)
    return near and not same and not column.has(*NOT_ADDED)


def _confirmed(trial: Trial, column: Column, sums: Mapping[str, Judged]) -> bool:
    """Whether another column of the same row is the sum of the same rows, digit by digit."""
    return any(
        t.row is trial.row and (t.informative or t.stated.value == t.found.value)
        for name, found in sums.items()
        if name != column.name
        for t in found.fitting
        if t.stated.value
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


def _trials(
    profile: Profile,
    column: Column,
    rows: Sequence[Row],
    rest: Sequence[Row],
    keys: Sequence[str],
    statistic: Statistic,
) -> Iterator[Trial]:
    whole = not column.dimension and column.decimals == 0 and column.has(*COUNTED)
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for one in rest:
        groups[tuple(one[k] for k in keys)].append(one)
    for row in rows:
        group = groups.get(tuple(row[k] for k in keys), [])
        own = spans(profile, row, [column])
        values = [s[0] for r in group if (s := spans(profile, r, [column]))]
        if own is not None and len(values) > 1:
            stated = own[0]
            if whole:
                stated, values = Span.exact(stated.value), [Span.exact(v.value) for v in values]
            try:
                yield Trial(row, stated, statistic(values), tuple(group))
            except NumberError:
                continue
