"""Section "Bottlenecks": the resource that bound each phase, with the evidence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.utilisation import MEMORY, WAITING
from windtunnel.analysis.bottleneck.verdicts import Verdict, bottlenecks, share_words
from windtunnel.analysis.formatting import digits, percent, plural, quantity
from windtunnel.analysis.observations import ELAPSED
from windtunnel.report.sections.base import Section, Table, column

SAID = 8
"""Verdicts that are shown as sentences: those of the longest phases. The table has all."""


def section(analysis: Analysis) -> Section | None:
    """None if samples, task times and counters determine no bottleneck."""
    verdicts = [v for v in analysis.once(bottlenecks) if v.known]
    if not verdicts:
        return None
    longest = sorted(verdicts, key=lambda v: -_elapsed(analysis, v))[:SAID]
    several = len(analysis.phases) > 1
    spread = any(v.n > 1 for v in verdicts)
    said = [
        f"{analysis.name(v.treatment)}, {_phase(v, several)}: {v.words(spread=spread)}"
        for v in verdicts
        if v in longest
    ]
    rest = len(verdicts) - len(longest)
    return Section(
        id="bottleneck",
        title="Bottlenecks",
        lead="The resource that limited each phase. It is determined from the means over the "
        "trials; the thresholds were fixed before the first trial. The next bottleneck is the "
        "resource that would limit the phase if the first one did not."
        + ("" if spread else " One trial per treatment: the spread is unknown."),
        said=said,
        charts=("utilisation",),
        tables=[_verdicts(analysis, verdicts, several), _use(analysis, verdicts, several)],
        hint=f"{plural(rest, 'more verdict')} in the table" if rest else "",
        group="why",
        data=[_data(v) for v in verdicts],
    )


def _phase(verdict: Verdict, several: bool) -> str:
    """The phase, with its workload if the study has several workloads."""
    return f"{verdict.workload} {verdict.phase}" if several else verdict.phase


def _elapsed(analysis: Analysis, verdict: Verdict) -> float:
    cell = analysis.cell(verdict.treatment, verdict.workload, verdict.phase, ELAPSED)
    return cell.mean if cell else 0.0


def _verdicts(analysis: Analysis, verdicts: list[Verdict], several: bool) -> Table:
    rows = [
        (
            _phase(v, several),
            analysis.name(v.treatment),
            v.binding.kind,
            _next(v),
            share_words(v) or digits(v.binding.share),
            f"{v.agree} of {v.n}",
        )
        for v in verdicts
    ]
    names = ("phase", "treatment", "bound by", "next bottleneck", "value", "trials agree")
    hint = (
        "Value: the number that decides the verdict (a fraction of the limit, of the phase or of "
        "the task time; for the map sort buffer, the writes of each record). A range is over the "
        "trials."
    )
    return Table("Bottleneck of each phase", column(*names, text=4), rows, hint=hint)


def _use(analysis: Analysis, verdicts: list[Verdict], several: bool) -> Table:
    seen = dict.fromkeys(load.resource for v in verdicts for load in v.loads)
    resources = [name for name in seen if name != "network in" or "network out" not in seen]
    rows = [
        (_phase(v, several), analysis.name(v.treatment), *(_load(v, name) for name in resources))
        for v in verdicts
    ]
    return Table(
        "Utilisation of the busiest host: mean over each phase, maximum for memory",
        column("phase", "treatment", *map(_heading, resources), text=2),
        rows,
        hint="Percent of the limit. A rate without a percentage has an unknown limit",
    )


def _next(verdict: Verdict) -> str:
    return verdict.runner_up.kind if verdict.runner_up else "unknown"


def _heading(resource: str) -> str:
    return {WAITING: "disk wait", "network out": "net out"}.get(resource, resource)


def _load(verdict: Verdict, resource: str) -> str:
    load = next((load for load in verdict.loads if load.resource == resource), None)
    if load is None:
        return "unknown"
    share = percent(load.share, signed=False)
    if load.unit in ("ratio", "cores") or load.resource == MEMORY:
        return share
    return quantity(load.used, load.unit) + (f" ({share})" if load.share is not None else "")


def _data(verdict: Verdict) -> dict[str, Any]:
    return {
        "treatment": verdict.treatment,
        "workload": verdict.workload,
        "phase": verdict.phase,
        "n": verdict.n,
        "text": verdict.text,
        "binding": asdict(verdict.binding),
        "next": asdict(verdict.runner_up) if verdict.runner_up else None,
        "agree": verdict.agree,
        "low": verdict.low,
        "high": verdict.high,
        "limit_unknown": list(verdict.unknown),
        "loads": [asdict(load) for load in verdict.loads],
    }
