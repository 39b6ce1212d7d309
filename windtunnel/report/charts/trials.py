"""Each trial as a point, by phase and treatment, from left to right in order of execution."""

from __future__ import annotations

import json
from collections import defaultdict

import altair as alt

from windtunnel.analysis.analyse import Analysis, TrialRow
from windtunnel.analysis.formatting import plural
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.charts.parts import Drawing, Key, data, grid, layer
from windtunnel.report.theme import ALERT, INK, PAPER, TREATMENTS, colour

BANDS = 24
"""With more treatments than this, the points of all treatments are in order of execution."""
NARROW = 500
OUTCOMES = ("job failed", "output wrong")
"""The verdicts of trials that a fault ended: answers, but not averaged."""
SHAPES = {
    "valid": "circle",
    "invalid": "cross",
    "warm-up": "triangle-up",
    **dict.fromkeys(OUTCOMES, "square"),
}


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """One panel per workload and phase; None without timed trials."""
    panels = [
        _panel(analysis, workload, phase, _panel_width(analysis, width))
        for workload, phases in analysis.phases.items()
        for phase in _shown(phases)
        if any(t.workload == workload and phase in t.elapsed for t in analysis.trials)
    ]
    if not panels:
        return None
    return grid(*panels, columns=1 if width < NARROW else 2, spacing=30)


def describe(analysis: Analysis) -> str:
    """The plot in words; the table of trials has the numbers."""
    verdicts = [t.verdict for t in analysis.trials]
    outcomes = "".join(f", {verdicts.count(o)} {o}" for o in OUTCOMES if o in verdicts)
    return (
        f"{plural(len(verdicts), 'trial')} as points by phase and treatment: "
        f"{verdicts.count('valid')} valid, {verdicts.count('invalid')} invalid, "
        f"{verdicts.count('warm-up')} warm-up{outcomes}. The table of trials below has every "
        "number."
    )


def key(analysis: Analysis) -> list[Key]:
    """The marks of the verdicts that the study has, and of the mean."""
    verdicts = {t.verdict for t in analysis.trials}
    found = [Key("dot", "", "valid")]
    found += [Key("cross", ALERT, "invalid, not averaged")] if "invalid" in verdicts else []
    found += [Key("triangle", "", "warm-up, not averaged")] if "warm-up" in verdicts else []
    caused = " or ".join(outcome for outcome in OUTCOMES if outcome in verdicts)
    found += [Key("box", "", f"{caused} after a fault, not averaged")] if caused else []
    return [*found, Key("mean", "", "mean and its 95 % interval")]


def _shown(phases: list[str]) -> list[str]:
    """The total, then the phases; only the total if there is only one phase."""
    named = [phase for phase in phases if phase != TOTAL]
    return [TOTAL, *named] if len(named) > 1 else [TOTAL]


def _panel_width(analysis: Analysis, width: int) -> int:
    return width - 64 if width < NARROW else (width - 30) // 2 - 64


def _panel(analysis: Analysis, workload: str, phase: str, width: int) -> Drawing:
    names = [t for t in analysis.treatments() if _has(analysis, t, workload, phase)]
    banded = len(names) <= BANDS
    trials = [t for t in analysis.trials if t.workload == workload and phase in t.elapsed]
    points = _points(trials, names, phase, banded)
    top = len(names) - 0.5 if banded else max(t.order for t in trials) + 0.5
    axis = (
        alt.Axis(
            values=list(range(len(names))),
            labelExpr=f"{json.dumps([analysis.name(name) for name in names])}[datum.value]",
            grid=False,
            labelColor=INK,
            labelLimit=160,
            labelAngle=0 if len(names) <= 4 else -40,
            labelSeparation=-99,  # no label is dropped
        )
        if banded
        else alt.Axis(grid=False, format="d")
    )
    scale = alt.Scale(domain=[-0.5 if banded else 0, top], nice=False)
    x = alt.X("x:Q", scale=scale, axis=axis, title=None if banded else "order of execution")
    y = alt.Y(
        "y:Q", title=None, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=5)
    )
    dots = (
        alt.Chart(data(points))
        .mark_point(size=46 if len(points) < 200 else 16, strokeWidth=1.6, opacity=1)
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke("ink:N", scale=None),
            fill=alt.Fill("fill:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
        )
    )
    drawn: list[alt.Chart] = [dots]
    means = _means(analysis, names, workload, phase) if banded else []
    if means:
        mean = alt.Chart(data(means)).mark_rule(strokeWidth=1.5, color=INK)
        drawn.insert(0, mean.encode(x=alt.X("x0:Q"), x2=alt.X2("x1:Q"), y=alt.Y("y:Q")))
        spans = [m for m in means if "low" in m]
        if spans:
            bar = alt.Chart(data(spans)).mark_rect(opacity=0.14)
            fill = alt.Color("ink:N", scale=None)
            drawn.insert(
                0,
                bar.encode(
                    x=alt.X("x0:Q"),
                    x2=alt.X2("x1:Q"),
                    y=alt.Y("low:Q"),
                    y2=alt.Y2("high:Q"),
                    color=fill,
                ),
            )
    head = f"{workload}: {phase}, s" if len(analysis.phases) > 1 else f"{phase}, s"
    return layer(*drawn, width=width, height=170, title=head)


def _has(analysis: Analysis, treatment: str, workload: str, phase: str) -> bool:
    return any(
        t.treatment == treatment and t.workload == workload and phase in t.elapsed
        for t in analysis.trials
    )


def _points(
    trials: list[TrialRow], names: list[str], phase: str, banded: bool
) -> list[dict[str, object]]:
    by_treatment: dict[str, list[TrialRow]] = defaultdict(list)
    for trial in trials:
        by_treatment[trial.treatment].append(trial)
    points: list[dict[str, object]] = []
    for index, name in enumerate(names):
        group = by_treatment[name]
        for place, trial in enumerate(group):
            offset = (place + 0.5) / len(group) - 0.5
            ink = ALERT if trial.verdict == "invalid" else colour(TREATMENTS, index)
            points.append(
                {
                    "x": index + 0.6 * offset if banded else trial.order,
                    "y": trial.elapsed[phase],
                    "ink": ink,
                    "fill": ink if trial.verdict == "valid" else PAPER,
                    "shape": SHAPES[trial.verdict],
                }
            )
    return points


def _means(
    analysis: Analysis, names: list[str], workload: str, phase: str
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for index, name in enumerate(names):
        cell = analysis.cell(name, workload, phase, ELAPSED)
        if cell is None:
            continue
        row: dict[str, object] = {"x0": index - 0.36, "x1": index + 0.36, "y": cell.mean}
        if cell.ci_low is not None and cell.ci_high is not None:
            row |= {"low": cell.ci_low, "high": cell.ci_high, "ink": colour(TREATMENTS, index)}
        rows.append(row)
    return rows
