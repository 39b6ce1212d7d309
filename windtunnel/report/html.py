"""The report as one self-contained page, without external scripts, fonts or network access."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import percent, plural, quantity
from windtunnel.errors import ResultsError
from windtunnel.report.atomic import write_bytes
from windtunnel.report.chart_process import Drawer
from windtunnel.report.charts import CHARTS
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import GROUPS, Table
from windtunnel.report.theme import dark_rules
from windtunnel.report.timeline_selection import choose
from windtunnel.report.trial_detail import look_inside
from windtunnel.report.typography import bound
from windtunnel.results.folder import Results

WIDE, NARROW = 900, 326
ROWS_SHOWN = 1000
FOLD_FROM = 40
"""Number of rows from which every table is folded."""
PROVENANCE_SHOWN = 8

_MINUS = re.compile(r"(?<![\w.\]-])-(?=[\d.])")


def write_html(
    analysis: Analysis, results: Results, path: Path, drawer: Drawer | None = None
) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`.

    A ``drawer`` that the caller started before it read the results is already warm.
    """
    with nullcontext(drawer) if drawer else Drawer() as running:
        page = render(analysis, results, running)
    write_bytes(path, page.encode())


def render(analysis: Analysis, results: Results, drawer: Drawer) -> str:
    """The page as HTML text."""
    loader = PackageLoader("windtunnel.report", "templates")
    env = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "pct": lambda v, signed=True: typographic(percent(v, signed=signed)),
        "qty": lambda v, unit, signed=False: typographic(quantity(v, unit, signed=signed)),
        "capital": capital,
        "stop": stop,
        "minus": typographic,
        "when": _when,
    }
    return env.get_template("report.html.j2").render(**_context(analysis, results, drawer))


def signs(text: str) -> str:
    """Replace hyphens before digits by minus signs, and ``->`` by arrows."""
    return _MINUS.sub("\N{MINUS SIGN}", text).replace("->", "\N{RIGHTWARDS ARROW}")


def typographic(text: str) -> str:
    """Minus signs and arrows; a number stays with its unit, an interval on one line."""
    return bound(signs(text))


def capital(text: str) -> str:
    """A sentence with a capital first letter if it begins with a word, not a name or number."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and len(first) > 1 else text


def stop(text: str) -> str:
    """A sentence with exactly one full stop at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _context(analysis: Analysis, results: Results, drawer: Drawer) -> dict[str, Any]:
    words = _draw(analysis, drawer)
    choices = choose(analysis)
    insides = look_inside(results, choices)
    verdicts = Counter(trial.verdict for trial in analysis.trials)
    shown = [section for section in sections(analysis) if section.shown]
    context = {
        "a": analysis,
        "study": analysis.study,
        "verdicts": verdicts,
        "plural": plural,
        "headline": headline(analysis),
        "groups": GROUPS,
        "sections": {group: [s for s in shown if s.group == group] for group in GROUPS},
        "keys": {
            name: entry.key(analysis)
            for name, entry in CHARTS.items()
            if entry.key is not None and name in words
        },
        "captions": {name: entry.caption for name, entry in CHARTS.items()},
        "row_groups": row_groups,
        "insides": insides,
        "inside_all": len(choices) == len(analysis.trials),
        "inside_data": _embedded([inside.data for inside in insides]),
        "severities": Counter(w.severity for w in analysis.warnings),
        "provenance": _provenance(results),
        "parameters": _parameters(results),
        "dark_rules": Markup(dark_rules()),
        "style": Markup(_text("style.css")),
        "script": Markup(_text("inside.js")),
        "rows_shown": ROWS_SHOWN,
        "fold_from": FOLD_FROM,
    }
    drawn = [Markup(text) for text in drawer.results()]
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    context["charts"] = {
        name: {"wide": wide, "narrow": narrow, "words": text}
        for (name, text), (wide, narrow) in zip(words.items(), pairs, strict=True)
    }
    return context


def _draw(analysis: Analysis, drawer: Drawer) -> dict[str, str]:
    """Request all charts, wide and narrow; return the description of each, by its name."""
    words = {}
    with debug_mode(False):  # validating every point against the schema takes seconds
        for name, entry in CHARTS.items():
            wide, narrow = entry.draw(analysis, WIDE), entry.draw(analysis, NARROW)
            if wide is not None and narrow is not None:
                drawer.draw(wide)
                drawer.draw(narrow)
                words[name] = signs(entry.describe(analysis))
    return words


def row_groups(table: Table) -> list[tuple[str, list[tuple[int, list[tuple[int, str]]]]]]:
    """Headings of groups with the (index, cells) of their rows; one group if there is no column.

    Cells are (index of the column, text). Only the heading contains the text of group columns.
    """
    heads = [place for place, column in enumerate(table.columns) if column.group]
    rows = list(enumerate(table.rows[:ROWS_SHOWN]))
    made = []
    for head, group in groupby(rows, key=lambda row: ", ".join(row[1][place] for place in heads)):
        cells = [
            (at, [(place, text) for place, text in enumerate(row) if place not in heads])
            for at, row in group
        ]
        made.append((head, cells))
    return made


def _provenance(results: Results) -> list[dict[str, Any]]:
    """The stored provenances, each with the number of its trials."""
    groups: dict[str, list[Any]] = {}
    for trial in results.trials:
        if trial.provenance:
            groups.setdefault(trial.provenance, []).append(trial)
    rows = []
    for name, trials in list(groups.items())[:PROVENANCE_SHOWN]:
        try:
            text = json.dumps(results.provenance(trials[0]), indent=2, ensure_ascii=False)
        except (ResultsError, OSError, ValueError) as error:
            text = f"cannot be read: {error}"
        rows.append({"id": name, "trials": len(trials), "text": text})
    return rows


def _parameters(results: Results) -> str:
    study = results.study.model_dump(mode="json", by_alias=True, exclude={"source_text"})
    return json.dumps(study, indent=2, ensure_ascii=False)


def _embedded(data: Any) -> Markup:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c"))


def _text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _when(epoch: float) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d %H:%M UTC")
