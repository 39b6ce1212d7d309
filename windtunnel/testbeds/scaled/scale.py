"""The scale of a model: the factors of its rates and of its data.

Time is reduced by ``data / rate``: with 1/1000 of the data at 1/40 of the rates, a phase takes 1/25
of the time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction as Ratio
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from windtunnel.cluster import blame
from windtunnel.cluster.hosts import Part
from windtunnel.testbeds.base import TestbedOptions

_NUMBER = r"\d+(?:\.\d+)?"
_FRACTION = re.compile(rf"({_NUMBER})\s*/\s*({_NUMBER})")


def parse_share(value: object) -> float:
    """``1/40`` or ``0.025`` -> 0.025; more than 0 and at most 1.

    Raises
    ------
    ValueError
        For other values, with the accepted form.
    """
    number = _number(value)
    if number is None or not math.isfinite(number):
        raise ValueError(
            f"must be a fraction such as 1/40 or a number such as 0.025, not {value!r}"
        )
    if not 0 < number <= 1:
        raise ValueError(f"must be more than 0 and at most 1, not {value}: a model is not larger")
    return number


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = value.strip() if isinstance(value, str) else ""
    if match := _FRACTION.fullmatch(text):
        over, under = (Ratio(part) for part in match.groups())
        return float(over / under) if under else None
    return float(text) if re.fullmatch(_NUMBER, text) else None


def format_share(value: float) -> str:
    """``1/40`` if the number is the reciprocal of a whole number, otherwise the number."""
    under = round(1 / value)
    return f"1/{under}" if under > 1 and float(Ratio(1, under)) == value else f"{value:g}"


Share = Annotated[
    float,
    BeforeValidator(parse_share),
    WithJsonSchema(
        {
            "description": "a fraction: 1/40 or 0.025",
            "anyOf": [
                {
                    "type": "string",
                    "pattern": rf"^\s*{_NUMBER}\s*(/\s*{_NUMBER}\s*)?$",
                    "examples": ["1/40"],
                },
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            ],
        }
    ),
]


class Combine(Part):
    """How many slots, disks and waves of the full size are one of the model."""

    slots: Annotated[int, Field(strict=True, ge=1)] = Field(
        1,
        description="Slots of a full-size host for each slot of the model; also for reduce tasks.",
    )
    disks: Annotated[int, Field(strict=True, ge=1)] = Field(
        1,
        description="Disks of a full-size host for each disk of the model, with their total rate.",
    )
    waves: Annotated[int, Field(strict=True, ge=1)] = Field(
        1,
        description="Full-size waves of maps for each wave of the model; blocks are larger.",
    )

    def __str__(self) -> str:
        factors = [f"{name}: {value}" for name, value in self if value != 1]
        return "{" + ", ".join(factors) + "}"


class Scale(Part):
    """``rate`` scales the speed of disks, network and CPU, ``data`` the amounts of data.

    ``combine`` has the parts that the model combines to fewer. ``core_speed`` is the work of a core
    of this machine, relative to a core of the described hosts, while the core probe takes
    ``core_probe_ms``; None: CPU quotas do not follow the probe.
    """

    rate: Share = Field(description="Rate of disks, NICs, uplinks and CPUs relative to full size.")
    data: Share = Field(
        description="Size of data, blocks, buffers and caches relative to full size."
    )
    combine: Combine = Combine()
    core_speed: float = 1.0
    core_probe_ms: float | None = None

    @property
    def time(self) -> float:
        """Seconds in the model per second at full size, if only limited resources matter."""
        return self.data / self.rate

    def __str__(self) -> str:
        more = "" if self.combine == Combine() else f", combine: {self.combine}"
        if self.core_speed != 1.0:
            more += f", core_speed: {self.core_speed:g}"
        if self.core_probe_ms is not None:
            more += f", core_probe_ms: {self.core_probe_ms:g}"
        return f"{{rate: {format_share(self.rate)}, data: {format_share(self.data)}{more}}}"


class ScaledOptions(TestbedOptions):
    """Options of the testbed ``scaled``."""

    kind: Literal["scaled"] = "scaled"
    rate: Share = Field(description="Rate of disks, NICs, uplinks and CPUs relative to full size.")
    data: Share = Field(
        description="Size of data, blocks, buffers and caches relative to full size."
    )
    combine: Combine | None = Field(
        None,
        description="How many slots, disks and waves of the full size become one in the model, "
        "which then has fewer JVMs. Default: none are combined.",
    )
    core_speed: float = Field(
        1.0,
        gt=0,
        description="Work of a core of this machine, relative to a core of the described hosts. "
        "CPU quotas are divided by it.",
    )
    core_probe_ms: float | None = Field(
        None,
        gt=0,
        description="CPU time of the core probe, in milliseconds, for which `core_speed` is valid. "
        "With it, CPU quotas follow the probe, so that hosts do the same work while the cores of "
        "this machine change their speed. The metric `core_probe` of a trial has the value.",
    )
    cpu_s_per_gb: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="CPU time of the tasks per GB of data at full size, by phase, in seconds. The "
        "report compares `core_speed` with it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _has_a_scale(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not {"rate", "data"} & given.keys():
            raise blame(
                "the testbed 'scaled' requires the options 'rate' and 'data', the factors of "
                "speed and size of the model",
                remedy="'windtunnel plan STUDY --propose' proposes both for this machine.",
            )
        return given

    @property
    def scale(self) -> Scale:
        """Both options as one value."""
        return Scale(
            rate=self.rate,
            data=self.data,
            combine=self.combine or Combine(),
            core_speed=self.core_speed,
            core_probe_ms=self.core_probe_ms,
        )

    @property
    def data_fraction(self) -> float:
        """The fraction of the data of a workload that runs in the model."""
        return self.data

    @property
    def task_fraction(self) -> float:
        """The fraction of the tasks of a workload that run in the model."""
        return 1 / self.scale.combine.slots

    def to_record(self) -> dict[str, Any]:
        """The options that determine what is measured, without parts that are not given."""
        return self.model_dump(
            mode="json",
            exclude={"kind", "cpu_s_per_gb"},
            exclude_none=True,
            exclude_defaults=True,
        )

    def words(self) -> str:
        """``rate 1/40, data 1/1000``."""
        more = "" if self.scale.combine == Combine() else f", combine {self.scale.combine}"
        if self.core_speed != 1.0:
            more += f", core speed {self.core_speed:g}"
        if self.core_probe_ms is not None:
            more += f" at a core probe of {self.core_probe_ms:g} ms"
        return f"rate {format_share(self.rate)}, data {format_share(self.data)}{more}"


FULL_SIZE = Scale.model_construct(rate=1.0, data=1.0)
