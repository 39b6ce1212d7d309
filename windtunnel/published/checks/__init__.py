"""The registry of checks of a review. A new check is one function and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windtunnel.published.case import Case, Point
from windtunnel.published.checks import arithmetic, energy, facts, trust


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its id, what it looks at in a few words, and the function that does it."""

    id: str
    about: str
    run: Callable[[Case], Iterator[Point]]


CHECKS: tuple[Check, ...] = (
    Check(
        "arithmetic", "stated numbers follow from the numbers they depend on", arithmetic.equations
    ),
    Check("mean-of-ratios", "ratios are averaged geometrically", arithmetic.means_of_ratios),
    Check("energy-samples", "stated energy = integral of the power samples", energy.of_samples),
    Check("energy-of-jobs", "stated energy is that of the jobs, not of waiting", energy.of_jobs),
    Check("versions", "the same fact is the same wherever it is written", facts.versions),
    Check("spelling", "names of settings are spelt alike in all places", facts.spelling),
    Check("one-meaning", "a part number or name stands for one thing", facts.once),
    Check("counters", "rates do not stop where a 32-bit counter wraps", facts.counters),
    Check("confounded", "a level changes one thing only", trust.confounded),
    Check("missing", "every treatment has results", trust.missing),
    Check("one-run", "spread is known", trust.one_run),
    Check("variation", "spread stays within the study's own limit", trust.variation),
    Check("resolution", "a spread of 0 is not the resolution of the print", trust.resolution),
    Check("order", "treatments are interleaved, not run one after the other", trust.order),
    Check("unverified", "output was verified", trust.unverified),
    Check("warnings", "rules of trust of the report", trust.report_warnings),
)
