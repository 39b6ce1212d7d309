"""Designs: which combinations of levels become treatments, and what that choice confounds.

A new design is one module with one class, and one entry in :data:`DESIGNS` and in the union.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from windtunnel.study.designs.ab import AB
from windtunnel.study.designs.base import Combination, Labels, Options
from windtunnel.study.designs.fractional_factorial import FractionalFactorial
from windtunnel.study.designs.full_factorial import FullFactorial
from windtunnel.study.designs.one_factor_at_a_time import OneFactorAtATime
from windtunnel.study.designs.plackett_burman import PlackettBurman
from windtunnel.study.kinds import options_of_kind

__all__ = ["DESIGNS", "Combination", "Design", "Labels", "Options"]

DESIGNS: dict[str, type[Options]] = {
    "full-factorial": FullFactorial,
    "one-factor-at-a-time": OneFactorAtATime,
    "fractional-factorial": FractionalFactorial,
    "plackett-burman": PlackettBurman,
    "ab": AB,
}


def _by_name(given: object) -> object:
    """``NAME`` stands for ``{kind: NAME}``."""
    return given if isinstance(given, Options) else options_of_kind(given, DESIGNS, "design")


class _NameOrOptions:
    """Lets the JSON Schema say that the name alone will do."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [{"type": "string", "enum": list(DESIGNS)}, *whole["oneOf"]]}


Design = Annotated[
    FullFactorial | OneFactorAtATime | FractionalFactorial | PlackettBurman | AB,
    Field(discriminator="kind"),
    BeforeValidator(_by_name),
    _NameOrOptions(),
]
