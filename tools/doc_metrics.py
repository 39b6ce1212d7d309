"""Tables of metrics for the user guide, from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

import windtunnel.analysis  # registers the metrics of energy
import windtunnel.analysis.subjects.observed_metrics
import windtunnel.probes.sampler
import windtunnel.workloads  # noqa: F401
from tools.doc_tables import table
from windtunnel.results.metrics import CATALOGUE, MetricInfo


def metric_table(found: Iterable[MetricInfo], *, source: bool = False) -> str:
    """Metrics with unit, better direction, meaning and, optionally, their source."""
    head = ["metric", "unit", "better", "meaning", *(["source"] if source else [])]
    rows = [
        [f"`{one.name}`", one.unit, one.better or "", one.explained, one.source] for one in found
    ]
    return table(head, [row[: len(head)] for row in rows])


def metrics() -> str:
    """Every metric of the catalogue, by where it is stored."""
    titles = {
        "phase": "Metrics of phases",
        "trial": "Metrics of trials",
        "sample": "Metrics of samples",
    }
    known = sorted(CATALOGUE, key=lambda one: one.name)
    return "\n\n".join(
        f"### {title}\n\n" + metric_table((one for one in known if one.level == level), source=True)
        for level, title in titles.items()
    )
