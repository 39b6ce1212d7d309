"""Sentences of a comparison: the answer and the caveats."""

from __future__ import annotations

from windtunnel.analysis.compare.compare import CellComparison, Comparison, Pair
from windtunnel.analysis.compare.differences import OWN_VERSIONS
from windtunnel.analysis.formatting import listed, percent, percent_interval, plural
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW

DIFFERENT_TIMES = (
    "{a} and {b} ran at different times: a change of the machine between the two runs cannot be "
    "distinguished from an effect of the configuration. To interleave them, define both as levels "
    "of one study and execute it with 'windtunnel run'"
)
ORDER = ("worse", "better", "differs", "not distinguishable", "unknown")


def answer(comparison: Comparison) -> str:
    """The verdicts on total elapsed time, one sentence per folder, without the final period."""
    return ". ".join(_answer(comparison.reference, pair) for pair in comparison.pairs)


def change(cell: CellComparison) -> str:
    """``+12 % [+8, +16]``: the ratio as a change, with its interval."""
    if cell.ratio is None:
        return "no ratio"
    low, high = (None if v is None else v - 1 for v in (cell.low, cell.high))
    return f"{percent(cell.ratio - 1)} {percent_interval(low, high, cell.ratio - 1)}"


def what_differs(pair: Pair) -> str:
    """The differences in cluster, settings and software, in one line."""
    rows = [row for row in pair.differences if row.group in ("cluster", "settings", "software")]
    if any(cell.basis == "model" for cell in pair.totals):
        rows = [row for row in rows if row.group == "cluster" and not row.label_only]
        also = f", and {listed([f'cluster {r.what}' for r in rows])}" if rows else ""
        return f"predicted times{also}"
    named = [f"{r.group} {r.what}" for r in rows if not r.label_only]
    if named:
        return listed(named)
    if any(refusal.id == "no-match" for refusal in pair.refusals):
        return "nothing is compared: the folders have no workload and treatment in common"
    same = "cluster, settings and software are the same"
    return same if pair.refused else f"two runs of the same configuration: {same}"


def caveats(comparison: Comparison, pair: Pair) -> list[str]:
    """The caveats of this pair, the most serious first, without final periods."""
    said = [f"comparison allowed in spite of {r.id}: {r.text}" for r in pair.refusals if r.allowed]
    if pair.refused:
        return said
    said += _on_trials(pair) + _on_time(comparison, pair)
    ours = [r for r in pair.differences if r.what in OWN_VERSIONS]
    if ours:
        rows = listed([f"{r.what} {r.reference[:12]} against {r.other[:12]}" for r in ours])
        said.append(f"the version of Windtunnel or Python differs: {rows}")
    if comparison.family > 1:
        said.append(
            f"verdicts on totals are corrected for {comparison.family} comparisons (Holm); "
            "each interval is an uncorrected 95 % interval, and verdicts on phases and other "
            "metrics are hints without correction"
        )
    elif comparison.family:
        said.append("verdicts on phases and other metrics are hints without correction")
    return said


def _answer(reference: str, pair: Pair) -> str:
    if pair.refused:
        reasons = listed([refusal.id for refusal in pair.refused])
        return f"{pair.other} is not compared with {reference}: refused ({reasons})"
    if not pair.totals:
        return f"{pair.other} and {reference} have no total elapsed time in common"
    parts = []
    for verdict in ORDER:
        cells = [cell for cell in pair.totals if cell.verdict == verdict]
        if cells:
            parts.append(f"{_lead(verdict)}: {listed([_cell_words(c) for c in cells])}")
    return f"{pair.other} against {reference}, total elapsed time: {'; '.join(parts)}"


def _lead(verdict: str) -> str:
    return "no verdict, the spread is unknown" if verdict == "unknown" else verdict


def _cell_words(cell: CellComparison) -> str:
    text = f"{cell.workload} at {cell.name} {change(cell)}"
    if cell.verdict == "not distinguishable" and cell.detectable is not None:
        text += f" (minimum detectable effect {percent(cell.detectable)})"
    return text


def _on_trials(pair: Pair) -> list[str]:
    said: list[str] = []
    ones = [c for c in pair.totals if min(c.n_reference, c.n_other) == 1 and c.p is None]
    few = [c for c in pair.totals if c.indicative and c not in ones]
    if any(c.basis == "model" for c in pair.totals):
        return said
    if ones:
        said.append("a cell has only one trial: the spread is unknown and there is no verdict")
    if any(c.p is None and c.ratio is not None and c not in ones for c in pair.totals):
        said.append(
            "the printed values of a cell are equal: the spread is unknown and there is no verdict"
        )
    units = dict.fromkeys(c.few for c in few)
    said += [
        f"a cell has fewer than {INDICATIVE_BELOW} {unit}: verdicts are indicative"
        for unit in units
    ]
    if any(c.nested for c in pair.totals):
        said.append(
            "the unit of the statistics is the deployment: both folders have several deployments"
        )
    return said


def _on_time(comparison: Comparison, pair: Pair) -> list[str]:
    names = {"a": comparison.reference, "b": pair.other}
    bases = {cell.basis for cell in pair.totals}
    said: list[str] = []
    if bases & {"back to back", "apart"}:
        said.append(DIFFERENT_TIMES.format(**names))
    if "back to back" in bases:
        said.append(
            "the folders ran one shortly after the other: a difference counts only if it remains "
            "when the trend within the folders is continued over the time between them"
        )
    if "interleaved" in bases:
        said.append("the folders ran at the same time: their common trend was removed")
    if "untimed" in bases and any(c.p is not None for c in pair.totals):
        said.append(
            "the times of the trials were not used: drift and shifts between the folders are "
            "not detected"
        )
    if "model" in bases:
        said.append(
            "times are predictions: each interval is the error of the model for a measured time"
        )
    if "history" in bases:
        count = len(comparison.history)
        said.append(
            f"the noise is the spread of {plural(count, 'earlier run')} "
            f"({plural(count - 1, 'degree')} of freedom), so the interval includes drift and "
            "shifts between runs"
        )
    return said
