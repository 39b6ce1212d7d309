"""Section "Physical limits": the use of each resource compared with its physical limit."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.usage import Usage
from windtunnel.analysis.formatting import percent, quantity
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import without_unknown


def section(analysis: Analysis) -> Section:
    """Use, limit and state of each resource (rule of trust 6)."""
    uses = analysis.usages
    states = Counter(use.state for use in uses)
    counted = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return Section(
        id="limits",
        title="Physical limits",
        tables=[_table(analysis, uses)] if uses else [],
        data=[{**asdict(use), "state": use.state} for use in uses],
        group="trust",
        brief=f"resources by phase: {counted}" if uses else "",
    )


def _table(analysis: Analysis, uses: list[Usage]) -> Table:
    several = len(analysis.phases) > 1
    rows = [
        (
            f"{use.workload} {use.phase}" if several else use.phase,
            analysis.name(use.treatment),
            use.resource,
            quantity(use.used, use.unit),
            quantity(use.limit, use.unit),
            percent(use.share, signed=False),
            use.state,
        )
        for use in uses
    ]
    heads = ("phase", "treatment", "resource", "used", "limit", "of limit")
    made = Table(
        "Use of each resource, mean over the trials, against its limit",
        (*column(*heads, text=3), *column("state")),
        rows,
        alert=frozenset((i, 6) for i, use in enumerate(uses) if use.state == "above limit"),
        folded=True,
    )
    return without_unknown(made, "limit", "of limit")
