"""Review of a study: all checks of the registry, and their points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from windtunnel.analysis.evidence import SEVERITIES
from windtunnel.cluster import load_text
from windtunnel.published import PREFIX, open_results
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import CHECKS, Check
from windtunnel.published.checks.energy import EnergyRow, energy_table
from windtunnel.published.merging import once
from windtunnel.published.relations import RELATIONS, Relations, relations_from
from windtunnel.published.sources import (
    fact_table,
    facts,
    published_name,
    stored_facts,
    study_map,
)

SCHEMA = "windtunnel.review/1"


@dataclass(frozen=True)
class Review:
    """The points of a study, the serious ones first, and its recomputed table of energies."""

    study: str
    points: list[Point]
    energy: list[EnergyRow]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema": SCHEMA,
            "study": self.study,
            "count": len(self.points),
            "points": [asdict(point) for point in self.points],
            "energy": [asdict(row) for row in self.energy],
        }


def open_case(source: str) -> Case:
    """The study of a folder or of ``published:NAME``, with its facts.

    Raises
    ------
    UsageError, ResultsError, DescriptionError
        As :func:`windtunnel.published.open_results`.
    """
    results = open_results(source)
    if not source.startswith(PREFIX):
        kept = stored_facts(results.path)
        if kept is None:
            return Case(results)
        return Case(results, mapped=kept[0], tables=kept[1], relations=kept[2])
    name = published_name(source)
    tables = {file: fact_table(name, file) for file in facts(name) if file.endswith(".csv")}
    text = facts(name).get(RELATIONS)
    located = load_text(text, f"{source}/{RELATIONS}") if text else None
    return Case(
        results,
        relations=relations_from(located, tables) if located else Relations(),
        tables=tables,
        mapped=study_map(name),
        catalogue=True,
    )


def review(case: Case, checks: Sequence[Check] = CHECKS) -> Review:
    """All points, each once, by severity and then in the order of the checks."""
    points = once([point for check in checks for point in check.run(case)])
    points.sort(key=lambda point: SEVERITIES.index(point.severity))
    return Review(case.results.study.name, points, energy_table(case))
