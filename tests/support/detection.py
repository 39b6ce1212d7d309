"""How many planted errors a review of tables finds, and how many points correct tables have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import tests.support.planted_text  # noqa: F401  (more kinds of errors)
from tests.support.planted import Planted, Tables, plant
from tests.support.published import case_of
from tests.support.random_study import random_study
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import TABLES, arithmetic
from windtunnel.published.mapping import Map
from windtunnel.published.merging import once

STUDIES = ("cisco-2014", "vmware-2011", "cern-2016", "intel-2012", "mellanox-2014")


@dataclass(frozen=True)
class Outcome:
    """One planted error: where, and the points that it added."""

    study: str
    planted: Planted
    points: tuple[Point, ...]

    @property
    def found(self) -> bool:
        """Whether a new point is about a row that the error touched."""
        rows = {f"{self.planted.file}:{line}" for line in self.planted.lines}
        return any(not rows.isdisjoint(_rows(point)) for point in self.points)


def _rows(point: Point) -> set[str]:
    places = {":".join(cell.split(":")[:2]) for cell in point.cells}
    for source in (point.stated_source, point.found_source):
        places |= {part.split(" (")[0].strip() for part in source.split("; ")}
    return places


def random_case(seed: int) -> Case:
    """The case of a random study, without a results folder: only its tables are reviewed."""
    study = random_study(seed)
    return Case(
        results=case_of("intel-2012").results,
        tables=study.tables,
        mapped=Map.model_validate(study.mapped),
    )


def points_of(case: Case, tables: Tables | None = None) -> list[Point]:
    """The points of the tables alone: relations of ``review.yaml`` and the checks of all tables."""
    if tables is not None:
        case = replace(case, tables=tables)
    found = list(arithmetic.equations(case))
    for check in TABLES:
        found += check.run(case)
    return once(found)


def outcomes(
    name: str, case: Case, kind: str, seeds: range, clean: Mapping[tuple[str, ...], int]
) -> Iterator[Outcome]:
    """Plant one error per seed into a case and review it."""
    for seed in seeds:
        planted = plant(kind, case.tables, seed)
        if planted is not None:
            points = [p for p in points_of(case, planted.tables) if key(p) not in clean]
            yield Outcome(name, planted, tuple(points))


def key(point: Point) -> tuple[str, ...]:
    """What makes two points the same."""
    return point.check, point.subject, point.stated, point.found
