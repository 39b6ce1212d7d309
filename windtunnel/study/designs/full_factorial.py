"""``full-factorial``: every combination of levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.study.designs.base import Combination, Labels, Options, refuse_many


class FullFactorial(Options):
    """Every combination of levels: all effects and interactions can be separated."""

    kind: Literal["full-factorial"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """All combinations; the last factor varies fastest."""
        del baseline
        refuse_many(math.prod(map(len, labels.values())))
        runs = itertools.product(*labels.values())
        return [dict(zip(labels, run, strict=True)) for run in runs]

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Nothing: the columns of all effects are linearly independent."""
        return []
