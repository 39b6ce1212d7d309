"""``optimal``: the few treatments whose measurement determines the physics model best."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from windtunnel.errors import DescriptionError
from windtunnel.study.designs.base import Combination, Labels, Options

if TYPE_CHECKING:
    from windtunnel.model.hardware import Hardware
    from windtunnel.model.jobs import Job

MOST_CANDIDATES = 20_000
Work = Callable[[Combination], "list[tuple[Hardware, Job]]"]
"""The predicted phases of a treatment."""


class Optimal(Options):
    """The few combinations of levels whose times determine the constants of the physics model best.

    The baseline is among them. Fit the model to their times, and predict the other combinations.
    """

    kind: Literal["optimal"] = Field(description="Name of the design.")
    treatments: int = Field(ge=2, description="Number of treatments, with the baseline.")

    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """All candidates, the baseline first; :meth:`chosen` selects from them."""
        number = 1
        for given in labels.values():
            number *= len(given)
        if not self.treatments <= number <= MOST_CANDIDATES:
            combinations = "combination" if number == 1 else "combinations"
            raise DescriptionError(
                f"the factors have {number:,} {combinations}, and the design {self.kind} selects "
                f"{self.treatments} of at most {MOST_CANDIDATES:,}",
                remedy="change the number of treatments or of levels; full-factorial has all "
                "combinations.",
            )
        runs = (dict(zip(labels, run, strict=True)) for run in itertools.product(*labels.values()))
        return [dict(baseline), *(run for run in runs if run != baseline)]

    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """The effects that the treatments alone, without the model, cannot estimate."""
        from windtunnel.study.designs.aliases import lost_interactions, lost_mains  # loads NumPy

        lines = []
        mains, pairs = lost_mains(labels, chosen), lost_interactions(labels, chosen)
        if mains:
            lines.append(f"not all levels can be compared without the model: {', '.join(mains)}")
        if pairs:
            lines.append(f"interactions cannot be estimated: {', '.join(pairs)}")
        return lines

    def selected(self, candidates: Sequence[Combination], work: Work) -> list[Combination]:
        """The treatments: the first candidate, and those that add most to the information.

        Raises
        ------
        DescriptionError
            If the model has no equations for any phase of the study.
        """
        from windtunnel.model.information import most_informative

        rows = [work(one) for one in candidates]
        if not any(rows):
            raise DescriptionError(
                f"the physics model has no equations for these workloads, which the design "
                f"{self.kind} needs",
                remedy="use another design, such as fractional-factorial.",
            )
        return [candidates[place] for place in most_informative(rows, self.treatments)]
