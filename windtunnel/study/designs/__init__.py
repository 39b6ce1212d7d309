"""Designs: they select the combinations of levels that become treatments.

A new design needs one module with one class, and one entry in :data:`DESIGNS` and in the union.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from windtunnel.cluster.kinds import options_of_kind
from windtunnel.study.designs.ab import AB
from windtunnel.study.designs.base import Combination, Labels, Options
from windtunnel.study.designs.fractional_factorial import FractionalFactorial
from windtunnel.study.designs.full_factorial import FullFactorial
from windtunnel.study.designs.one_factor_at_a_time import OneFactorAtATime
from windtunnel.study.designs.optimal import Optimal
from windtunnel.study.designs.plackett_burman import PlackettBurman

__all__ = ["DESIGNS", "Combination", "Design", "Labels", "Options"]

DESIGNS: dict[str, type[Options]] = {
    "full-factorial": FullFactorial,
    "one-factor-at-a-time": OneFactorAtATime,
    "fractional-factorial": FractionalFactorial,
    "plackett-burman": PlackettBurman,
    "ab": AB,
    "optimal": Optimal,
}


def _by_name(given: object) -> object:
    """Accept ``NAME`` for ``{kind: NAME}``."""
    return given if isinstance(given, Options) else options_of_kind(given, DESIGNS, "design")


class _NameOrOptions:
    """Adds the name alone to the accepted types of the JSON Schema."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [{"type": "string", "enum": list(DESIGNS)}, *whole["oneOf"]]}


Design = Annotated[
    FullFactorial | OneFactorAtATime | FractionalFactorial | PlackettBurman | AB | Optimal,
    Field(discriminator="kind"),
    BeforeValidator(_by_name),
    _NameOrOptions(),
]
