"""Published, measured and predicted ratios side by side: table, sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.formatting import percent
from windtunnel.analysis.subjects.claims import Evidence
from windtunnel.analysis.subjects.side_by_side import LARGE, Ratios, agreements
from windtunnel.report.sections.base import Column, Table

TITLE = "Published, measured and predicted"
CAPTION = "Ratios of elapsed times, level / baseline (95 % intervals)"
NONE = "-"


def ratios_table(rows: Sequence[Ratios], testbed: str) -> Table:
    """One row per factor, level and phase; ``-`` where a source has no value.

    ``testbed`` is the one on which the ratios were measured.
    """
    cells = [
        (
            ratio_label(row, rows),
            _words(row.published),
            _words(row.measured),
            _words(row.predicted),
            row.predicted.bottleneck if row.predicted else NONE,
            row.predicted.note if row.predicted else "",
        )
        for row in rows
    ]
    heads = (
        Column("effect", weight=4),
        Column("published", numeric=True, weight=4),
        Column(f"measured on {testbed}", numeric=True, weight=4),
        Column("predicted at full size", numeric=True, weight=4),
        Column("predicted bottleneck", weight=3),
        Column("note", weight=2, wraps=True),
    )
    return Table(CAPTION, heads, cells)


def ratio_label(row: Ratios, rows: Sequence[Ratios]) -> str:
    """Phase and level of an effect; the workload if ``rows`` has several."""
    several = len({one.workload for one in rows}) > 1
    lead = f"{row.workload}, " if several else ""
    return f"{lead}{row.phase}, {row.factor} {row.level}"


def agreement_lines(rows: Sequence[Ratios]) -> Iterator[str]:
    """A sentence for each pair of sources that have effects in common."""
    for one in agreements(rows):
        large = (
            f"right direction for {one.right} of {one.large} effects above {_percent(LARGE)}"
            if one.large
            else f"no effect above {_percent(LARGE)}"
        )
        ratios = "1 ratio" if one.ratios == 1 else f"{one.ratios} ratios"
        error = _percent(one.error)
        yield f"{one.source} against {one.reference}: {ratios}, mean error {error}; {large}"


def ratios_json(rows: Sequence[Ratios]) -> dict[str, Any]:
    """``ratios`` and their ``agreement`` as plain data."""
    return {
        "ratios": [asdict(row) for row in rows],
        "agreement": [asdict(one) for one in agreements(rows)],
    }


def _percent(value: float) -> str:
    return percent(value, signed=False)


def _words(found: Evidence | None) -> str:
    """A ratio with two digits, like those of the other tables of a validation."""
    if found is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.ratio:.2f} (n = {found.fewest})" if found.n else f"{found.ratio:.2f}"
    return f"{found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}]"
