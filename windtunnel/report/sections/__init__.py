"""The registry of sections. A new section is one module here and one entry in SECTIONS.

A section is made from an analysis, or is None where the study has nothing of its kind.
"""

from __future__ import annotations

from windtunnel.analysis import Analysis
from windtunnel.report.sections import (
    bottleneck,
    calibration,
    copies,
    energy,
    faults,
    figures,
    formats,
    keyvalue,
    mix,
    overall,
    price,
    ranking,
    sample_size,
    scaling,
    similarity,
    sizes,
    statistics,
    tails,
    treatments,
    walls,
    winners,
)
from windtunnel.report.sections.base import Maker, Section

SECTIONS: tuple[Maker, ...] = (
    similarity.section,
    calibration.section,
    walls.section,
    treatments.section,
    faults.section,
    copies.section,
    formats.section,
    keyvalue.section,
    ranking.section,
    overall.section,
    winners.section,
    scaling.section,
    figures.section,
    sizes.section,
    mix.section,
    bottleneck.section,
    tails.section,
    energy.section,
    price.section,
    sample_size.section,
    statistics.section,
)


def sections(analysis: Analysis) -> list[Section]:
    """The sections that this study has, in the order of the report."""
    return analysis.once(_sections)


def headline(analysis: Analysis) -> str:
    """The study's answer in one sentence: of the first section that has one, else of the times."""
    told = next((section.answer for section in sections(analysis) if section.answer), None)
    return analysis.answer if told is None else f"{told}."


def _sections(analysis: Analysis) -> list[Section]:
    made = (make(analysis) for make in SECTIONS)
    return [section for section in made if section is not None]
