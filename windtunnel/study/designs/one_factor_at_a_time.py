"""``one-factor-at-a-time``: around the baseline, as the published studies did it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from windtunnel.study.designs.base import Combination, Labels, Options


class OneFactorAtATime(Options):
    """The baseline, and each other level of each factor with all else at the baseline."""

    kind: Literal["one-factor-at-a-time"] = Field(description="Name of the design.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """The baseline first."""
        found = [dict(baseline)]
        for name, given in labels.items():
            found += [baseline | {name: label} for label in given if label != baseline[name]]
        return found

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """Interactions: no treatment holds two changes at a time."""
        from windtunnel.study.designs.aliases import lost_interactions  # loads NumPy

        lost = lost_interactions(labels, chosen)
        if not lost:
            return []
        return [
            f"interactions cannot be estimated ({', '.join(lost)}): no two factors are changed "
            "together, so each effect holds for the baseline of the other factors alone"
        ]
