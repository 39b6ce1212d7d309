"""What the words of a claim mean: a bound, a direction, a measure, the side of the baseline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from windtunnel.published.checks.statements import STATED, Statement
from windtunnel.published.checks.wording import NUMERALS
from windtunnel.published.profile import tokens

Bound = Literal["", "reached", "maximum", "upper", "lower", "some above", "unclear"]
Direction = Literal["", "less", "more", "faster", "slower"]

_BEFORE = rf"(?=\s*(?:about|around|approximately|nearly|almost)?\s*(?:{STATED}|[)\]]|$))"
_BOUNDS: tuple[tuple[Bound, str], ...] = (
    ("upper", r"\b(?:no|not) more than\b"),
    ("lower", r"\b(?:no|not) less than\b"),
    ("reached", r"\bup to\b|\bas much as\b"),
    ("upper", r"\bat (?:the )?most\b"),
    ("lower", r"\bat (?:the )?least\b"),
    ("maximum", r"\bmax(?:imum|imal)?\b"),
    ("some above", rf"\b(?:more than|over|above|exceeds|exceeding){_BEFORE}"),
    ("upper", rf"\b(?:less than|fewer than|below|under){_BEFORE}"),
)
"""In this order: the longer phrase first. ``more`` and ``less`` are bounds only before a number."""

_PHASE = re.compile(r"\breduce(?= (?:time|phase|task|slot|input|output))")
"""The phase of a job, which is not the verb."""
_RUN = re.compile(r"\bruns?\b(?!\s*(?:\d|number))")
"""The verb, or a run without a number: it selects no results."""

ABOUT = frozenset({"about", "approximately", "approx", "around", "roughly", "nearly", "almost"})
AVERAGE = frozenset({"average", "mean", "avg"})
FAST = frozenset({"faster", "quicker", "sooner"})
SLOW = frozenset({"slower"})
LESS = frozenset(
    {
        "less",
        "lower",
        "fewer",
        "smaller",
        "shorter",
        "cheaper",
        "reduce",
        "reduced",
        "reduction",
        "decrease",
        "decreased",
        "save",
        "saved",
        "saving",
        *("cut", "drop", "dropped", "fall", "fell", "decline", "declined", "shrink"),
    }
)
MORE = frozenset(
    {
        "more",
        "higher",
        "larger",
        "greater",
        "longer",
        "increase",
        "increased",
        *("rise", "rose", "grow", "grew"),
    }
)
AGAINST = frozenset({"than", "vs", "versu", "against", "compared", "relative"})
COMPARING = (
    FAST
    | SLOW
    | LESS
    | MORE
    | AGAINST
    | frozenset(
        {
            "improvement",
            "improve",
            "improved",
            "difference",
            "gain",
            "loss",
            "speedup",
            "penalty",
            "benefit",
            "advantage",
            "better",
            "worse",
            "cost",
            "overhead",
            "ratio",
        }
    )
)
FILLING = frozenset(
    {
        "a",
        "an",
        "the",
        "of",
        "with",
        "without",
        "over",
        "and",
        "or",
        "to",
        "in",
        "on",
        "by",
        "for",
        "from",
        "at",
        "is",
        "are",
        "was",
        "were",
        "be",
        "has",
        "have",
        "time",
        "elapsed",
        "per",
        "all",
        "each",
        "every",
        "case",
        "using",
        "when",
        "comparison",
        "result",
        "e",
        "v",
        "x",
        "take",
        "make",
        "need",
        "use",
        *tokens("this"),  # in the singular, as the words of a claim
        *tokens("going ran finish finishes finished complete completes completed achieve achieves"),
        *tokens("took needed last lasts lasted used made reach reaches show shows"),
        *tokens("deliver delivers perform performs require requires"),
        "much",
        "it",
        "stated",
        "text",
        "percent",
        "factor",
    }
)
TIME = frozenset({"time", "elapsed", "runtime", "duration", "longer", "shorter"})
RATE = frozenset({"throughput", "rate", "bandwidth"})
PRICE = frozenset({"price", "cost", "cheaper", "cheap"})
NAMED = frozenset({"cpu", "network", "latency", "disk", "memory", "io", "size", "byte"})
MEASURES = RATE | PRICE | NAMED | {"energy", "power"}
VOCABULARY = COMPARING | FILLING | ABOUT | AVERAGE | MEASURES | TIME
DIRECTIONS: tuple[tuple[Direction, frozenset[str]], ...] = (
    ("less", LESS),
    ("more", MORE),
    ("faster", FAST),
    ("slower", SLOW),
)


@dataclass(frozen=True)
class Said:
    """The words of a claim in their order, without its number and its bound."""

    order: tuple[str, ...]
    bound: Bound

    @cached_property
    def words(self) -> frozenset[str]:
        """All words, without numbers."""
        return frozenset(w for w in self.order if not w[0].isdigit())

    @cached_property
    def numerals(self) -> tuple[str, ...]:
        """The words in their order, with the words for 1 to 12 as digits ("eight nodes")."""
        return tuple(NUMERALS.get(word, word) for word in self.order)

    @cached_property
    def about(self) -> bool:
        """Whether the number is not exact."""
        return not self.words.isdisjoint(ABOUT)

    @cached_property
    def average(self) -> bool:
        """Whether the number is a mean of several results."""
        return not self.words.isdisjoint(AVERAGE)

    @cached_property
    def compares(self) -> bool:
        """Whether the sentence compares results."""
        return not self.words.isdisjoint(COMPARING)

    @cached_property
    def direction(self) -> Direction:
        """The direction that the words name; empty if they name none, or several."""
        found = [name for name, words in DIRECTIONS if not self.words.isdisjoint(words)]
        return found[0] if len(found) == 1 else ""

    @cached_property
    def measures(self) -> frozenset[str]:
        """The groups of measures that the words name.

        "costs more time" is about the time: cost counts only alone. "CPU time" is that of the CPU.
        """
        groups = {word for word in NAMED | {"energy", "power"} if word in self.words}
        if not self.words.isdisjoint(RATE):
            groups.add("rate")
        if not self.words.isdisjoint(TIME):
            groups.add("time")
        if not groups and not self.words.isdisjoint(PRICE):
            groups.add("price")
        return frozenset(groups)

    @cached_property
    def against(self) -> int:
        """The position of the word that precedes the baseline, -1 if there is none."""
        return next((at for at, word in enumerate(self.order) if word in AGAINST), -1)


def said(statement: Statement) -> Said:
    """The words of a statement, and its bound."""
    words = _RUN.sub(" ", _PHASE.sub("reducephase", statement.words))
    bounds: list[Bound] = []
    for kind, pattern in _BOUNDS:
        words, count = re.subn(pattern, " ", words)
        bounds += [kind] * count
    bound: Bound = bounds[0] if bounds else ""
    if len(set(bounds)) > 1:
        bound = "reached" if set(bounds) == {"reached", "maximum"} else "unclear"
    return Said(tuple(tokens(words.replace(STATED, " "))), bound)
