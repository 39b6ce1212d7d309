"""The contract of a design: its options, its treatments and the effects that it confounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from windtunnel.errors import DescriptionError
from windtunnel.study.closed import Closed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TREATMENTS = 20_000
Combination = dict[str, str]
"""Factor -> label of its level."""
Labels = Mapping[str, Sequence[str]]
"""Factor -> labels of all its levels."""
Signs: TypeAlias = "NDArray[np.float64]"
"""Runs x factors, -1 for the baseline level and +1 for the other one."""


class Options(Closed):
    """Base of the options of a design; ``kind`` is its name in the study file."""

    kind: str

    @abstractmethod
    def combinations(self, labels: Labels, baseline: Combination) -> list[Combination]:
        """The treatments; raises DescriptionError if the factors do not suit the design."""

    @abstractmethod
    def confounded(self, labels: Labels, chosen: Sequence[Combination]) -> list[str]:
        """A line for each group of effects that these treatments cannot separate."""

    def to_record(self) -> dict[str, Any]:
        """The options that were given."""
        return self.model_dump(mode="json", exclude={"kind"}, exclude_none=True)


def refuse_many(number: int) -> None:
    """Raise an error before too many treatments are made.

    Raises
    ------
    DescriptionError
        If ``number`` combinations of levels are more than :data:`MOST_TREATMENTS`.
    """
    if number > MOST_TREATMENTS:
        raise DescriptionError(
            f"the factors have {number:,} combinations; at most {MOST_TREATMENTS:,} are possible",
            remedy="use the design one-factor-at-a-time or fractional-factorial, or remove levels.",
        )


def two_levels(kind: str, labels: Labels, baseline: Combination) -> list[tuple[str, str, str]]:
    """(factor, baseline level, other level) of each factor.

    Raises
    ------
    DescriptionError
        If a factor has another number of levels.
    """
    found = []
    for name, given in labels.items():
        if len(given) != 2:
            raise DescriptionError(
                f"the factor '{name}' has {len(given)} levels, and the design {kind} supports "
                "only factors with two levels",
                remedy="keep the two levels that differ most, or use the design "
                "full-factorial or one-factor-at-a-time.",
            )
        other = next(label for label in given if label != baseline[name])
        found.append((name, baseline[name], other))
    return found


def from_signs(signs: Signs, factors: Sequence[tuple[str, str, str]]) -> list[Combination]:
    """The treatments of a matrix of signs."""
    return [
        {
            name: high if sign > 0 else low
            for sign, (name, low, high) in zip(run, factors, strict=True)
        }
        for run in signs
    ]


def to_signs(labels: Labels, chosen: Sequence[Combination]) -> Signs:
    """The matrix of signs of two-level treatments: the first label is -1."""
    import numpy as np  # only some designs need NumPy

    first = {name: given[0] for name, given in labels.items()}
    rows = [[-1.0 if run[name] == first[name] else 1.0 for name in labels] for run in chosen]
    return np.array(rows, dtype=float).reshape(len(chosen), len(labels))


def with_baseline(signs: Signs, run: int) -> Signs:
    """The same design with signs of columns inverted so that ``run`` is the baseline.

    An inverted column stays balanced and orthogonal to the others. The baseline has to be among the
    treatments, because the effects are differences from it.
    """
    import numpy as np

    return np.asarray(signs * -signs[run], dtype=float)
