"""The registry of fixed charts. A new chart is one module here and one entry in CHARTS.

A chart module is drawn twice, for a wide and for a narrow screen, as static SVG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windtunnel.analysis import Analysis
from windtunnel.report.charts import (
    effects,
    energy,
    formats,
    interactions,
    keyvalue,
    mix,
    pareto,
    phases,
    ranking,
    resources,
    scaling,
    sizes,
    trials,
    utilisation,
)
from windtunnel.report.charts.parts import Drawing


@dataclass(frozen=True)
class ChartEntry:
    """A chart: how to draw it at a width in px (None: nothing to show) and say it in words."""

    id: str
    draw: Callable[[Analysis, int], Drawing | None]
    describe: Callable[[Analysis], str]


CHARTS: dict[str, ChartEntry] = {
    entry.id: entry
    for entry in (
        ChartEntry("effects", effects.draw, effects.describe),
        ChartEntry("resources", resources.draw, resources.describe),
        ChartEntry("trials", trials.draw, trials.describe),
        ChartEntry("phases", phases.draw, phases.describe),
        ChartEntry("ranking", ranking.draw, ranking.describe),
        ChartEntry("interactions", interactions.draw, interactions.describe),
        ChartEntry("scaling", scaling.draw, scaling.describe),
        ChartEntry("formats", formats.draw, formats.describe),
        ChartEntry("kv-throughput", keyvalue.draw_courses, keyvalue.describe_courses),
        ChartEntry("kv-latency", keyvalue.draw_latencies, keyvalue.describe_latencies),
        ChartEntry("kv-curve", keyvalue.draw_curves, keyvalue.describe_curves),
        ChartEntry("mix", mix.draw, mix.describe),
        ChartEntry("sizes", sizes.draw, sizes.describe),
        ChartEntry("utilisation", utilisation.draw, utilisation.describe),
        ChartEntry("energy", energy.draw, energy.describe),
        ChartEntry("pareto", pareto.draw, pareto.describe),
    )
}
