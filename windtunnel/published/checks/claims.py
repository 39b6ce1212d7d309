"""Sentences with a number against every pair of results, every count and every place they can mean.

A sentence is only compared if the tables explain each of its words: the review does not guess
what a sentence means. It is right if one of its interpretations is right. A rounded number has the
tolerance of its digits. A note lists the claims that were not compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.analysis.formatting import plural
from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.claim_columns import Reference
from windtunnel.published.checks.claim_pairs import Meaning, Reading, meanings, stated, supporting
from windtunnel.published.checks.claim_words import Said, said
from windtunnel.published.checks.statements import Statement, listed, statements
from windtunnel.published.judged import place
from windtunnel.published.numbers import NumberError, Span, printed
from windtunnel.published.profile import Profile, tokens, unit_of
from windtunnel.published.table import Row

RECAPS = frozenset(
    {"recap", "text", "stated", "table", "summary", "abstract", "caption", "figure", "conclusion"}
)
MOST_READINGS = 600
MOST_ROWS = 1000
REACHED = 0.8
"""The largest result must be at least this fraction of a number after "up to"."""
SHOWN = 3


@dataclass(frozen=True)
class Claim:
    """A statement that compares results, its words, and its number."""

    statement: Statement
    said: Said
    number: Span

    @property
    def percent(self) -> bool:
        """Whether its number is a percentage, else a factor."""
        return self.statement.kind == "percent"


def pairs(case: Case) -> Iterator[Point]:
    """Percentages and factors in the text against all pairs of results that they can mean."""
    for profile in case.profiles.values():
        claims: set[int] = set()
        skipped: list[tuple[Statement, str]] = []
        for claim in _claims(profile):
            references = [
                Reference(case, other, claim.said)
                for other in case.profiles.values()
                if other is not profile
                and "unit" not in other.columns
                and len(other.table.rows) <= MOST_ROWS
            ]
            explained = [r for r in references if not r.unknown]
            sure, allowed = _interpretations(claim, explained)
            if claim.said.compares or sure:
                claims.add(claim.statement.row.line)
                if reason := _unchecked(claim, references, sure):
                    skipped.append((claim.statement, reason))
                elif not any(_right(claim, m) for m in allowed):
                    yield from _contradiction(claim, sure)
        yield from _not_compared(case, profile, len(claims), skipped)


def _claims(profile: Profile) -> Iterator[Claim]:
    for statement in statements(profile):
        words = said(statement)
        if statement.kind and (words.order):
            try:
                number = abs(printed(statement.number, "about" if words.about else "printed"))
            except NumberError:
                continue
            yield Claim(statement, words, number)


def _interpretations(
    claim: Claim, explained: Sequence[Reference]
) -> tuple[list[Meaning], list[Meaning]]:
    """The interpretations that can show that a claim is wrong, and those that show it is right.

    A column of ratios that the sentence does not name can only show that it is right. A bound is
    about several results if there are several, and all words must restrict them.
    """
    sure: list[Meaning] = []
    others: list[Meaning] = []
    for reference in explained:
        if claim.said.bound and reference.unresolved:
            continue
        if claim.said.compares:
            sure += meanings(reference, claim.percent)
        if reference.mentioned or claim.said.bound:
            sure += stated(reference, claim.percent)
        if reference.mentioned:
            others += supporting(reference, claim.percent)
    several = [m for m in sure if len(m.readings) > 1]
    if claim.said.bound and several and not claim.said.average:
        sure = several
        # A ratio whose divisor is not known has several numbers, too many to support a bound.
        others = [
            m
            for m in others
            if len(m.readings) > 1 and all(len(r.numbers) == 1 for r in m.readings)
        ]
    return sure, sure + others


def _right(claim: Claim, meaning: Meaning) -> bool:
    """Whether a claim is right in one of its interpretations."""
    readings, number = meaning.readings, claim.number
    if claim.said.bound in ("", "maximum") and any(
        number.meets(found) for r in readings for found in r.numbers
    ):
        return True
    match claim.said.bound:
        case "reached" | "maximum":
            return _below(claim, readings) and any(r.most.high >= _near(number) for r in readings)
        case "upper":
            return _below(claim, readings)
        case "lower":
            return all(r.most.high >= number.low for r in readings)
        case "some above":
            return any(r.most.high >= number.low for r in readings)
    return False


def _below(claim: Claim, readings: Sequence[Reading]) -> bool:
    return all(r.least.low <= claim.number.high for r in readings)


def _near(number: Span) -> float:
    """The smallest result for which a text says "up to" a number: authors round up."""
    return min(REACHED * number.value, number.value - (number.high - number.low))


def _contradiction(claim: Claim, sure: Sequence[Meaning]) -> Iterator[Point]:
    statement, bound = claim.statement, claim.said.bound
    found, reading, count = _shown(claim, sure)
    unit = " %" if claim.percent else ""
    word = {"": "nearest: ", "lower": "at least ", "some above": "at most "}.get(bound, "up to ")
    yield Point(
        check="claims",
        severity="caution",
        subject=f"{statement.text.rstrip('.')}: {statement.shown}",
        stated=statement.shown,
        stated_source=source_of(statement.row),
        found=f"{word}{found.value:.3g}{unit} of {plural(count, 'result')} "
        f"({reading.column.name} {', '.join(reading.cells)})",
        found_source=sources_in_words(source_of(r) for r in reading.rows),
        means="no pair of the published results that this sentence can mean has this difference."
        if not bound
        else "the published results that this sentence can mean contradict this limit.",
        cells=(place(statement.row, statement.column),),
    )


def _shown(claim: Claim, sure: Sequence[Meaning]) -> tuple[Span, Reading, int]:
    """The number that a point prints: the nearest, or the extreme one of an interpretation."""
    best: list[tuple[float, Span, Reading, int]] = []
    for meaning in sure:
        readings = meaning.readings
        numbers = [(n, r) for r in readings for n in r.numbers]
        if claim.said.bound == "lower":
            numbers = [min(((r.most, r) for r in readings), key=lambda one: one[0].value)]
        elif claim.said.bound == "some above":
            numbers = [max(((r.most, r) for r in readings), key=lambda one: one[0].value)]
        elif claim.said.bound:
            numbers = [max(((r.least, r) for r in readings), key=lambda one: one[0].value)]
        best += [(abs(n.value - claim.number.value), n, r, len(readings)) for n, r in numbers]
    _, found, reading, count = min(best, key=lambda one: one[0])
    return found, reading, count


# --- claims that were not compared ----------------------------------------------------------


def _unchecked(claim: Claim, references: Sequence[Reference], sure: Sequence[Meaning]) -> str:
    """Why a claim was not compared with the results, empty if it was."""
    if claim.said.bound == "unclear":
        return "several limits"
    if sure:
        many = sum(len(m.readings) for m in sure) > MOST_READINGS
        return "too many pairs of results" if many else ""
    unknown = [r.unknown for r in references if r.mentioned and r.unknown]
    if unknown and not any(r.mentioned and not r.unknown for r in references):
        words = min(map(sorted, unknown), key=len)
        return f"unknown word '{words[0]}'"
    if not any(r.mentioned for r in references):
        return "it names no value of the tables"
    return "no pair of results"


def _not_compared(
    case: Case, profile: Profile, claims: int, skipped: Sequence[tuple[Statement, str]]
) -> Iterator[Point]:
    """A note on the claims of a table that were neither compared nor have a relation."""
    related = _with_relation(case, profile)
    left = {s.row.line: reason for s, reason in skipped if s.row.line not in related}
    if not left:
        return
    name = profile.table.name.rsplit("/", 1)[-1]
    lines = [f"line {line} ({reason})" for line, reason in left.items()]
    more = f", and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    yield Point(
        check="not-compared",
        severity="note",
        subject=f"{name}: {len(left)} of {plural(claims, 'claim')} not compared",
        stated="percentages and factors of the text",
        stated_source=name,
        found=f"{', '.join(lines[:SHOWN])}{more}",
        found_source="the published data",
        means="an error in these sentences would not be detected.",
    )


def _with_relation(case: Case, profile: Profile) -> set[int]:
    """The lines of a table that the relations of ``review.yaml`` use."""
    file = next(name for name, one in case.profiles.items() if one is profile)
    lines: set[int] = set()
    for equation in case.relations.equations:
        if equation.each == file:
            lines |= {row.line for row in case.rows(file, equation.where, {})}
        for pick in equation.picks.values():
            if pick.table == file and not any("{" in v for vs in pick.where.values() for v in vs):
                lines |= {row.line for row in case.rows(file, pick.where, {})}
    return lines


# --- counts ---------------------------------------------------------------------------------


def counts(case: Case) -> Iterator[Point]:
    """Numbers of runs, tests or workloads in the text against the rows of the tables."""
    roles = _roles(case)
    for own in case.profiles.values():
        for row, text, column in listed(own):
            noun = tokens(row["unit"])[:1]
            if not noun or not (row[column.name].isascii() and row[column.name].isdigit()):
                continue
            possible = {
                count: source
                for profile in case.profiles.values()
                if profile is not own
                for name, described in profile.columns.items()
                if described.kind in ("word", "id")
                and (tokens(name) == noun or roles.get(name) == noun[0])
                for count, source in _counted(profile, name)
            }
            if possible and int(row[column.name]) not in possible:
                usual = min(possible, key=lambda n: abs(n - int(row[column.name])))
                yield Point(
                    check="counts",
                    severity="serious",
                    subject=f"{text}: {row[column.name]} {row['unit']}",
                    stated=f"{row[column.name]} {row['unit']}",
                    stated_source=source_of(row),
                    found=f"{usual} {row['unit']}",
                    found_source=possible[usual],
                    means="the number in the text differs from the number of rows in the table: "
                    "results are missing, or were added later.",
                    cells=(place(row, column.name),),
                )


def _roles(case: Case) -> dict[str, str]:
    """Column -> what its words are, from the map: workload, phase, run, treatment."""
    mapped = case.mapped
    if mapped is None:
        return {}
    cells = {
        "workload": mapped.workload,
        "phase": mapped.phase,
        "run": mapped.round,
        "treatment": mapped.treatment,
    }
    return {name: role for role, cell in cells.items() if cell for name in cell.used}


def _counted(profile: Profile, name: str) -> Iterator[tuple[int, str]]:
    """The number of different values: of all rows, and of the rows of each label."""
    rows = [r for r in profile.table.rows if r[name]]
    yield len({r[name] for r in rows}), f"{profile.table.name.rsplit('/', 1)[-1]}, column {name}"
    for label in profile.labels:
        if label.name == name:
            continue
        groups: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            groups[row[label.name]].add(row[name])
        for group in groups.values():
            yield len(group), f"{profile.table.name.rsplit('/', 1)[-1]}, {name} by {label.name}"


# --- the same fact in text and table --------------------------------------------------------


def recaps(case: Case) -> Iterator[Point]:
    """A fact that a summary or the text repeats with another number."""
    for profile in case.profiles.values():
        if not {"value", "unit"} <= profile.columns.keys():
            continue
        words = [c for c in profile.labels if c.name not in ("unit", "value")]
        facts = [
            (row, set(tokens(" ".join(row[c.name] for c in words))), number)
            for row in profile.table.rows
            if (number := _with_unit(row)) is not None
        ]
        for row, spoken, own in facts:
            if spoken.isdisjoint(RECAPS):
                continue
            bare = spoken - RECAPS
            same = [
                (other, found)
                for other, theirs, found in facts
                if theirs.isdisjoint(RECAPS) and bare <= theirs and len(theirs - bare) <= 2
                and found[0] == own[0]
            ]  # fmt: skip
            if not same or any(found[1].meets(own[1]) for _, found in same):
                continue
            other = same[0][0]
            yield Point(
                check="recaps",
                severity="caution",
                subject=f"{profile.label(row)}, stated twice",
                stated=f"{row['value']} {row['unit']}",
                stated_source=source_of(row),
                found=f"{other['value']} {other['unit']} ({profile.label(other)})",
                found_source=source_of(other),
                means="two places of the publication give different numbers for the same fact.",
                cells=(place(row, "value"), place(other, "value")),
            )


def _with_unit(row: Row) -> tuple[str, Span] | None:
    unit = row["unit"].split()[:1]
    try:
        number = printed(row["value"])
    except NumberError:
        return None
    dimension, factor = unit_of(unit[0] if unit else "") or (row["unit"], 1.0)
    return dimension, number * Span.exact(factor)
