"""What a comparison says in sentences: the answer, and what to be careful about."""

from __future__ import annotations

from windtunnel.analysis.compare.compare import CellComparison, Comparison, Pair
from windtunnel.analysis.compare.differences import VERSIONS_OF_OURS
from windtunnel.analysis.stats import INDICATIVE_BELOW
from windtunnel.analysis.words import listed, percent, percent_interval, plural

DIFFERENT_TIMES = (
    "{a} and {b} ran at different times: a shift of the machine between them cannot be told "
    "from a change. Repeat interleaved: one study with both as levels, 'windtunnel run'"
)
ORDER = ("worse", "better", "differs", "not distinguishable", "unknown")


def answer(comparison: Comparison) -> str:
    """The verdicts on total elapsed time in one sentence per folder, without the last stop."""
    return ". ".join(_answer(comparison.reference, pair) for pair in comparison.pairs)


def change(cell: CellComparison) -> str:
    """``+12 % [+8, +16]``: the ratio as a change, with its interval."""
    if cell.ratio is None:
        return "no ratio"
    low, high = (None if v is None else v - 1 for v in (cell.low, cell.high))
    return f"{percent(cell.ratio - 1)} {percent_interval(low, high, cell.ratio - 1)}"


def what_differs(pair: Pair) -> str:
    """The things compared in one line: what differs in cluster, settings or software."""
    rows = [row for row in pair.differences if row.group in ("cluster", "settings", "software")]
    named = [f"{r.group} {r.what}" for r in rows if not r.label_only]
    if named:
        return listed(named)
    if any(refusal.id == "no-match" for refusal in pair.refusals):
        return "nothing: no workload of one has a partner in the other"
    same = "cluster, settings and software are the same"
    return same if pair.refused else f"two runs of one thing: {same}"


def caveats(comparison: Comparison, pair: Pair) -> list[str]:
    """What to be careful about with this pair, most serious first; no last stops."""
    said = [f"allowed although {r.id}: {r.text}" for r in pair.refusals if r.allowed]
    if pair.refused:
        return said
    said += _on_trials(pair) + _on_time(comparison, pair)
    ours = [r for r in pair.differences if r.what in VERSIONS_OF_OURS]
    if ours:
        rows = listed([f"{r.what} {r.reference[:12]} against {r.other[:12]}" for r in ours])
        said.append(f"the measuring program was not the same: {rows}")
    if comparison.family > 1:
        said.append(
            f"verdicts on totals are corrected for {comparison.family} comparisons (Holm); "
            "intervals are 95 % each, and verdicts on phases and other metrics are hints "
            "without correction"
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
            parts.append(f"{_lead(verdict)}: {listed([_told(c) for c in cells])}")
    return f"{pair.other} against {reference}, total elapsed time: {'; '.join(parts)}"


def _lead(verdict: str) -> str:
    return "no verdict, the spread is unknown" if verdict == "unknown" else verdict


def _told(cell: CellComparison) -> str:
    text = f"{cell.workload} at {cell.treatment} {change(cell)}"
    if cell.verdict == "not distinguishable" and cell.detectable is not None:
        text += f", seen would be {percent(cell.detectable)} and more"
    return text


def _on_trials(pair: Pair) -> list[str]:
    said = []
    ones = [c for c in pair.totals if min(c.n_reference, c.n_other) == 1]
    few = [c for c in pair.totals if c.indicative and c not in ones]
    if ones:
        said.append("one trial in a cell: the spread is unknown, there is no verdict")
    if few:
        said.append(f"fewer than {INDICATIVE_BELOW} trials in a cell: verdicts are indicative")
    if any(c.nested for c in pair.totals):
        said.append("the deployment is the unit: several starts of the cluster in both folders")
    return said


def _on_time(comparison: Comparison, pair: Pair) -> list[str]:
    names = {"a": comparison.reference, "b": pair.other}
    bases = {cell.basis for cell in pair.totals}
    said = []
    if bases & {"back to back", "apart"}:
        said.append(DIFFERENT_TIMES.format(**names))
    if "back to back" in bases:
        said.append(
            "they ran close together: a verdict had to hold also if the trend within the "
            "folders went on between them"
        )
    if "interleaved" in bases:
        said.append("they ran at the same time: the trend that both share is taken out")
    if "untimed" in bases and any(c.p is not None for c in pair.totals):
        said.append("no use was made of time: drift and shifts between the folders are not seen")
    if "history" in bases:
        count = len(comparison.history)
        said.append(
            f"judged by the spread among {plural(count, 'earlier run')} "
            f"({plural(count - 1, 'degree')} of freedom), so drift and shifts between runs are in "
            "the interval"
        )
    return said
