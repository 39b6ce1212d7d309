"""Testbeds: where a cluster description becomes measurable. One module each, one registry."""

from __future__ import annotations

from windtunnel.errors import DescriptionError
from windtunnel.testbeds.base import Testbed
from windtunnel.testbeds.local import LocalTestbed

TESTBEDS: dict[str, type[Testbed]] = {"local": LocalTestbed}


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
