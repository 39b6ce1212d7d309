"""Testbeds: where a cluster description becomes measurable. One module each, one registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from windtunnel.errors import DescriptionError
from windtunnel.testbeds.base import Tell, Testbed
from windtunnel.testbeds.local import LocalTestbed
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.testbed import ScaledTestbed

TESTBEDS: dict[str, type[Testbed]] = {"local": LocalTestbed, "scaled": ScaledTestbed}


SCALED = "scaled"
"""The testbed whose clusters are models: its studies have a scale."""


def make_testbed(name: str, logs: Path, tell: Tell, scale: Scale | None = None) -> Testbed:
    """A testbed; the one of models is made with the scale and given full-size descriptions."""
    kind = find_testbed(name)
    return kind(logs, tell) if scale is None else cast(Any, kind)(logs, tell, scale=scale)


def find_testbed(name: str) -> type[Testbed]:
    """The testbed of a name.

    Raises
    ------
    DescriptionError
        If there is none.
    """
    if name not in TESTBEDS:
        raise DescriptionError(
            f"there is no testbed '{name}'", key="testbed", remedy=f"use {', '.join(TESTBEDS)}."
        )
    return TESTBEDS[name]
