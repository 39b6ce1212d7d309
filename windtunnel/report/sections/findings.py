"""Section "Findings": all findings, after one sentence with what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.verdicts import with_cause
from windtunnel.analysis.effects.findings import EQUAL, Finding
from windtunnel.analysis.effects.overview import common_baseline, worthwhile
from windtunnel.analysis.formatting import percent
from windtunnel.analysis.names import level_words
from windtunnel.analysis.statistics.summary import POWER
from windtunnel.report.sections.base import Section

FIRST = 5
"""Number of findings that are shown before the others are folded."""


def section(analysis: Analysis) -> Section:
    """The chart of all effects, then the findings, the detected and largest effects first."""
    found = analysis.findings
    common = _common(found)
    said = [with_cause(analysis, f, _said(f, common, _head(found))) for f in found]
    return Section(
        id="findings",
        title="Findings",
        lead=_lead(found, common),
        said=said,
        charts=("overview",) if worthwhile(analysis) else (),
        data=[with_cause(analysis, finding) for finding in found],
        group="answer",
        first=FIRST,
        unclear=frozenset(i for i, f in enumerate(found) if not f.distinguishable),
    )


def _common(found: Sequence[Finding]) -> list[str]:
    """Caveats that apply to all findings, in their order.

    Only detected effects have caveats about the correction: the most frequent one is common if
    all detected effects have one.
    """
    if len(found) < 2:
        return []
    clear = [f for f in found if f.distinguishable]
    own = Counter(caveat for f in clear for caveat in f.caveats if _corrects(caveat))
    most = own.most_common(1)[0][0] if own and own.total() == len(clear) else ""
    names = dict.fromkeys(caveat for f in found for caveat in f.caveats)
    return [name for name in names if name == most or all(name in f.caveats for f in found)]


def _corrects(caveat: str) -> bool:
    return caveat.startswith("detected after correction")


def _head(found: Sequence[Finding]) -> tuple[str, str, str] | None:
    """Factor, baseline and workload, if all findings have the same."""
    effects = [f.effect for f in found]
    shared = common_baseline(effects)
    workloads = {e.workload for e in effects}
    return (*shared, workloads.pop()) if shared and len(workloads) == 1 else None


def _said(finding: Finding, common: Sequence[str], head: tuple[str, str, str] | None) -> str:
    """The finding with those of its caveats that are not common to all."""
    if not common:
        return finding.text
    own = [caveat for caveat in finding.caveats if caveat not in common]
    text = finding.brief
    if head is not None:
        factor, baseline, workload = head
        level = finding.effect.level
        same = f"{factor} {baseline} -> {level}: {workload} total"
        text = f"{level_words(factor, level)}:{text.removeprefix(same)}"
    return text + (f" ({'; '.join(own)})" if own else "")


def _lead(found: Sequence[Finding], common: Sequence[str]) -> str:
    """What applies to all findings; empty if each finding states its own caveats."""
    if not common:
        return ""
    known = any(f.effect.ci_low is not None for f in found)
    head = _head(found)
    base = "the baseline" if head is None else f"{head[0]} {head[1]}"
    what = "elapsed time" if head is None else f"elapsed time of {head[2]}"
    parts = [f"Change of {what} against {base}"]
    several = any(f.effect.equal for f in found)
    unknown = "interval unknown" if several else "interval unknown: n = 1 per treatment"
    parts.append("95 % intervals" if known else unknown)
    for caveat in common:
        if not known and caveat.startswith("n = 1"):
            continue
        if caveat.startswith(("n = ", "predicted")) or caveat == EQUAL:
            parts.append(caveat)
        elif _corrects(caveat):
            parts.append(f"{caveat}, unless stated otherwise")
        else:
            parts.append(f"each {caveat}")
    if any(f.distinguishable is False and f.effect.detectable for f in found):
        parts.append(f"minimum detectable effects at {percent(POWER, signed=False)} power")
    return "; ".join(parts) + "."
