"""``one-factor-at-a-time``: changes of single factors, as in the published studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.study.designs.base import Combination, Labels, Options


class OneFactorAtATime(Options):
    """The baseline, and each other level of each factor with the other factors at the baseline."""

    kind: Literal["one-factor-at-a-time"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """The baseline first."""
        found = [dict(baseline)]
        for name, given in labels.items():
            found += [baseline | {name: label} for label in given if label != baseline[name]]
        return found

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """The interactions: no treatment combines two changes."""
        from windtunnel.study.designs.aliases import lost_interactions  # loads NumPy

        lost = lost_interactions(labels, chosen)
        if not lost:
            return []
        return [
            f"interactions cannot be estimated ({', '.join(lost)}): no two factors change "
            "together, so each effect applies only to the baseline of the other factors"
        ]
