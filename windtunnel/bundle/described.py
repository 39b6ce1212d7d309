"""One results folder of a bundle, read and analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.results.folder import Results


@dataclass(frozen=True)
class Described:
    """One results folder of a bundle, analysed: ``name`` is its path below ``results``.

    ``machines`` are the facts of all machines on which trials ran. ``software`` is that of all
    trials: lists of versions of Hadoop (``hadoop``) and of jars, and the engines by name.
    """

    name: str
    results: Results
    analysis: Analysis
    settings: Sequence[Mapping[str, Any]]
    machines: Sequence[Mapping[str, Any]]
    software: Mapping[str, Any]
