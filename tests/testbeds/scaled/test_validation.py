"""The studies of a validation of scale models."""

from __future__ import annotations

from windtunnel.testbeds.scaled.scale import Combine, Scale, ScaledOptions
from windtunnel.testbeds.scaled.validation import validation_studies


def test_the_models_have_fractions_of_the_rates_and_data_of_the_reference() -> None:
    reference = Scale(
        rate=1 / 8, data=0.5, combine=Combine(slots=2), core_speed=2.0, core_probe_ms=0.6
    )
    studies = {
        study.folder: study.options for study in validation_studies(reference, {"model-2-3": 0.5})
    }
    assert list(studies) == ["reference", "model-2-3", "model-1-2"]
    scales = {}
    for name, options in studies.items():
        assert isinstance(options, ScaledOptions)
        assert options.scale.combine == reference.combine
        assert options.core_speed == (1.0 if name == "model-2-3" else 2.0)
        assert options.core_probe_ms == 0.6
        scales[name] = (options.rate, options.data)
    assert scales == {
        "reference": (1 / 8, 0.5),
        "model-2-3": (1 / 12, 0.5),
        "model-1-2": (1 / 16, 0.25),
    }
