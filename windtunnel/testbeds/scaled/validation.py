"""The studies of a validation: a reference, and models of it at smaller scales."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from windtunnel.testbeds.base import ValidationStudy
from windtunnel.testbeds.scaled.scale import Combine, Scale, ScaledOptions

MODELS = ((Fraction(2, 3), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
"""The rates and the data of the models, relative to the reference.

With all data, only the time changes: a trial takes 1/rate of the time of the reference. With less
data, tasks are smaller and the CPU time that does not depend on data has a larger fraction.
"""


def validation_studies(reference: Scale, core_speeds: Mapping[str, float]) -> list[ValidationStudy]:
    """The reference, then its models; ``core_speeds`` is relative to the reference, by model.

    The reference has a scale of its own, because a description has whole cores only and this
    machine has few.
    """
    scales = {"reference": (Fraction(1), Fraction(1))}
    for rate, data in MODELS:
        scales[f"model-{rate.numerator}-{rate.denominator}"] = (rate, data)
    combine = None if reference.combine == Combine() else reference.combine
    return [
        ValidationStudy(
            name,
            ScaledOptions(
                rate=reference.rate * float(rate),
                data=reference.data * float(data),
                combine=combine,
                core_speed=reference.core_speed * core_speeds.get(name, 1.0),
                core_probe_ms=reference.core_probe_ms,
            ),
        )
        for name, (rate, data) in scales.items()
    ]
