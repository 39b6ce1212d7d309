"""One results folder of a bundle, read and analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.results.folder import Results


@dataclass(frozen=True)
class Described:
    """One results folder of a bundle, analysed: ``name`` is its path below ``results``."""

    name: str
    results: Results
    analysis: Analysis
    settings: Sequence[Mapping[str, Any]]
    machine: Mapping[str, Any]
    software: Mapping[str, Any]
