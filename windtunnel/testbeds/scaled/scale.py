"""The scale of a model: how much slower its parts are, and how much smaller its data.

Time shrinks by ``data / rate``: data a thousandth as large behind parts a fortieth as fast
take a twenty-fifth of the time.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction as Ratio
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from windtunnel.cluster.hosts import Part

_NUMBER = r"\d+(?:\.\d+)?"
_FRACTION = re.compile(rf"\s*({_NUMBER})\s*/\s*({_NUMBER})\s*")


def parse_share(value: object) -> float:
    """``1/40`` or ``0.025`` -> 0.025; more than 0 and at most 1.

    Raises
    ------
    ValueError
        For everything else, with what to write.
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
    text = value if isinstance(value, str) else ""
    if match := _FRACTION.fullmatch(text):
        over, under = (Ratio(part) for part in match.groups())
        return float(over / under) if under else None
    return float(text) if re.fullmatch(rf"\s*{_NUMBER}\s*", text) else None


def format_share(value: float) -> str:
    """``1/40`` where the number is one over a whole number, else the number."""
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


class Scale(Part):
    """``rate``: speed of disks, network and CPU, ``data``: amount of data and of memory for it."""

    rate: Share = Field(description="Speed of the model's disks, NICs, uplinks and CPUs.")
    data: Share = Field(description="Size of the model's data, blocks, buffers and caches.")

    @property
    def time(self) -> float:
        """Seconds in the model per second at full size, where shaped parts alone decide."""
        return self.data / self.rate

    def __str__(self) -> str:
        return f"{{rate: {format_share(self.rate)}, data: {format_share(self.data)}}}"


FULL_SIZE = Scale.model_construct(rate=1.0, data=1.0)
