"""The report as one self-contained page: no script from elsewhere, no font, no network."""

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

from windtunnel.analysis import Analysis, Cell, Effect
from windtunnel.analysis.bottleneck import with_cause
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import digits, percent, percent_interval, plural, quantity
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts import CHARTS, effects, phases, resources
from windtunnel.report.choose import choose
from windtunnel.report.drawer import Drawer
from windtunnel.report.inside import look_inside
from windtunnel.report.sections import headline, sections
from windtunnel.report.theme import TREATMENTS, colour, dark_rules
from windtunnel.results.folder import Results

WIDE, NARROW = 900, 326
ROWS_SHOWN = 1000
PROVENANCE_SHOWN = 8

_MINUS = re.compile(r"(?<![\w.\]-])-(?=[\d.])")


def write_html(
    analysis: Analysis, results: Results, path: Path, drawer: Drawer | None = None
) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`.

    A ``drawer`` that was started before the results were read is warm by now.
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
        "dig": lambda v: typographic(digits(v)),
        "minus": typographic,
        "when": _when,
    }
    return env.get_template("report.html.j2").render(**_context(analysis, results, drawer))


def typographic(text: str) -> str:
    """Hyphens before digits as minus signs, arrows as arrows."""
    return _MINUS.sub("\N{MINUS SIGN}", text).replace("->", "\N{RIGHTWARDS ARROW}")


def _context(analysis: Analysis, results: Results, drawer: Drawer) -> dict[str, Any]:
    words = _draw(analysis, drawer)
    choices = choose(analysis)
    insides = look_inside(results, choices)
    verdicts = Counter(trial.verdict for trial in analysis.trials)
    context = {
        "a": analysis,
        "study": analysis.study,
        "verdicts": verdicts,
        "plural": plural,
        "effects": _effects(analysis),
        "interval": _interval,
        "absolute": _absolute,
        "cells": _cells(analysis),
        "cell_span": _cell_span,
        "resource_rows": resources.chosen(analysis),
        "resource_phase": resources.phase(analysis),
        "total": TOTAL,
        "with_cause": lambda finding: with_cause(analysis, finding),
        "headline": headline(analysis),
        "sections": sections(analysis),
        "phase_legend": phases.legend(analysis),
        "treatment_legend": _treatments(analysis),
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
    }
    drawn = [Markup(text) for text in drawer.results()]
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    context["charts"] = {
        name: {"wide": wide, "narrow": narrow, "words": text}
        for (name, text), (wide, narrow) in zip(words.items(), pairs, strict=True)
    }
    return context


def _draw(analysis: Analysis, drawer: Drawer) -> dict[str, str]:
    """Ask for all charts, each wide and narrow; what each shows in words, by its name."""
    words = {}
    with debug_mode(False):  # no check of every point against the schema: it takes seconds
        for name, entry in CHARTS.items():
            wide, narrow = entry.draw(analysis, WIDE), entry.draw(analysis, NARROW)
            if wide is not None and narrow is not None:
                drawer.draw(wide)
                drawer.draw(narrow)
                words[name] = typographic(entry.describe(analysis))
    return words


def _effects(analysis: Analysis) -> list[tuple[tuple[str, str, str, str], list[Effect]]]:
    """Effects on elapsed time by factor, level, baseline and workload, each total first."""
    groups = list(effects.grouped(analysis).items())[: ROWS_SHOWN // 4]
    return [(key, sorted(group, key=lambda e: e.phase != TOTAL)) for key, group in groups]


def _cells(analysis: Analysis) -> list[tuple[tuple[str, str], list[Cell]]]:
    """Cells of elapsed time by workload and phase, the total first."""
    ranks = analysis.ranks
    order = {name: i for i, name in enumerate(analysis.treatments())}
    elapsed = (c for c in analysis.cells if c.metric == ELAPSED)
    rows = [c for c in elapsed if not analysis.is_whole(c.workload, c.phase)]
    rows.sort(key=lambda c: (c.workload, ranks[(c.workload, c.phase)], order[c.treatment]))
    grouped = groupby(rows[:ROWS_SHOWN], key=lambda c: (c.workload, c.phase))
    return [(key, list(group)) for key, group in grouped]


def _cell_span(cell: Cell) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return "unknown"
    return typographic(f"{digits(cell.ci_low)} to {digits(cell.ci_high)}")


def _interval(e: Effect) -> str:
    return typographic(percent_interval(e.ci_low, e.ci_high, e.relative))


def _absolute(e: Effect) -> str:
    text = quantity(e.absolute, e.unit, signed=True)
    if e.absolute_ci_low is None or e.absolute_ci_high is None:
        return typographic(text)
    low, high = (quantity(v, e.unit) for v in (e.absolute_ci_low, e.absolute_ci_high))
    return typographic(f"{text} [{low}, {high}]")


def _treatments(analysis: Analysis) -> list[tuple[str, str]]:
    names = analysis.treatments()
    return (
        [(name, colour(TREATMENTS, i)) for i, name in enumerate(names)] if len(names) <= 6 else []
    )


def _provenance(results: Results) -> list[dict[str, Any]]:
    """The stored provenances, each with the trials that it belongs to."""
    groups: dict[str, list[Any]] = {}
    for trial in results.trials:
        if trial.provenance:
            groups.setdefault(trial.provenance, []).append(trial)
    rows = []
    for name, trials in list(groups.items())[:PROVENANCE_SHOWN]:
        try:
            text = json.dumps(results.provenance(trials[0]), indent=2, ensure_ascii=False)
        except (OSError, ValueError) as error:
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
