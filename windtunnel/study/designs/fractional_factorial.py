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
    to_signs,
    two_levels,
    with_baseline,
)

_MOST_FACTORS = 15  # beyond, screening is what one wants


class FractionalFactorial(Options):
    """A regular 2^(k-p) fraction: give the wanted resolution, or the generators.

    Resolution 3: main effects are aliased with two-factor interactions; 4: two-factor
    interactions with each other; 5: all of both can be told apart.
    """

    kind: Literal["fractional-factorial"] = Field(description="Name of the design.")
    resolution: int | None = Field(
        None, ge=3, le=_MOST_FACTORS, description="Least resolution; 3, 4 or 5 in practice."
    )
    generators: str | None = Field(
        None,
        description="A word for each factor, in their order, instead of a resolution: "
        "'a b c -abc' makes the fourth the product of the first three, turned around.",
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
            raise _mistake(f"'{self.generators}' are no generators", "write them as 'a b c abc'")
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
                    remedy=f"write a word for each of: {', '.join(labels)}.",
                )
            _refuse_unknown_letters(words)
            try:
                signs = fracfact(" ".join(words))
            except ValueError as error:
                raise DescriptionError(
                    f"generators: '{self.generators}' make no design: {error}",
                    remedy="write each letter once alone and give each factor a word of its own: "
                    "'a b c abc'.",
                ) from None
            _refuse_useless(signs, list(labels))
            return from_signs(signs, factors)
        words = generators_for(len(factors), self.resolution or 3)
        return from_signs(with_baseline(fracfact(" ".join(words)), 0), factors)

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Aliases, from the matrix."""
        from windtunnel.study.designs.aliases import alias_lines  # loads NumPy

        return alias_lines(to_signs(labels, chosen), list(labels))


def _mistake(message: str, remedy: str) -> PydanticCustomError:
    return blame(message, remedy=remedy)


def generators_for(factors: int, resolution: int) -> list[str]:
    """Generators of a small fraction with at least this resolution.

    The words of the defining relation are a binary code and the resolution is its least
    distance, so that products of generators count as well as the generators themselves.
    (pyDOE3's ``fracfact_by_res`` looks at the generators alone: asked for resolution 5 with 8
    factors it gives 4.) Words are added greedily, as in a lexicographic code.

    Raises
    ------
    DescriptionError
        If nothing smaller than the full factorial has the resolution, or there are too many
        factors.
    """
    if factors > _MOST_FACTORS:
        raise DescriptionError(
            f"the design fractional-factorial takes up to {_MOST_FACTORS} factors by resolution, "
            f"and there are {factors}",
            remedy="screen them first with the design plackett-burman, or give 'generators'.",
        )
    for base in range(2, factors):
        chosen = _words(base, factors - base, resolution)
        if chosen is not None:
            letters = string.ascii_lowercase[:base]
            words = ["".join(c for i, c in enumerate(letters) if w >> i & 1) for w in chosen]
            return [*letters, *words]
    raise DescriptionError(
        f"no fraction of {factors} two-level factors has resolution {resolution}",
        remedy=f"ask for a resolution of {factors} at most, or use the design full-factorial."
        if factors >= 3
        else "use the design full-factorial.",
    )


def _words(base: int, wanted: int, resolution: int) -> list[int] | None:
    """``wanted`` words (bit masks of base factors), or None if the search finds fewer."""
    chosen: list[int] = []
    products = [(0, 0)]  # of the chosen: word, how many generated factors it holds
    for word in range(1, 1 << base):
        new = [(p ^ word, n + 1) for p, n in products]
        if all(p.bit_count() + n >= resolution for p, n in new):
            chosen.append(word)
            products += new
        if len(chosen) == wanted:
            return chosen
    return None


def _refuse_unknown_letters(words: list[str]) -> None:
    """A letter that no factor has alone would add runs and no information."""
    letters = {letter for word in words for letter in word.lower() if letter.isalpha()}
    alone = {word.lower().lstrip("+-") for word in words}
    for letter in sorted(letters - alone):
        raise DescriptionError(
            f"generators: no factor has the letter '{letter}' alone",
            remedy="write each letter once alone: 'a b c abc'.",
        )


def _refuse_useless(signs: Signs, names: list[str]) -> None:
    """Generators that make two factors one, or hold a factor fixed."""
    for (i, a), (j, b) in itertools.combinations(enumerate(names), 2):
        if abs(float(signs[:, i] @ signs[:, j])) == len(signs):
            raise DescriptionError(
                f"generators: '{a}' and '{b}' would always change together",
                remedy="give each factor a word of its own.",
            )
    for i, name in enumerate(names):
        if abs(float(signs[:, i].sum())) == len(signs):
            raise DescriptionError(
                f"generators: '{name}' would never change", remedy="use each letter once in a word."
            )
