"""``fractional-factorial``: a regular fraction of the two-level factorial."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from windtunnel.cluster import blame
from windtunnel.errors import DescriptionError
from windtunnel.study.designs.base import (
    Combination,
    Labels,
    Options,
    Signs,
    from_signs,
    refuse_many,
    to_signs,
    two_levels,
    with_baseline,
)

_MOST_FACTORS = 15  # screening suits more factors better


class FractionalFactorial(Options):
    """A regular 2^(k-p) fraction, given by its resolution or its generators.

    With resolution 3, main effects are aliased with two-factor interactions; with resolution 4,
    two-factor interactions with each other; with resolution 5, all of them can be separated.
    """

    kind: Literal["fractional-factorial"] = Field(description="Name of the design.")
    resolution: int | None = Field(
        None, ge=3, le=_MOST_FACTORS, description="Minimum resolution; usually 3, 4 or 5."
    )
    generators: str | None = Field(
        None,
        description="One word per factor, in their order, instead of a resolution: with "
        "'a b c -abc', the fourth factor is the negated product of the first three.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> FractionalFactorial:
        if (self.resolution is None) == (self.generators is None):
            raise _mistake(
                "give either 'resolution' or 'generators'",
                "design: {kind: fractional-factorial, resolution: 4}",
            )
        if self.generators is not None and not re.fullmatch(
            r"\s*[+-]?[A-Za-z]+(\s+[+-]?[A-Za-z]+)*\s*", self.generators
        ):
            raise _mistake(
                f"'{self.generators}' are not valid generators", "write them as 'a b c abc'"
            )
        return self

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """The treatments; with ``resolution`` the baseline is among them (the first one)."""
        from pyDOE3 import fracfact  # takes a second to import

        factors = two_levels(self.kind, labels, baseline)
        if self.generators is not None:
            words = self.generators.split()
            if len(words) != len(factors):
                raise DescriptionError(
                    f"there are {len(words)} generators for {len(factors)} factors",
                    remedy=f"write one word for each of: {', '.join(labels)}.",
                )
            _refuse_unknown_letters(words)
            refuse_many(2 ** len({letter for word in words for letter in word.strip("+-")}))
            try:
                signs = fracfact(" ".join(words))
            except ValueError as error:
                raise DescriptionError(
                    f"generators: '{self.generators}' define no design: {error}",
                    remedy="use each letter once as a word, and a different word for each factor: "
                    "'a b c abc'.",
                ) from None
            _refuse_useless(signs, list(labels))
            return from_signs(signs, factors)
        words = generators_for(len(factors), self.resolution or 3)
        return from_signs(with_baseline(fracfact(" ".join(words)), 0), factors)

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """The aliases, from the matrix of signs."""
        from windtunnel.study.designs.aliases import alias_lines  # loads NumPy

        return alias_lines(to_signs(labels, chosen), list(labels))


def _mistake(message: str, remedy: str) -> PydanticCustomError:
    return blame(message, remedy=remedy)


def generators_for(factors: int, resolution: int) -> list[str]:
    """Generators of a small fraction with at least this resolution.

    The words of the defining relation are a binary code, and the resolution is its minimum
    distance. It therefore depends on the products of generators, too. (pyDOE3's
    ``fracfact_by_res`` examines only the generators: for resolution 5 with 8 factors it returns a
    design of resolution 4.) Words are added greedily, as in a lexicographic code.

    Raises
    ------
    DescriptionError
        If no design smaller than the full factorial has the resolution, or if there are too many
        factors.
    """
    if factors > _MOST_FACTORS:
        raise DescriptionError(
            f"the design fractional-factorial supports up to {_MOST_FACTORS} factors with a "
            f"resolution, and there are {factors}",
            remedy="screen them first with the design plackett-burman, or write 'generators'.",
        )
    for base in range(2, factors):
        chosen = _words(base, factors - base, resolution)
        if chosen is not None:
            letters = string.ascii_lowercase[:base]
            words = ["".join(c for i, c in enumerate(letters) if w >> i & 1) for w in chosen]
            return [*letters, *words]
    raise DescriptionError(
        f"no fraction of {factors} two-level factors has resolution {resolution}",
        remedy=f"use a resolution of at most {factors}, or the design full-factorial."
        if factors >= 3
        else "use the design full-factorial.",
    )


def _words(base: int, wanted: int, resolution: int) -> list[int] | None:
    """``wanted`` words (bit masks of base factors), or None if the search finds fewer."""
    chosen: list[int] = []
    products = [(0, 0)]  # of the chosen words: the product, and its number of generated factors
    for word in range(1, 1 << base):
        new = [(p ^ word, n + 1) for p, n in products]
        if all(p.bit_count() + n >= resolution for p, n in new):
            chosen.append(word)
            products += new
        if len(chosen) == wanted:
            return chosen
    return None


def _refuse_unknown_letters(words: list[str]) -> None:
    """Raise an error for a letter that is no word: it would add runs without information."""
    letters = {letter for word in words for letter in word.lower() if letter.isalpha()}
    alone = {word.lower().lstrip("+-") for word in words}
    for letter in sorted(letters - alone):
        raise DescriptionError(
            f"generators: the letter '{letter}' is not the word of a factor",
            remedy="use each letter once as a word: 'a b c abc'.",
        )


def _refuse_useless(signs: Signs, names: list[str]) -> None:
    """Raise an error for generators that make two factors equal, or a factor constant."""
    for (i, a), (j, b) in itertools.combinations(enumerate(names), 2):
        if abs(float(signs[:, i] @ signs[:, j])) == len(signs):
            raise DescriptionError(
                f"generators: '{a}' and '{b}' would always change together",
                remedy="use a different word for each factor.",
            )
    for i, name in enumerate(names):
        if abs(float(signs[:, i].sum())) == len(signs):
            raise DescriptionError(
                f"generators: '{name}' would never change", remedy="use each letter once in a word."
            )
