"""The registry of checks of a review. A new check is one function and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windtunnel.published.case import Case, Point
from windtunnel.published.checks import (
    amounts,
    arithmetic,
    claims,
    copies,
    dates,
    energy,
    facts,
    groups,
    named,
    precision,
    ratios,
    rows,
    scans,
    settings,
    spelling,
    totals,
    treatments,
    trust,
    twins,
)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its id, its requirement in a few words, and its function."""

    id: str
    about: str
    run: Callable[[Case], Iterator[Point]]


LISTED: tuple[Check, ...] = (
    Check(
        "arithmetic", "stated numbers agree with the numbers they depend on", arithmetic.equations
    ),
    Check("mean-of-ratios", "ratios are averaged geometrically", arithmetic.means_of_ratios),
    Check("energy-samples", "stated energy = integral of the power samples", energy.of_samples),
    Check("energy-of-jobs", "stated energy is only that of the jobs", energy.of_jobs),
    Check("versions", "a fact is equal in all places", facts.versions),
    Check("spelling", "names of settings have the same spelling in all places", facts.spelling),
    Check("one-meaning", "a part number or name has one meaning", facts.once),
    Check("counters", "rates are not limited by the wrap of a 32-bit counter", facts.counters),
)
"""Checks that need ``review.yaml``."""

TABLES: tuple[Check, ...] = (
    Check("relations", "numbers of a row agree with each other and their units", rows.relations),
    Check("named", "numbers of a row agree with the names of their columns", named.named),
    Check("record-sizes", "bytes = rows x size of a record", rows.record_sizes),
    Check("aggregates", "means, sums, spreads and counts are those of the rows", groups.aggregates),
    Check("totals", "totals are those of their rows", totals.totals),
    Check("twins", "two tables have the same numbers for the same things", twins.twins),
    Check("baselines", "percentages and speed-ups are those of the results", ratios.baselines),
    Check("intervals", "intervals follow from mean, spread and n", ratios.intervals),
    Check("impossible", "no zeros or negative numbers where there can be none", scans.impossible),
    Check("two-values", "an item has one value in all places", settings.two_values),
    Check("listed-twice", "a list has one value per setting", treatments.twice),
    Check("determined", "labels follow the rest of the table", scans.determined),
    Check("treatments", "the treatments differ in the factors only", treatments.differing),
    Check("prices", "a part has one price", settings.prices),
    Check("misspelt", "the settings exist", spelling.misspelt),
    Check("unknown", "a present version reads the settings", spelling.unknown),
    Check("one-side", "a setting is listed everywhere", settings.one_side),
    Check("duplicates", "no row is there twice", scans.duplicates),
    Check("copies", "no results are copies of others", copies.copies),
    Check("outliers", "no value is far from its repetitions", scans.outliers),
    Check("moments", "the runs are in the order of their numbers", dates.moments),
    Check("recaps", "summary and text repeat the same numbers", claims.recaps),
    Check("counts", "the text counts what the tables contain", claims.counts),
    Check("claims", "claims agree with a pair of results", claims.pairs),
    Check("amounts", "amounts in the text are results of the tables", amounts.amounts_of_results),
    Check("precision", "the digits are fine enough", precision.coarse),
)
"""Checks of all tables, which need no hint."""

CONDUCT: tuple[Check, ...] = (
    Check("confounded", "a level changes only one thing", trust.confounded),
    Check("missing", "every treatment has results", trust.missing),
    Check("one-run", "the spread is known", trust.one_run),
    Check("variation", "the spread is within the study's own limit", trust.variation),
    Check("resolution", "a spread of 0 is not caused by rounding", trust.resolution),
    Check("order", "treatments are interleaved, not run one after the other", trust.order),
    Check("unverified", "the output was verified", trust.unverified),
    Check("warnings", "warnings of the report", trust.report_warnings),
)
"""Checks of the results folder: how the study was done."""

CHECKS = LISTED + TABLES + CONDUCT
