"""Colours and fonts of the page and its charts: light colours, each with its dark counterpart.

Charts have the light colours as SVG attributes. In dark mode the style sheet of the page
overrides them by attribute, so one drawing serves both modes. Categorical colours follow Okabe &
Ito (2008), darkened or lightened to a contrast of at least 3:1 with the page in both modes.
"""

from __future__ import annotations

from typing import Any

INK, MUTED, GRID, PAPER = "#1b1f24", "#57606a", "#d8dce1", "#fefefd"
ALERT = "#b42318"

TREATMENTS = ("#4d5661", "#0868a6", "#bf4d00", "#00795a", "#8c3f86", "#7a6200")
PHASES = ("#8fb3cf", "#22648f", "#c9b37c", "#6f9c86", "#a984a8", "#8a8f98")

DARK = {
    INK: "#e8eaed",
    MUTED: "#a4acb6",
    GRID: "#343a42",
    PAPER: "#15181c",
    ALERT: "#ff8a7a",
    TREATMENTS[0]: "#b4bcc6",
    TREATMENTS[1]: "#5cb5f0",
    TREATMENTS[2]: "#f2904a",
    TREATMENTS[3]: "#3fc79d",
    TREATMENTS[4]: "#d79ad2",
    TREATMENTS[5]: "#d6bb4a",
    PHASES[0]: "#54768f",
    PHASES[1]: "#6db1de",
    PHASES[2]: "#8f7c49",
    PHASES[3]: "#4c7a64",
    PHASES[4]: "#8d6a8c",
    PHASES[5]: "#767c85",
}

CONFIG: dict[str, Any] = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "transparent",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": GRID,
        "gridOpacity": 1,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
    },
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 8},
    "text": {"color": INK, "fontSize": 12},
}


def colour(palette: tuple[str, ...], index: int) -> str:
    """The palette's colour for the nth category; it repeats after the last."""
    return palette[index % len(palette)]


def dark_rules() -> str:
    """CSS rules that replace the light chart colours by their dark counterparts."""
    rules = []
    for light, dark in DARK.items():
        rules.append(f'.chart [fill="{light}"]{{fill:{dark}}}')
        rules.append(f'.chart [stroke="{light}"]{{stroke:{dark}}}')
    return "".join(rules)
