"""``plackett-burman``: screening of many two-level factors with few treatments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.errors import DescriptionError
from windtunnel.study.designs.base import (
    Combination,
    Labels,
    Options,
    from_signs,
    to_signs,
    two_levels,
    with_baseline,
)


class PlackettBurman(Options):
    """Screening: N two-level factors in the next multiple of four treatments above N.

    Each main effect is estimated from all trials; it contains fractions of two-factor
    interactions. Plackett and Burman, Biometrika 33 (1946) 305-325.
    """

    kind: Literal["plackett-burman"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """The treatments; the baseline is the last one."""
        from pyDOE3 import pbdesign  # takes a second to import

        factors = two_levels(self.kind, labels, baseline)
        if len(factors) < 2:
            raise DescriptionError(
                f"the design {self.kind} needs at least two factors, and there is {len(factors)}",
                remedy="use the design ab or full-factorial.",
            )
        try:
            signs = pbdesign(len(factors))
        except AssertionError:
            raise DescriptionError(
                f"there is no Plackett-Burman design for {len(factors)} factors",
                remedy="use 2 to 23, 28 to 31 or 36 to 39 factors.",
            ) from None
        return from_signs(with_baseline(signs, -1), factors)

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Aliases and partial aliases, from the matrix of signs."""
        from windtunnel.study.designs.aliases import alias_lines  # loads NumPy

        return alias_lines(to_signs(labels, chosen), list(labels))
