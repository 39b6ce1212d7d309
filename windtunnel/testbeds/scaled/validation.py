"""The studies of a validation: a reference, and models of it at smaller scales."""

from __future__ import annotations

from windtunnel.testbeds.base import ValidationStudy
from windtunnel.testbeds.scaled.scale import Combine, Scale, ScaledOptions

PARTS = (2, 4)
"""The models have 1/2 and 1/4 of the rates and of the data of the reference."""


def validation_studies(reference: Scale) -> list[ValidationStudy]:
    """The reference, then its models.

    The reference has a scale of its own, because a description has whole cores only and this
    machine has few. The time of a trial is that of the reference: rates and data shrink alike.
    """
    names = {1: "reference"} | {part: f"model-1-{part}" for part in PARTS}
    combine = None if reference.combine == Combine() else reference.combine
    return [
        ValidationStudy(
            name,
            ScaledOptions(
                rate=reference.rate / part,
                data=reference.data / part,
                combine=combine,
                core_speed=reference.core_speed,
            ),
        )
        for part, name in names.items()
    ]
