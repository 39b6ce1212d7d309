"""``full-factorial``: every combination of levels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.study.designs.base import Combination, Labels, Options


class FullFactorial(Options):
    """Every combination of levels: all effects and interactions can be separated."""

    kind: Literal["full-factorial"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """All combinations; the last factor varies fastest."""
        del baseline
        runs = itertools.product(*labels.values())
        return [dict(zip(labels, run, strict=True)) for run in runs]

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Nothing: the columns of all effects are linearly independent."""
        return []
