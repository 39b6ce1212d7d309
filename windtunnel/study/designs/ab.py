"""``ab``: two treatments, one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.errors import DescriptionError
from windtunnel.study.designs.base import Combination, Labels, Options


class AB(Options):
    """Two treatments: the baseline A and one alternative B; made for ``protocol.detect``."""

    kind: Literal["ab"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """A, then B."""
        sizes = [len(given) for given in labels.values()]
        if sizes != [2]:
            given = ", ".join(f"{name} with {len(found)}" for name, found in labels.items())
            raise DescriptionError(
                f"the design ab needs one factor with two levels; there is {given or 'none'}",
                remedy="name what A sets and what B sets as the two levels of one factor: "
                "'factors: {variant: {a: {}, b: {PATH: VALUE, ...}}}'.",
            )
        (name, (first, second)), a = next(iter(labels.items())), baseline
        return [dict(a), {name: second if a[name] == first else first}]

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Nothing: there is one effect (of all that B changes, taken together)."""
        return []
