"""Designs: which combinations of levels become treatments, and what that choice confounds.

A new design is one module with one class, and one entry in :data:`DESIGNS` and in the union.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from windtunnel.cluster import blame
from windtunnel.study.designs.ab import AB
from windtunnel.study.designs.base import Combination, Labels, Options
from windtunnel.study.designs.fractional_factorial import FractionalFactorial
from windtunnel.study.designs.full_factorial import FullFactorial
from windtunnel.study.designs.one_factor_at_a_time import OneFactorAtATime
from windtunnel.study.designs.plackett_burman import PlackettBurman

__all__ = ["DESIGNS", "Combination", "Design", "Labels", "Options"]

DESIGNS: dict[str, type[Options]] = {
    "full-factorial": FullFactorial,
    "one-factor-at-a-time": OneFactorAtATime,
    "fractional-factorial": FractionalFactorial,
    "plackett-burman": PlackettBurman,
    "ab": AB,
}


def _by_name(given: object) -> object:
    """``NAME`` stands for ``{kind: NAME}``; names and keys are looked at here, for good messages.

    (A union would answer with the keys of all designs together.)
    """
    if isinstance(given, Options):
        return given
    options: dict[str, Any] = dict(given) if isinstance(given, dict) else {"kind": given}
    kind = options.get("kind")
    where = ("kind",) if isinstance(given, dict) and "kind" in given else ()
    if not isinstance(kind, str) or kind not in DESIGNS:
        said = "the key 'kind' is missing" if kind is None else f"there is no design '{kind}'"
        raise blame(said, *where, remedy=f"the designs are: {', '.join(DESIGNS)}.")
    known = [name for name in DESIGNS[kind].model_fields if name != "kind"]
    for key in options:
        if key != "kind" and key not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise blame(f"the design {kind} has no option '{key}'", key, remedy=f"{has}.")
    return options


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
