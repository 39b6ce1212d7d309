"""Section "Slowdown in the mix": each part's time together with the others and alone."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, listed, percent, plural, quantity
from windtunnel.analysis.subjects.mix import Change, PartInMix, parts_in_mix
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN, without_unknown

SAID = 3
"""Treatments whose slowdowns are in the report's first sentence."""
TAILS = ("read_p99", "scan_p99", "update_p99", "insert_p99")
"""Latencies, which show the slowdown of a part at a fixed rate. The first known one is used."""
LEAST_CHANGE = 0.05
"""The second table omits metrics that differ by less than this fraction."""


def section(analysis: Analysis) -> Section | None:
    """None if no workload is a mix."""
    found = analysis.once(parts_in_mix)
    if not found:
        return None
    several = len({p.treatment for p in found}) > 1
    known = _known(found)
    said = [
        _sentence(analysis, part, several=several, known=known) + _overlap(part) for part in found
    ]
    few = min(part.n for part in found)
    hint = "" if few >= 5 else f"from {plural(few, 'trial')}: indicative"
    lead = "Slowdown: elapsed time together divided by elapsed time alone, paired within each trial"
    return Section(
        id="mix",
        title="Slowdown in the mix",
        lead=f"{lead} (geometric mean, 95 % interval on logarithms)."
        if known
        else f"{lead}. {INTERVALS_UNKNOWN.capitalize()}.",
        said=said,
        charts=("mix",),
        tables=[_slowdowns(analysis, found), *_others(found)],
        hint=hint,
        data=[asdict(part) for part in found],
        answer=_answer(analysis, found),
    )


def _known(found: list[PartInMix]) -> bool:
    """Whether at least one ratio has an interval."""
    return any(c.low is not None for part in found for c in (part.slowdown, *part.others))


def _answer(analysis: Analysis, found: list[PartInMix]) -> str | None:
    """All slowdowns if the study has only a mix, whose own time includes the parts alone."""
    if len(analysis.phases) > 1:
        return None
    known = _known(found)
    if len({part.treatment for part in found}) == 1:
        said = [_sentence(analysis, part, several=False, known=known) for part in found]
    else:
        said = [
            f"{name} takes {_ratios(analysis, found, name, known=known)} times as long together "
            "with the others as alone"
            for name in dict.fromkeys(part.part for part in found)
        ]
    return "; ".join(said if known else [*said, INTERVALS_UNKNOWN])


def _ratios(analysis: Analysis, found: list[PartInMix], name: str, *, known: bool) -> str:
    """The slowdowns of the part with that name, by treatment."""
    ratios = [
        f"{digits(part.slowdown.ratio)}{span(part.slowdown, known=known)} "
        f"({analysis.name(part.treatment)})"
        for part in found
        if part.part == name and part.slowdown.ratio is not None
    ]
    return listed(ratios, SAID) or "unknown"


def _sentence(analysis: Analysis, part: PartInMix, *, several: bool, known: bool) -> str:
    where = f" ({analysis.name(part.treatment)})" if several else ""
    change = part.slowdown
    if change.ratio is None:
        return f"{part.part}{where}: no time to compare"
    text = (
        f"{part.part}{where} takes {digits(change.ratio)} times as long together with the others "
        "as alone"
    )
    text += span(change, known=known)
    if change.low is not None and change.high is not None and change.low <= 1 <= change.high:
        text += ": no difference detected"
    tail = next((change for change in part.others if change.metric in TAILS), None)
    if tail is not None and tail.ratio is not None:
        text += f"; its {tail.metric.replace('_', ' ')} is {digits(tail.ratio)} times as large"
        text += span(tail, known=known)
    return text


def _overlap(part: PartInMix) -> str:
    if part.overlap is None or part.overlap >= 0.95:
        return ""
    return f"; other parts ran in {percent(part.overlap, signed=False)} of that time"


def span(change: Change, *, known: bool = True) -> str:
    """`` [1.2, 1.4]``, or that it is unknown unless ``known`` is false: none has an interval."""
    if change.low is None or change.high is None:
        return " (interval unknown)" if known else ""
    return f" [{digits(change.low)}, {digits(change.high)}]"


def _slowdowns(analysis: Analysis, found: list[PartInMix]) -> Table:
    rows = [
        (
            part.part,
            analysis.name(part.treatment),
            str(part.n),
            quantity(part.slowdown.alone, "s"),
            quantity(part.slowdown.together, "s"),
            "unknown" if part.slowdown.ratio is None else digits(part.slowdown.ratio),
            span(part.slowdown).strip(" ()"),
            percent(part.overlap, signed=False),
        )
        for part in found
    ]
    names = ("part", "treatment", "n", "alone", "together", "slowdown", "95 % interval", "overlap")
    hint = "overlap: fraction of its time together in which other parts ran"
    made = Table("Elapsed time of each part", column(*names, text=2), rows, hint=hint)
    return without_unknown(made, "95 % interval")


def _others(found: list[PartInMix]) -> list[Table]:
    rows = [
        (
            part.part,
            change.metric.replace("_", " "),
            quantity(change.alone, change.unit),
            quantity(change.together, change.unit),
            digits(change.ratio),
            span(change).strip(" ()"),
        )
        for part in found
        for change in part.others
        if change.ratio is not None and abs(change.ratio - 1) >= LEAST_CHANGE
    ]
    if not rows:
        return []
    hint = f"metrics that differ by {percent(LEAST_CHANGE, signed=False)} or more"
    names = ("part", "metric", "alone", "together", "ratio", "95 % interval")
    made = Table("Other metrics of the parts", column(*names, text=2), rows, hint=hint)
    return [without_unknown(made, "95 % interval")]
