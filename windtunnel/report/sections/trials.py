"""Sections "All trials" and "Invalid trials"."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis, TrialRow
from windtunnel.analysis.formatting import digits, plural, quantity
from windtunnel.analysis.observations import TOTAL
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.report.sections.known import without_unknown

_COLUMNS = (
    Column("trial", weight=2),
    Column("round", numeric=True, weight=0),
    Column("treatment", weight=3),
    Column("workload", weight=1),
    Column("total", numeric=True, weight=3),
    Column("load before", numeric=True, weight=0),
    Column("verdict", weight=2),
)
_VERDICT = len(_COLUMNS) - 1
_INVALID = (
    Column("trial", weight=3),
    Column("round", numeric=True, weight=0),
    Column("treatment", weight=2),
    Column("reason", weight=3),
)


def section(analysis: Analysis) -> Section:
    """Each trial as a point and as a row, in the order of execution."""
    trials = analysis.trials
    timed = any(trial.elapsed for trial in trials)
    return Section(
        id="trials",
        title="All trials",
        lead="Elapsed time of each trial. The trials of a treatment are in the order of "
        "execution, from left to right. The scales do not begin at zero."
        if timed
        else "No trial has been timed yet.",
        charts=("trials",) if timed else (),
        tables=[_table(analysis)] if trials else [],
        data=[asdict(trial) for trial in trials],
        group="trials",
    )


def invalid(analysis: Analysis) -> Section:
    """Invalid trials with their reasons: stored and listed, never averaged."""
    found = [trial for trial in analysis.trials if trial.verdict == "invalid"]
    if not found:
        said = "no trial is invalid" if analysis.trials else "no trial has run yet"
        return Section(id="invalid", title="Invalid trials", said=[said], data=[], group="trust")
    reasons = Counter(trial.reason or "not recorded" for trial in found)
    reason, count = reasons.most_common(1)[0]
    most = reason if len(reasons) == 1 else f"{count} of these: {reason}"
    return Section(
        id="invalid",
        title="Invalid trials",
        tables=[
            Table(
                "Invalid trials: stored and listed, never averaged",
                _INVALID,
                [
                    (t.id, str(t.round), analysis.name(t.treatment), t.reason or "not recorded")
                    for t in found
                ],
            )
        ],
        data=[trial.id for trial in found],
        group="trust",
        brief=f"{plural(len(found), 'invalid trial')} of {len(analysis.trials)}; {most}",
    )


def _table(analysis: Analysis) -> Table:
    rows = analysis.trials
    made = Table(
        f"All {plural(len(rows), 'trial')} in the order of execution",
        _COLUMNS,
        [_row(analysis, trial) for trial in rows],
        alert=frozenset((i, _VERDICT) for i, t in enumerate(rows) if t.verdict == "invalid"),
        folded=True,
    )
    return without_unknown(made, "load before")


def _row(analysis: Analysis, t: TrialRow) -> tuple[str, ...]:
    return (
        t.id,
        str(t.round),
        analysis.name(t.treatment),
        t.workload,
        quantity(t.elapsed[TOTAL], "s") if TOTAL in t.elapsed else "none",
        "unknown" if t.load_before is None else digits(t.load_before),
        t.verdict,
    )
