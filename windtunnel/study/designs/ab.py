"""``ab``: a comparison of two treatments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.errors import DescriptionError
from windtunnel.study.designs.base import Combination, Labels, Options


class AB(Options):
    """Two treatments: the baseline A and one alternative B; suits ``protocol.detect``."""

    kind: Literal["ab"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """A, then B."""
        sizes = [len(given) for given in labels.values()]
        if sizes != [2]:
            given = ", ".join(f"{name} with {len(found)}" for name, found in labels.items())
            raise DescriptionError(
                "the design ab needs one factor with two levels; "
                f"the study has {given or 'no factor'}",
                remedy="write the values of A and B as the two levels of one factor: "
                "'factors: {variant: {a: {}, b: {PATH: VALUE, ...}}}'.",
            )
        (name, (first, second)), a = next(iter(labels.items())), baseline
        return [dict(a), {name: second if a[name] == first else first}]

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Nothing: there is one effect, that of all changes of B together."""
        return []
