"""Stated numbers against the numbers on which they depend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windtunnel.analysis.formatting import digits as shown
from windtunnel.published.case import Case, Number, Point, cells_of, source_of, sources_in_words
from windtunnel.published.filled import filled
from windtunnel.published.numbers import NumberError, Span, Take, evaluate, names_in
from windtunnel.published.relations import Equation
from windtunnel.published.table import Row

NAMES: Mapping[Take, str] = {
    "geometric mean": "geometric mean",
    "mean": "arithmetic mean",
    "harmonic mean": "harmonic mean",
    "median": "median",
}


def equations(case: Case) -> Iterator[Point]:
    """Every equation of the study, for every row that has all its numbers."""
    for equation in case.relations.equations:
        if equation.each is None:
            yield from _checked(case, equation, None, {})
            continue
        for row in case.rows(equation.each, equation.where, {}):
            words = dict(row.cells)
            if equation.cases is not None:
                column, cases = equation.cases
                if row[column] not in cases:
                    continue
                words |= cases[row[column]]
            yield from _checked(case, equation, row, words)


def _checked(
    case: Case, equation: Equation, row: Row | None, words: Mapping[str, str]
) -> Iterator[Point]:
    try:
        picked = {name: case.pick(pick, words) for name, pick in equation.picks.items()}
        stated = _number(equation, equation.stated, row, picked)
        readings = [_number(equation, text, row, picked) for text in equation.found]
    except NumberError:
        return  # A number is not published, so there is nothing to compare.
    if any(_holds(equation, stated.span, reading.span) for reading in readings):
        return
    found = readings[0]
    unit = f" {equation.unit}" if equation.unit else ""
    others = "".join(f" or {_shown(one.span.value)}{unit}" for one in readings[1:])
    label = filled(equation.label, words)
    yield Point(
        check="arithmetic",
        rule=equation.rule,
        severity=equation.severity,
        subject=f"{equation.name}: {label}" if label else equation.name,
        stated=f"{_shown(stated.span.value)}{unit}",
        stated_source=sources_in_words(stated.sources),
        found=f"{_shown(found.span.value)}{unit}{others}",
        found_source=sources_in_words(found.sources) or "the relation itself",
        means=equation.means,
    )


def _number(
    equation: Equation, expression: str, row: Row | None, picked: Mapping[str, Number]
) -> Number:
    """The value of an expression; NumberError if a required cell is empty."""
    needed = names_in(expression)
    names = {name: picked[name].span for name in needed if name in picked}
    sources = [s for name in sorted(needed & picked.keys()) for s in picked[name].sources]
    own = needed - picked.keys()
    if row is not None and own:
        names |= cells_of(row, own, equation.digits, equation.decimals)
        sources.insert(0, source_of(row))
    return Number(evaluate(expression, names), tuple(sources))


def _holds(equation: Equation, stated: Span, found: Span) -> bool:
    wide = found.widened(equation.within)
    if equation.kind == "at most":
        return stated.low <= wide.high
    if equation.kind == "at least":
        return stated.high >= wide.low
    return stated.meets(wide)


def means_of_ratios(case: Case) -> Iterator[Point]:
    """Rule 4: an average of ratios is right if it fits the geometric mean.

    An arithmetic mean depends on the choice of the baseline, which is a note. A number that is
    none of the known means is a caution.
    """
    takes: tuple[Take, ...] = ("geometric mean", "mean", "harmonic mean", "median")
    for average in case.relations.means_of_ratios:
        try:
            stated = case.pick(average.stated, {})
            ratios = {
                take: case.pick(average.ratios.model_copy(update={"take": take}), {})
                for take in takes
            }
        except NumberError:
            continue
        found = {t: Span.exact(100 * (n.span.value - 1)) for t, n in ratios.items()}
        fitting = [take for take in takes if stated.span.meets(found[take])]
        if "geometric mean" in fitting:
            continue
        which = f"it is the {NAMES[fitting[0]]}" if fitting else "it is none of the known means"
        listed = ", ".join(f"{NAMES[t]} {span.value:.2f} %" for t, span in found.items())
        yield Point(
            check="mean-of-ratios",
            rule=4,
            severity="note" if fitting else "caution",
            subject=average.name,
            stated=f"{_shown(stated.span.value)} % ({which})",
            stated_source=sources_in_words(stated.sources),
            found=listed,
            found_source=sources_in_words(ratios["mean"].sources),
            means=average.means,
        )


def _shown(value: float) -> str:
    """A number with enough digits to distinguish numbers that differ in the fourth digit."""
    if value and abs(value) < 1e6 and abs(value) >= 100:
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:.4g}" if value else shown(value)
