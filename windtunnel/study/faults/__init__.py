"""Faults: failures that the study injects into trials, with their time and duration.

A fault belongs to a treatment: it is the fault of the study, or a level of a factor sets it. The
overrides of the treatment contain it at the path :data:`FAULT`, as plain data. A new kind of fault
needs one class and one entry in :data:`FAULTS` and in the union.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from windtunnel.cluster import Located, blame, validate
from windtunnel.cluster.kinds import options_of_kind
from windtunnel.cluster.validation_messages import shown
from windtunnel.results.record import FAULT, Treatment
from windtunnel.study.closed import Closed
from windtunnel.study.faults.base import Options
from windtunnel.study.faults.cut import CutLink
from windtunnel.study.faults.decommission import Decommission
from windtunnel.study.faults.degrade import FillDisk, SlowDisk, SlowNic
from windtunnel.study.faults.kill import KillDaemon, KillHost

__all__ = ["FAULT", "FAULTS", "Faults", "Options", "faults_of", "plain_faults", "read_level"]

FAULTS: dict[str, type[Options]] = {
    "kill-daemon": KillDaemon,
    "kill-host": KillHost,
    "decommission": Decommission,
    "cut-link": CutLink,
    "slow-disk": SlowDisk,
    "slow-nic": SlowNic,
    "fill-disk": FillDisk,
}


def _by_kind(given: object) -> object:
    return given if isinstance(given, Options) else options_of_kind(given, FAULTS, "fault")


def _one_or_many(given: object) -> object:
    if isinstance(given, dict | str | Options):
        return [given]
    if not isinstance(given, list | tuple):
        raise blame(
            "must be a fault, such as {kind: kill-host, host: worker-1}, or a list of faults, not "
            f"{shown(given)}"
        )
    return given


class _OneOrMany:
    """Adds a single fault to the accepted types of the JSON Schema."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(core))
        one = whole["items"]["oneOf"]
        return {"anyOf": [*one, {"type": "array", "items": {"anyOf": one}}]}


Fault = Annotated[
    KillDaemon | KillHost | Decommission | CutLink | SlowDisk | SlowNic | FillDisk,
    Field(discriminator="kind"),
    BeforeValidator(_by_kind),
]
Faults = Annotated[tuple[Fault, ...], BeforeValidator(_one_or_many), _OneOrMany()]

_FAULTS: TypeAdapter[tuple[Options, ...]] = TypeAdapter(Faults)


class _Level(Closed):
    """The faults of a level of a factor."""

    fault: Faults


def read_level(located: Located) -> list[dict[str, Any]]:
    """The faults of a level ``{fault: ...}`` as plain data; DescriptionError with the key."""
    return plain_faults(validate(_Level, located).fault)


def plain_faults(faults: tuple[Options, ...]) -> list[dict[str, Any]]:
    """Faults in the form in which the overrides of a treatment contain them."""
    return [fault.model_dump(mode="json", exclude_none=True) for fault in faults]


def faults_of(treatment: Treatment) -> tuple[Options, ...]:
    """The faults of a treatment; empty for most treatments."""
    return _FAULTS.validate_python(treatment.overrides.get(FAULT, []))
