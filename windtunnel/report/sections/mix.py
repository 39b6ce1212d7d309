"""The mix: how much slower each part is together with the others than alone."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis import Analysis
from windtunnel.analysis.mix import Change, PartInMix, parts_in_mix
from windtunnel.analysis.words import digits, listed, percent, plural, quantity
from windtunnel.report.sections.base import Section, Table, column

SAID = 4
"""Treatments of which the report's first sentence tells each part's slowdown."""
TAILS = ("read_p99", "scan_p99", "update_p99", "insert_p99")
"""What a part at a given rate loses instead of time; the first that it has, whatever it says."""
TOLD = 0.05
"""Figures of a part that differ by less are left out of the second table."""


def section(analysis: Analysis) -> Section | None:
    """None where no workload is a mix."""
    found = analysis.once(parts_in_mix)
    if not found:
        return None
    several = len({p.treatment for p in found}) > 1
    said = [_sentence(part, several=several) + _overlap(part) for part in found]
    few = min(part.n for part in found)
    hint = "" if few >= 5 else f"from {plural(few, 'trial')}: indicative"
    return Section(
        id="mix",
        title="Together and alone",
        lead="Slowdown: elapsed time together over elapsed time alone, paired within each trial "
        "(geometric mean, 95 % interval on logarithms).",
        said=said,
        charts=("mix",),
        tables=[_slowdowns(found), *_others(found)],
        hint=hint,
        data=[asdict(part) for part in found],
        answer=_answer(analysis, found),
    )


def _answer(analysis: Analysis, found: list[PartInMix]) -> str | None:
    """All slowdowns, where a mix is all that ran: its time holds the parts alone as well."""
    if len(analysis.phases) > 1:
        return None
    if len({part.treatment for part in found}) == 1:
        return "; ".join(_sentence(part, several=False) for part in found)
    told = []
    for name in dict.fromkeys(part.part for part in found):
        ratios = [
            f"{digits(part.slowdown.ratio)}{span(part.slowdown)} ({part.treatment})"
            for part in found
            if part.part == name and part.slowdown.ratio is not None
        ]
        told.append(f"{name} takes {listed(ratios, SAID) or 'unknown'} times as long together")
    return "; ".join(told)


def _sentence(part: PartInMix, *, several: bool) -> str:
    where = f" ({part.treatment})" if several else ""
    change = part.slowdown
    if change.ratio is None:
        return f"{part.part}{where}: no time to compare"
    text = f"{part.part}{where} takes {digits(change.ratio)} times as long together{span(change)}"
    if change.low is not None and change.high is not None and change.low <= 1 <= change.high:
        text += ": no difference found"
    tail = next((change for change in part.others if change.metric in TAILS), None)
    if tail is not None and tail.ratio is not None:
        text += f"; its {tail.metric.replace('_', ' ')} is {digits(tail.ratio)} times as large"
        text += span(tail)
    return text


def _overlap(part: PartInMix) -> str:
    if part.overlap is None or part.overlap >= 0.95:
        return ""
    return f"; others ran in {percent(part.overlap, signed=False)} of that time"


def span(change: Change) -> str:
    """`` [1.2, 1.4]``, or that it is unknown."""
    if change.low is None or change.high is None:
        return " (interval unknown)"
    return f" [{digits(change.low)}, {digits(change.high)}]"


def _slowdowns(found: list[PartInMix]) -> Table:
    rows = [
        (
            part.part,
            part.treatment,
            str(part.n),
            quantity(part.slowdown.alone, "s"),
            quantity(part.slowdown.together, "s"),
            "unknown" if part.slowdown.ratio is None else digits(part.slowdown.ratio),
            span(part.slowdown).strip(" ()"),
            percent(part.overlap, signed=False),
        )
        for part in found
    ]
    names = ("part", "treatment", "n", "alone", "together", "slowdown", "95 %", "with others")
    return Table("Elapsed time of each part", column(*names, text=2), rows)


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
        if change.ratio is not None and abs(change.ratio - 1) >= TOLD
    ]
    if not rows:
        return []
    hint = f"those that differ by {percent(TOLD, signed=False)} or more"
    names = ("part", "figure", "alone", "together", "ratio", "95 %")
    return [Table("Other figures of the parts", column(*names, text=2), rows, hint=hint)]
