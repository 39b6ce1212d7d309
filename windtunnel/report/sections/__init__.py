"""The registry of sections. A new section is one module here and one line in SECTIONS.

A function makes a section from an analysis; it returns None if the study has no data for it.
Every renderer (terminal, page, Markdown, JSON) shows the same sections. They are sorted by group,
and within a group in the order of SECTIONS, with the sections of plug-ins last.
"""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.plugins import Registry, warn
from windtunnel.report.sections.base import GROUPS, Maker, Section


def _admit(name: str, maker: Any) -> None:
    """Refuse an object that is not a function for a section."""
    if not callable(maker):
        raise ValueError("it is no function that makes a Section from an Analysis")


_HERE = "windtunnel.report.sections"
SECTIONS: Registry[Maker] = Registry(
    "sections",
    "section",
    {
        "findings": f"{_HERE}.findings:section",
        "effects": f"{_HERE}.effects:section",
        "observed": f"{_HERE}.observed:section",
        "faults": f"{_HERE}.faults:section",
        "copies": f"{_HERE}.replicas:section",
        "storage": f"{_HERE}.storage:section",
        "formats": f"{_HERE}.formats:section",
        "keyvalue": f"{_HERE}.keyvalue:section",
        "ranking": f"{_HERE}.ranking:section",
        "overall": f"{_HERE}.overall:section",
        "winners": f"{_HERE}.winners:section",
        "scaling": f"{_HERE}.scaling:section",
        "figures": f"{_HERE}.own_metrics:section",
        "sizes": f"{_HERE}.sizes:section",
        "mix": f"{_HERE}.mix:section",
        "energy": f"{_HERE}.energy:section",
        "price": f"{_HERE}.price:section",
        "bottleneck": f"{_HERE}.bottleneck:section",
        "cells": f"{_HERE}.cells:section",
        "moved": f"{_HERE}.moved:section",
        "tails": f"{_HERE}.tails:section",
        "trials": f"{_HERE}.trials:section",
        "treatments": f"{_HERE}.treatments:section",
        "invalid": f"{_HERE}.trials:invalid",
        "warnings": f"{_HERE}.cautions:section",
        "similarity": f"{_HERE}.similarity:section",
        "calibration": f"{_HERE}.calibration:section",
        "walls": f"{_HERE}.host_machine:section",
        "limits": f"{_HERE}.limits:section",
        "sample_size": f"{_HERE}.sample_size:section",
        "statistics": f"{_HERE}.statistics:section",
    },
    _admit,
)
"""What makes each section, by the section's id."""


def sections(analysis: Analysis) -> list[Section]:
    """The sections that this study has, sorted by group."""
    return analysis.once(_sections)


def headline(analysis: Analysis) -> str:
    """The study's answer in one sentence: that of the first section with one, or of the times."""
    answer = next((section.answer for section in sections(analysis) if section.answer), None)
    return analysis.answer if answer is None else f"{answer}."


def _sections(analysis: Analysis) -> list[Section]:
    plugged = SECTIONS.plugged()
    found = [
        _guarded(name, maker, analysis) if name in plugged else maker(analysis)
        for name, maker in SECTIONS.items()
    ]
    order = list(GROUPS)
    made = [section for section in found if section is not None]
    return sorted(made, key=lambda section: order.index(section.group))


def _guarded(name: str, maker: Maker, analysis: Analysis) -> Section | None:
    """The section of a plug-in; None, with a warning, if it cannot be used."""
    try:
        made = maker(analysis)
    # whatever its code raises: the report has other sections
    except Exception as error:
        warn(f"{SECTIONS.describe(name)} is omitted: {type(error).__name__}: {error}")
        return None
    if made is not None and (made.id != name or made.group not in GROUPS):
        warn(
            f"{SECTIONS.describe(name)} is omitted: it has the id '{made.id}' and the group "
            f"'{made.group}'; the id must be its name, the group one of {', '.join(GROUPS)}"
        )
        return None
    return made
