"""Testbeds: where a cluster description becomes measurable. A new one is one line here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from windtunnel.cluster import Located, options_of_kind, validate
from windtunnel.errors import UsageError
from windtunnel.plugins import Registry, check_class
from windtunnel.testbeds.base import (
    ClusterTestbed,
    Notify,
    PredictingTestbed,
    TestbedOptions,
)

AnyTestbed = ClusterTestbed | PredictingTestbed


def _admit(name: str, kind: Any) -> None:
    """Refuse an object that is not a testbed."""
    predicts = isinstance(kind, type) and issubclass(kind, PredictingTestbed)
    base = PredictingTestbed if predicts else ClusterTestbed
    check_class(name, kind, base, ("about", "options_type"))


TESTBEDS: Registry[type[ClusterTestbed] | type[PredictingTestbed]] = Registry(
    "testbeds",
    "testbed",
    {
        "local": "windtunnel.testbeds.local:LocalTestbed",
        "scaled": "windtunnel.testbeds.scaled.testbed:ScaledTestbed",
        "modelled": "windtunnel.testbeds.modelled:ModelledTestbed",
        "attached": "windtunnel.testbeds.attached.testbed:AttachedTestbed",
    },
    _admit,
)

DEFAULT = "local"
"""The testbed of a study without the key ``testbed``."""


def make_testbed(options: TestbedOptions, logs: Path, notify: Notify) -> AnyTestbed:
    """The testbed with these options."""
    return find_testbed(options.kind)(logs, notify, options)


def cluster_testbed(options: TestbedOptions, logs: Path, notify: Notify) -> ClusterTestbed:
    """The testbed with these options; UsageError if it does not start clusters."""
    made = make_testbed(options, logs, notify)
    if isinstance(made, PredictingTestbed):
        others = [n for n, kind in TESTBEDS.items() if issubclass(kind, ClusterTestbed)]
        raise UsageError(
            f"the testbed '{options.kind}' starts no cluster", remedy=f"use {' or '.join(others)}."
        )
    return made


def find_testbed(name: str) -> type[ClusterTestbed] | type[PredictingTestbed]:
    """The class of the testbed with a name.

    Raises
    ------
    DescriptionError
        If there is none.
    SetupError
        If it is a plug-in's and cannot be loaded.
    """
    return TESTBEDS.find(name, "testbed")


def parse_options(name: str, given: dict[str, Any]) -> TestbedOptions:
    """Options of a testbed from values of a file; DescriptionError if one of them is invalid."""
    return validate(find_testbed(name).options_type, Located({"kind": name, **given}))


def _options(given: object) -> object:
    """Accept ``NAME`` for ``{kind: NAME}``; the kind determines the type."""
    if isinstance(given, TestbedOptions):
        return given
    options = options_of_kind(given, TESTBEDS, "testbed", lambda kind: kind.options_type)
    return TESTBEDS[options["kind"]].options_type.model_validate(options)


class _NameOrOptions:
    """Adds the names of the testbeds and their options to the JSON Schema."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        kinds = [handler(kind.options_type.__pydantic_core_schema__) for kind in TESTBEDS.values()]
        return {"anyOf": [{"type": "string", "enum": list(TESTBEDS)}, *kinds]}


TestbedChoice = Annotated[TestbedOptions, BeforeValidator(_options), _NameOrOptions()]
"""``testbed:`` of a study: a name, or ``{kind: NAME, ...}`` with the testbed's options."""
