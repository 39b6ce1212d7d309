"""The registry of fixed charts. A new chart is one module here and one entry in CHARTS.

Each chart is drawn twice as static SVG, for a wide and for a narrow screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.analysis.analyse import Analysis
from windtunnel.report.charts import (
    effects,
    energy,
    formats,
    interactions,
    keyvalue,
    mix,
    overview,
    pareto,
    phases,
    ranking,
    resources,
    scaling,
    sizes,
    trials,
    utilisation,
)
from windtunnel.report.charts.parts import Drawing, Key


@dataclass(frozen=True)
class ChartEntry:
    """A chart: functions that draw it at a width in px (None: no data) and describe it in words.

    ``key`` explains its marks and colours, ``caption`` explains how to read it.
    """

    id: str
    draw: Callable[[Analysis, int], Drawing | None]
    describe: Callable[[Analysis], str]
    key: Callable[[Analysis], Sequence[Key]] | None = None
    caption: str = ""


FOREST = (
    "Point: ratio of geometric means minus 1. Bar: 95 % interval on logarithms, not corrected. "
    "Hollow: no difference detected after correction for all comparisons, or no interval."
)

CHARTS: dict[str, ChartEntry] = {
    entry.id: entry
    for entry in (
        ChartEntry("overview", overview.draw, overview.describe, overview.key, FOREST),
        ChartEntry("effects", effects.draw, effects.describe, caption=FOREST),
        ChartEntry("resources", resources.draw, resources.describe),
        ChartEntry("trials", trials.draw, trials.describe, trials.key),
        ChartEntry("phases", phases.draw, phases.describe, phases.key),
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
