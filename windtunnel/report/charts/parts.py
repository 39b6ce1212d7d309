"""Small parts that the charts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

Rows = Sequence[Mapping[str, object]]
Layers = alt.LayerChart | alt.FacetChart
Drawing = alt.Chart | Layers | alt.VConcatChart | alt.ConcatChart


def data(rows: Rows) -> alt.InlineData:
    """Rows as data of a chart: a tuple, because Altair copies lists with every combination."""
    return alt.InlineData(values=tuple(rows))
