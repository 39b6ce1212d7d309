"""The registry of checks of a review. A new check is one function and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windtunnel.published.case import Case, Point
from windtunnel.published.checks import arithmetic, energy, facts, trust


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its id, its requirement in a few words, and its function."""

    id: str
    about: str
    run: Callable[[Case], Iterator[Point]]


CHECKS: tuple[Check, ...] = (
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
    Check("confounded", "a level changes only one thing", trust.confounded),
    Check("missing", "every treatment has results", trust.missing),
    Check("one-run", "the spread is known", trust.one_run),
    Check("variation", "the spread is within the study's own limit", trust.variation),
    Check("resolution", "a spread of 0 is not caused by rounding", trust.resolution),
    Check("order", "treatments are interleaved, not run one after the other", trust.order),
    Check("unverified", "the output was verified", trust.unverified),
    Check("warnings", "rules of trust of the report", trust.report_warnings),
)
