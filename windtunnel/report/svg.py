"""Charts as static SVG, which needs no script, font or network to display."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import vl_convert
from altair.vegalite import SCHEMA_URL

from windtunnel.report.theme import CONFIG

if TYPE_CHECKING:
    from windtunnel.report.charts.parts import Drawing

_ROOT = re.compile(r"<svg\b[^>]*?viewBox=\"([^\"]+)\"[^>]*>")
# a mark with a description of its own; Vega writes no titles
_DESCRIBED = re.compile(r"<(\w+) aria-label=(\"[^\"]*\")([^>]*)/>")
_TAG = re.compile(r"<[^>]*>")
_LABEL = re.compile(r"aria-label=\"[^\"]*\"")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg(drawing: Drawing) -> str:
    """The drawing as an ``<svg>`` element with the size of its box, hidden from screen readers.

    The figure around it has the description (``aria-label``). Descriptions of single marks become
    titles, which browsers show as tooltips. Text sizes are in px.
    """
    spec = {"$schema": SCHEMA_URL, **drawing, "config": CONFIG}
    text = vl_convert.vegalite_to_svg(json.dumps(spec))
    root = _ROOT.search(text)
    if root is None:
        return ""
    box = root[1]
    _, _, width, height = box.split()
    head = (
        f'<svg viewBox="{box}" width="{width}" height="{height}" aria-hidden="true" '
        'focusable="false">'
    )
    body = text[root.end() :]
    body = re.sub(r' font-family="[^"]*"', "", body)
    # only in tags: texts and descriptions are numbers that somebody reads
    body = _TAG.sub(_rounded, body)
    body = _DESCRIBED.sub(lambda m: f"<{m[1]}{m[3]}><title>{m[2][1:-1]}</title></{m[1]}>", body)
    body = re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", body)
    return head + body


def _rounded(tag: re.Match[str]) -> str:
    """A tag with coordinates of two decimals."""
    texts = iter(_LABEL.findall(tag[0]))
    short = _NUMBER.sub(lambda m: f"{float(m[0]):.2f}", tag[0])
    return _LABEL.sub(lambda _: next(texts), short)
