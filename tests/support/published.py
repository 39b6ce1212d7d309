"""The catalogue's published studies, opened and analysed once for all tests."""

from __future__ import annotations

from functools import cache

from windtunnel.published.case import Case
from windtunnel.published.review import open_case


@cache
def case_of(name: str) -> Case:
    """The study ``published:NAME`` with its facts; its analysis is worked out once."""
    return open_case(f"published:{name}")
