"""Ratios to a baseline, and intervals from the numbers of their row."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from scipy.stats import t as student

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.groups import AVERAGES, LEVEL, MEANS, is_detail, join
from windtunnel.published.judged import Judged, Trial, judged, place, shown, spans
from windtunnel.published.numbers import NumberError, Span
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

# --- ratios to a baseline -------------------------------------------------------------------

RATIOS: Mapping[str, Callable[[Span, Span], Span]] = {
    "{x} / baseline": lambda x, base: x / base,
    "baseline / {x}": lambda x, base: base / x,
    "{x} / baseline - 1": lambda x, base: x / base - Span.exact(1),
    "1 - {x} / baseline": lambda x, base: Span.exact(1) - x / base,
    "baseline / {x} - 1": lambda x, base: base / x - Span.exact(1),
}


RESULTS = ("throughput", "rate", "score", "op", "per")
"""Names of results whose unit is not known."""


def baselines(case: Case) -> Iterator[Point]:
    """Percentages and speed-ups against the row of the same group that is the baseline."""
    declared = {
        f.column or name: f.baseline
        for name, f in (case.mapped.factors if case.mapped else {}).items()
        if f.baseline is not None
    }
    for profile in case.profiles.values():
        ratios = [c for c in profile.numbers if c.dimension == "ratio"]
        measured = [c for c in profile.numbers if c.dimension not in ("ratio", "mixed", "")]
        measured += [c for c in profile.numbers if not c.dimension and c.has(*RESULTS)]
        if len(profile.table.rows) > 500:
            continue
        bases: list[tuple[str, str] | None] = [
            i for i in declared.items() if i[0] in profile.columns
        ]
        bases = bases or [None]
        for ratio in ratios:
            best: tuple[str, Column, Judged] | None = None
            for x in measured:
                for keys in _keys(profile):
                    for text, formula in RATIOS.items():
                        for base in bases:
                            if base and base[0] in keys:
                                continue
                            found = judged(_ratio_trials(profile, ratio, x, keys, formula, base))
                            if not _believable(ratio, x, text, found, base is not None):
                                continue
                            if best is None or len(found.fitting) > len(best[2].fitting):
                                best = text, x, found
            if best is None:
                continue
            formula, text = RATIOS[best[0]], best[0].format(x=best[1].name)
            for trial in best[2].failing:
                if _other_mean(case, profile, best[1], trial, formula):
                    continue
                yield Point(
                    check="summaries",
                    severity="serious",
                    subject=f"{ratio.name} = {text}: {profile.label(trial.row)}",
                    stated=f"{ratio.name} {trial.row[ratio.name]}",
                    stated_source=source_of(trial.row),
                    found=f"{shown(trial.found.value, ratio)} = {text}",
                    found_source=sources_in_words(source_of(r) for r in trial.others),
                    means="the printed ratio does not follow from the printed results.",
                    cells=(
                        place(trial.row, ratio.name),
                        *(place(r, best[1].name) for r in (trial.row, *trial.others)),
                    ),
                )


def _other_mean(
    case: Case,
    profile: Profile,
    x: Column,
    trial: Trial,
    formula: Callable[[Span, Span], Span],
) -> bool:
    """Whether the ratio is that of other means of the runs than those of the column.

    A table can print the median of the times and the ratio of their means.
    """
    if len(trial.others) != 1:
        return False
    for detail in case.profiles.values():
        if detail is profile or not is_detail(detail, profile):
            continue
        found = join(profile, detail)
        groups = {row.line: rows for row, rows in found.groups} if found else {}
        if not {trial.row.line, trial.others[0].line} <= groups.keys():
            continue
        for column in detail.numbers:
            if column.dimension != x.dimension:
                continue
            own, base = (
                [s[0] for r in groups[row.line] if (s := spans(detail, r, [column]))]
                for row in (trial.row, trial.others[0])
            )
            values = [spans(profile, row, [x]) for row in (trial.row, trial.others[0])]
            if not _summarises(values, (own, base)):
                continue
            for name in AVERAGES:
                try:
                    other = formula(MEANS[name](own), MEANS[name](base))
                except (NumberError, ZeroDivisionError):
                    continue
                if Trial(trial.row, trial.stated, other).fits:
                    return True
    return False


def _summarises(stated: Sequence[Sequence[Span] | None], runs: Sequence[Sequence[Span]]) -> bool:
    """Whether the printed numbers of two rows are the same statistic of their runs."""
    for statistic in MEANS.values():
        try:
            if all(
                one is not None and one[0].meets(statistic(values))
                for one, values in zip(stated, runs, strict=True)
            ):
                return True
        except (NumberError, ZeroDivisionError, ValueError):
            continue
    return False


def _believable(ratio: Column, x: Column, text: str, found: Judged, declared: bool) -> bool:
    """Whether a formula is that of a column: most rows follow it, or its name states it."""
    if found.accepted:
        return True
    named = (
        (ratio.has("speedup", "speed") and text == "baseline / {x}")
        or (ratio.has("change", "delta", "increase") and text == "{x} / baseline - 1")
        or (ratio.has("relative", "ratio") and text == "{x} / baseline")
    )
    # The baseline itself fits by definition, so another row must fit, too.
    others = [t for t in found.fitting if t.row not in t.others]
    values = {t.stated.value for t in others}
    # "ratio_of_sums" next to "sum_s": a name with both words needs one row as evidence.
    both = text in ("{x} / baseline", "baseline / {x}") and _shares_a_word(ratio, x)
    if both and declared and any(t.informative for t in others):
        return len(others) >= len(found.failing)
    if named and declared:
        return len(values) >= 1 and len(others) >= len(found.failing) - 1
    return len(values) >= 2 and len(others) >= (1 if named else 3) * len(found.failing)


def _shares_a_word(ratio: Column, x: Column) -> bool:
    """Whether the name of a ratio names the column of its numbers."""
    if not ratio.has("ratio", "relative"):
        return False
    words = {w for w in ratio.words & x.words if len(w) > 2}
    return not words <= {"ratio", "relative", "per", "mean", "average", "avg", "median"}


def _keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    names = [c.name for c in profile.labels]
    for size in (0, 1, 2, 3):
        yield from combinations(names, size)


def _ratio_trials(
    profile: Profile,
    ratio: Column,
    x: Column,
    keys: tuple[str, ...],
    formula: Callable[[Span, Span], Span],
    declared: tuple[str, str] | None,
) -> Iterator[Trial]:
    """Trials of the rows of each group that has one baseline.

    The baseline is the row with the declared level, else the only row with a ratio of 1 (0 %).
    """
    neutral = formula(Span.exact(1.0), Span.exact(1.0)).value
    groups: dict[tuple[str, ...], list[tuple[Row, Span, Span]]] = defaultdict(list)
    for row in profile.table.rows:
        numbers = spans(profile, row, [ratio, x])
        if numbers is not None:
            groups[tuple(row[k] for k in keys)].append((row, numbers[0], numbers[1]))
    for members in groups.values():
        if declared is not None:
            base = [m for m in members if m[0][declared[0]] == declared[1]]
        else:
            base = [m for m in members if m[1].value == neutral]
        if len(base) != 1 or len(members) < 2:
            continue
        for row, stated, value in members:
            if row is base[0][0]:
                if declared is not None:
                    yield Trial(row, stated, Span.exact(neutral), (row,))
                continue
            try:
                yield Trial(row, stated, formula(value, base[0][2]), (base[0][0],))
            except NumberError:
                continue


# --- mean, spread, n and interval in one row ------------------------------------------------


def intervals(case: Case) -> Iterator[Point]:
    """An interval against the mean, the standard deviation and n of its row."""
    for profile in case.profiles.values():
        count = [c for c in profile.numbers if c.has("n", "run") and not c.dimension]
        for low, high, middle, sd in _described(profile):
            if len(count) != 1:
                continue
            for row in profile.table.rows:
                yield from _interval(profile, row, (low, high, middle, sd, count[0]))


def _described(profile: Profile) -> Iterator[tuple[Column, Column, Column, Column]]:
    numbers = [c for c in profile.numbers if c.dimension not in ("ratio", "mixed")]
    lows = [c for c in numbers if c.has("ci", "interval", "lower") and c.has("low", "lower", "lo")]
    highs = [
        c for c in numbers if c.has("ci", "interval", "upper") and c.has("high", "upper", "hi")
    ]
    sds = [c for c in numbers if c.has("sd", "std", "stdev", "stddev")]
    for low, high, sd in zip(lows, highs, sds, strict=False):
        rest = [c for c in numbers if c.has("mean", "avg", "average") and c.factor == sd.factor]
        rest = [c for c in rest if c.dimension == sd.dimension]
        if len(rest) == 1:
            yield low, high, rest[0], sd


def _interval(profile: Profile, row: Row, columns: Sequence[Column]) -> Iterator[Point]:
    numbers = spans(profile, row, columns)
    if numbers is None or numbers[4].value < 2:
        return
    low, high, middle, sd, count = numbers
    n = round(count.value)
    factor = Span.exact(float(student.ppf(LEVEL, n - 1)) / math.sqrt(n))
    for column, stated, found in (
        (columns[0], low, middle - sd * factor),
        (columns[1], high, middle + sd * factor),
    ):
        if not Trial(row, stated, found).fits:
            yield Point(
                check="summaries",
                rule=2,
                severity="serious",
                subject=f"{column.name} from mean, standard deviation and n: {profile.label(row)}",
                stated=f"{column.name} {row[column.name]}",
                stated_source=source_of(row),
                found=f"{shown(found.value, column)} (Student's t with {n - 1} degrees of freedom)",
                found_source=source_of(row),
                means="the printed 95 % interval does not follow from the numbers of its row.",
                cells=tuple(place(row, c.name) for c in (column, *columns)),
            )
