"""Draw one chart of a results folder as an SVG file for the docs.

    python tools/draw_chart.py RESULTS CHART FILE.svg [WIDTH]

CHART is an id of ``windtunnel.report.charts.CHARTS``, such as ``sizes``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from windtunnel.analysis.analyse import analyse
from windtunnel.report.charts import CHARTS
from windtunnel.report.svg import svg
from windtunnel.results.folder import read_results

SPARE = 60
"""Additional pixels at the right."""
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def main() -> None:
    """Draw the chart of the command line."""
    results, chart, target, *width = sys.argv[1:]
    drawing = CHARTS[chart].draw(analyse(read_results(Path(results))), int((width or ["800"])[0]))
    if drawing is None:
        sys.exit(f"{results} has no data for the chart '{chart}'")
    # the width of labels at the right end depends on the font of the reader
    size = re.compile(r'viewBox="0 0 (\d+) (\d+)" width="(\d+)"')
    wider = size.sub(
        lambda m: f'viewBox="0 0 {int(m[1]) + SPARE} {m[2]}" width="{int(m[3]) + SPARE}"',
        svg(drawing),
        count=1,
    )
    head = f"<svg xmlns='http://www.w3.org/2000/svg' font-family=\"{_FONT}\" "
    text = wider.replace("<svg ", head, 1)
    # the colours require a light background, and a page can be dark
    text = text.replace(">", "><rect width='100%' height='100%' fill='#fff'/>", 1)
    Path(target).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
