"""Which columns and rows of a table the words of a claim name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from windtunnel.published.case import Case
from windtunnel.published.checks.claim_words import (
    AGAINST,
    AVERAGE,
    FAST,
    FILLING,
    MEASURES,
    NAMED,
    RATE,
    SLOW,
    VOCABULARY,
    Said,
)
from windtunnel.published.profile import UNITS, Column, Profile, tokens
from windtunnel.published.table import Row

SPREADS = frozenset(
    {
        "sd",
        "std",
        "stdev",
        "stddev",
        "deviation",
        "variance",
        "var",
        "cv",
        "ci",
        "ci90",
        "ci95",
        "ci99",
        "interval",
        "error",
        "spread",
    }
)
STATISTICS = AVERAGE | frozenset(
    {
        "median",
        "geometric",
        "harmonic",
        "geomean",
        "min",
        "minimum",
        "max",
        "maximum",
        "fastest",
        "slowest",
        "best",
        "worst",
        "sum",
        "total",
        "of",
        "reported",
        "printed",
        "value",
    }
)
CLOCKS = frozenset(
    {
        "time",
        "elapsed",
        "runtime",
        "duration",
        "wall",
        "clock",
        "taken",
        "took",
    }
)
RUNS = frozenset(
    {
        "n",
        "run",
        "repetition",
        "repeat",
        "repeated",
        "attempt",
        "iteration",
        "trial",
        "count",
        "sample",
    }
)
CHANGES = frozenset(
    {
        "speedup",
        "relative",
        "ratio",
        "change",
        "delta",
        "saving",
        "gain",
        "increase",
        "decrease",
        "reduction",
        "difference",
        "diff",
        "improvement",
        "overhead",
    }
)
NONE = frozenset({"none", "no", "off", "without"})
_RATE = re.compile(r"(?:_per_s(?:ec|econd)?|/s(?:ec)?)\b")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")


@dataclass(frozen=True)
class Hit:
    """A value of a label in the sentence; ``at`` is the position of its first word."""

    label: str
    value: str
    at: int
    end: int

    @property
    def length(self) -> int:
        """The number of its words."""
        return self.end - self.at


@dataclass(frozen=True)
class Reference:
    """A table of results and the part of it to which a sentence can refer."""

    case: Case
    profile: Profile
    said: Said

    @cached_property
    def labels(self) -> list[Column]:
        """Words and parameters that identify a result. Dates and numbers of runs do not."""
        mapped = self.case.mapped
        rounds = mapped.round.used if mapped and mapped.round else ()
        words = [
            c
            for c in self.profile.labels
            if not c.has("unit", "statistic") and c.name not in rounds and not self._dates(c)
        ]
        parameters = [
            c
            for c in self.profile.numbers
            if c.name not in rounds and not c.has(*RUNS) and self._parameter(c)
        ]
        return words + parameters

    def _dates(self, column: Column) -> bool:
        cells = [r[column.name] for r in self.profile.table.rows if r[column.name]]
        return all(_DATE.match(cell) for cell in cells)

    def _parameter(self, column: Column) -> bool:
        """Whether a column of numbers is a parameter, such as a size: few values, repeated."""
        rows = self.profile.table.rows
        values = {r[column.name] for r in rows}
        return len(values) <= min(8, len(rows) // 3) and column.dimension != "s"

    @cached_property
    def hits(self) -> list[Hit]:
        """The values of labels in the sentence. A value inside a longer one does not count."""
        found = [hit for label in self.labels for hit in self._hits(label)]
        return [
            hit
            for hit in found
            if not any(
                other.at <= hit.at <= hit.end <= other.end and other.length > hit.length
                for other in found
            )
        ]  # fmt: skip

    def _hits(self, label: Column) -> Iterator[Hit]:
        order = self.said.numerals
        if label.kind == "number" and not _own(label) <= self.said.words:
            return
        for value in {r[label.name] for r in self.profile.table.rows if r[label.name]}:
            words = _words(value)
            for at in range(len(order) - len(words) + 1):
                if words and order[at : at + len(words)] == words and self._names(words, at):
                    yield Hit(label.name, value, at, at + len(words))
            if words and set(words) <= NONE:
                yield from self._absent(label.name, value)

    def _names(self, words: Sequence[str], at: int) -> bool:
        """Whether words are a value here: a word that also fills sentences must follow "than"."""
        return not set(words) <= FILLING or self._follows(at)

    def _follows(self, at: int) -> bool:
        """Whether the word before a position is "than", "against" or "compared to"."""
        before = self.said.order[max(at - 2, 0) : at]
        return before[-1:] != () and (before[-1] in AGAINST or before[0] == "compared")

    def _absent(self, label: str, value: str) -> Iterator[Hit]:
        """ "than without compression" is the level "none"."""
        order = self.said.order
        for at in range(1, len(order) - 1):
            if order[at] in ("no", "without") and self._follows(at):
                yield Hit(label, value, at, at + 2)

    @cached_property
    def mentioned(self) -> Mapping[str, set[str]]:
        """Label -> the values of it that the sentence names."""
        found: dict[str, set[str]] = {}
        for hit in self.hits:
            found.setdefault(hit.label, set()).add(hit.value)
        return found

    @cached_property
    def _covered(self) -> set[int]:
        return {at for hit in self.hits for at in range(hit.at, hit.end)}

    @cached_property
    def unknown(self) -> set[str]:
        """The words that neither the table nor the vocabulary explains."""
        known = {t for c in self.profile.columns for t in tokens(c)}
        for label in self.profile.labels:
            known |= {t for r in self.profile.table.rows for t in _words(r[label.name])}
        known |= VOCABULARY
        return {
            word
            for at, word in enumerate(self.said.order)
            if at not in self._covered
            and not word[0].isdigit()
            and known.isdisjoint({word, re.sub("ie$", "y", word)})
        }

    @cached_property
    def unresolved(self) -> set[str]:
        """Numbers, and words of labels, that do not name one value or column.

        They may restrict the results that a bound is about.
        """
        known = {t for c in self.profile.columns for t in tokens(c)} | VOCABULARY
        return {
            word
            for at, word in enumerate(self.said.order)
            if at not in self._covered and known.isdisjoint({word, re.sub("ie$", "y", word)})
        }

    @cached_property
    def specific(self) -> set[str]:
        """Words that name a column of numbers, as ``map`` in "map time"."""
        labels = {t for c in self.labels for t in c.words}
        numbers = {t for c in self.profile.numbers for t in _own(c)}
        free = {w for at, w in enumerate(self.said.order) if at not in self._covered}
        return (free & numbers) - labels - VOCABULARY - STATISTICS - CHANGES

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of results that the sentence can mean."""
        return [
            c
            for c in self.profile.numbers
            if dimension(c) not in ("", "mixed", "ratio")
            and c not in self.labels
            and c.words.isdisjoint(SPREADS)
            and self.specific <= c.words
            and self._measured(c)
        ]

    def _measured(self, column: Column) -> bool:
        measures = self.said.measures
        if not measures:
            if not self.said.words.isdisjoint(FAST | SLOW) or "speedup" in self.said.words:
                return self._elapsed(column) or dimension(column).endswith("/s")
            return column.words.isdisjoint(MEASURES - RATE - self.specific)
        return all(self._is(column, measure, alone=len(measures) == 1) for measure in measures)

    def _is(self, column: Column, measure: str, alone: bool) -> bool:
        kind = dimension(column)
        if measure == "time":
            alone = alone and not self.specific
            return self._elapsed(column) if alone else kind == "s"
        if measure in ("energy", "power"):
            return kind == ("J" if measure == "energy" else "W")
        if measure == "price":
            return kind.startswith("price ")
        return kind.endswith("/s") if measure == "rate" else column.has(measure)

    def _elapsed(self, column: Column) -> bool:
        """Whether a column is the elapsed time, or a mean of it: no part of it, no CPU time."""
        metrics = self.case.mapped.metrics if self.case.mapped else {}
        declared = metrics["elapsed"].column if "elapsed" in metrics else ""
        extra = _own(column) - CLOCKS - STATISTICS - set(tokens(declared))
        return column.name == declared or (dimension(column) == "s" and not extra)

    @cached_property
    def changes(self) -> list[Column]:
        """Columns of ratios that state a change of what the sentence is about."""
        return [
            c
            for c in self.profile.numbers
            if dimension(c) == "ratio"
            and not c.words.isdisjoint(CHANGES)
            and self.specific <= c.words
            and self._about(c.words & (NAMED | {"time", "energy", "power", "price", "cost"}))
        ]

    def _about(self, named: set[str]) -> bool:
        """Whether a change of this measure, or of the time if none is named, is meant."""
        measures = self.said.measures
        if measures <= {"time", "rate"}:
            return named <= {"time"}
        return bool(named) and named <= measures | {"time", "cost"}

    @cached_property
    def stated(self) -> list[Column]:
        """Columns of ratios that the sentence names itself, as "utilization" or "speedup"."""
        return [
            c
            for c in self.profile.numbers
            if dimension(c) == "ratio"
            and c.words.isdisjoint(SPREADS)
            and _own(c)
            and _own(c) <= self.said.words
        ]

    def rows(self) -> list[Row]:
        """The rows with the named values."""
        named = self.mentioned.items()
        return [r for r in self.profile.table.rows if all(r[n] in values for n, values in named)]


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """The words of a cell: every claim needs those of every table."""
    return tuple(tokens(text))


def dimension(column: Column) -> str:
    """The dimension of a column; ``ops_per_s`` is a rate whose unit is not known."""
    if not column.dimension and _RATE.search(column.name.casefold()):
        return "/s"
    if not column.dimension and not column.words.isdisjoint(CHANGES):
        return "ratio"
    return column.dimension


def _own(column: Column) -> set[str]:
    """The words of a name without its unit."""
    units = UNITS.keys() | {"per", "op"}
    return column.words - (units - CHANGES)
