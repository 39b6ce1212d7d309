"""A short page: an answer, and parts with remarks, a forest plot, tables and a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from windtunnel.report.charts.forest import Row, forest
from windtunnel.report.html import NARROW, WIDE, typographic
from windtunnel.report.sections.base import Table
from windtunnel.report.svg import svg
from windtunnel.report.theme import dark_rules


@dataclass(frozen=True)
class Remark:
    """A sentence before the numbers; ``severity`` is ``serious`` or ``caution``."""

    severity: str
    word: str
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart for wide and for narrow screens, its text for screen readers, and its caption."""

    wide: Markup
    narrow: Markup
    words: str
    caption: str


@dataclass(frozen=True)
class Part:
    """A part of the page; elements without content are omitted."""

    title: str
    lead: str = ""
    remarks: Sequence[Remark] = ()
    chart: Chart | None = None
    tables: Sequence[Table] = ()
    listed: Sequence[str] = ()
    listed_title: str = ""


def page(*, eyebrow: str, title: str, question: str, answer: str, parts: Sequence[Part]) -> str:
    """The page as HTML text, with the style sheet of the report."""
    env = Environment(
        loader=PackageLoader("windtunnel.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["minus"] = typographic
    style = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    return env.get_template("page.html.j2").render(
        eyebrow=eyebrow,
        title=title,
        question=question,
        answer=answer,
        parts=parts,
        style=Markup(style),
        dark_rules=Markup(dark_rules()),
    )


def forest_chart(rows: Sequence[Row], *, title: str, words: Sequence[str], caption: str) -> Chart:
    """A forest plot of ``rows``; ``words`` has a sentence for each row."""
    with debug_mode(False):
        wide, narrow = (Markup(svg(forest(rows, width, title))) for width in (WIDE, NARROW))
    return Chart(wide, narrow, typographic(f"Forest plot. {'. '.join(words)}."), caption)
