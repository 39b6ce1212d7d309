"""Digits that are too few to show the differences that a table is about."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.checks.listings import lists_settings
from windtunnel.published.judged import place
from windtunnel.published.profile import Profile, tokens
from windtunnel.published.table import Row

COARSE = 0.2
"""A step between printed numbers of this fraction of their size hides most effects."""
LEAST_ROWS = 4
OF_EFFECT = 1 / 3
"""A step of this fraction of the difference between two levels hides a part of the difference."""
VISIBLE = 0.03
"""A step below this fraction of the results is fine: then the difference itself is small."""
_AVERAGED = frozenset(("mean", "avg", "average", "median"))
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


NOT_RESULTS = (
    "interval", "granularity", "tdp", "line", "nic", "link", "sd", "std", "stdev", "period",
)  # fmt: skip


def coarse(case: Case) -> Iterator[Point]:
    """Columns whose last digit is a large fraction of the results, or of their differences."""
    factors = case.mapped.factors.items() if case.mapped else ()
    baselines = {f.column or name: f.baseline for name, f in factors if f.baseline is not None}
    for profile in case.profiles.values():
        if lists_settings(profile):
            continue
        for column in profile.numbers:
            if column.dimension not in ("s", "J", "W", "B/s") or column.unit_column:
                continue
            if column.has(*NOT_RESULTS):
                continue
            numbers = _numbers(profile, column.name)
            if len(numbers) < LEAST_ROWS:
                continue
            points = [] if column.in_cell else list(_coarse(column.name, numbers))
            yield from points or _hidden(profile, column.name, numbers, baselines)


def _numbers(profile: Profile, column: str) -> list[tuple[Row, str]]:
    """The numbers of a column without their units; none if the units or the kinds of cells vary."""
    rows = [r for r in profile.table.rows if r[column]]
    cells = [r[column].strip() for r in rows]
    units = {cell.lstrip("-0123456789.").strip() for cell in cells}
    numbers = [cell[: len(cell) - len(cell.lstrip("-0123456789."))] for cell in cells]
    if len(units) != 1 or not all(map(_plain, numbers)):
        return []
    return list(zip(rows, numbers, strict=True))


def _coarse(column: str, numbers: Sequence[tuple[Row, str]]) -> Iterator[Point]:
    values = [abs(float(text)) for _, text in numbers]
    step = _step([text for _, text in numbers])
    middle = statistics.median(values)
    apart = set(values)
    if len(apart) == 1 and _AVERAGED.isdisjoint(tokens(column)):
        return  # a parameter, not a result
    if step < COARSE * middle or len(apart) > max(2, 0.75 * len(values)):
        return
    yield Point(
        check="precision",
        rule=2,
        severity="caution",
        subject=f"{column} has a step of {step:g}, and its median is {middle:g}",
        stated=f"{len(apart)} different numbers in {len(values)} rows",
        stated_source=source_of(numbers[0][0]),
        found=f"rounding can change each by {100 * step / 2 / middle if middle else 100:.0f} %",
        found_source="the printed digits",
        means="smaller differences cannot be seen in these numbers: publish more digits.",
        cells=tuple(place(row, column) for row, _ in numbers),
    )


def _hidden(
    profile: Profile,
    column: str,
    numbers: Sequence[tuple[Row, str]],
    baselines: dict[str, str],
) -> Iterator[Point]:
    """A step that is large against the differences to the baseline of a factor."""
    step = _step([text for _, text in numbers])
    middle = statistics.median(abs(float(text)) for _, text in numbers)
    if step < VISIBLE * middle:
        return
    for factor, baseline in baselines.items():
        if factor not in profile.columns:
            continue
        effects = _effects(profile, numbers, factor, baseline)
        if len(effects) < LEAST_ROWS or step < OF_EFFECT * statistics.median(effects) * (1 - 1e-9):
            continue
        effect = statistics.median(effects)
        if not effect:
            continue  # most levels have the same number: no difference is hidden
        yield Point(
            check="precision",
            rule=2,
            severity="caution",
            subject=f"{column} has a step of {step:g}, and the levels of {factor} differ by "
            f"{effect:.3g}",
            stated=f"{len(effects)} differences to {baseline}",
            stated_source=source_of(numbers[0][0]),
            found=f"rounding can change each of them by up to {step:g}",
            found_source="the printed digits",
            means="the differences have a large error by rounding alone: publish more digits.",
            cells=tuple(place(row, column) for row, _ in numbers),
        )
        return


def _effects(
    profile: Profile, numbers: Sequence[tuple[Row, str]], factor: str, baseline: str
) -> list[float]:
    """The differences to the baseline in rows that agree in all other labels but dates."""
    others = [c.name for c in profile.labels if c.name != factor]
    groups: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, text in numbers:
        key = tuple("" if _DATE.match(row[name]) else row[name] for name in others)
        groups[key][row[factor]].append(float(text))
    return [
        abs(statistics.fmean(values) - statistics.fmean(levels[baseline]))
        for levels in groups.values()
        if baseline in levels
        for level, values in levels.items()
        if level != baseline
    ]


def _plain(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").replace(".", "", 1).isdigit()


def _step(cells: list[str]) -> float:
    """The last digit that any of the cells uses: 1 for 7 and 12, 10 for 10 and 120."""
    decimals = max(len(cell.partition(".")[2].rstrip("0")) for cell in cells)
    if decimals:
        return 10.0**-decimals
    whole = [cell.partition(".")[0].strip("-") for cell in cells]
    zeros = [len(w) - len(w.rstrip("0")) for w in whole if w.strip("0")]
    return 10.0 ** min(zeros, default=0)
