"""The table of features of a published study, with what was measured here in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, plural, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.subjects.claims import measured_ratio, treatment_id
from windtunnel.analysis.subjects.faults import FaultOutcome, fault_outcomes
from windtunnel.analysis.subjects.features import FeatureRow, Found
from windtunnel.published.claims import Behaviours, Cell, Claims, Here, Outcome

CHECKS_FILE = "storage-checks.json"
"""The answers of ``storage-checks`` in the folder of a study, as the command prints them."""


def feature_rows(
    claims: Claims, measured: Mapping[str, Analysis], checks: Mapping[str, Any] | None
) -> list[FeatureRow]:
    """The table of features of a study; empty if it has none.

    Parameters
    ----------
    claims:
        The claims of the study, with its features.
    measured:
        The analysis of each run that has results.
    checks:
        The content of ``storage-checks.json``; None if the storage was not tested.
    """
    return [
        FeatureRow(feature.name, [_found(cell, measured, checks) for cell in feature.cells])
        for feature in claims.features
    ]


def _found(cell: Cell, measured: Mapping[str, Analysis], checks: Mapping[str, Any] | None) -> Found:
    if cell.cannot:
        return Found(cell.system, cell.of, f"not measured: {cell.cannot}", measured=False)
    if cell.behaviours is not None:
        words = _answers(cell.behaviours, checks)
        missing = "storage-checks"
    else:
        analysis = measured.get(cell.run or "")
        words = None if analysis is None else _words(cell, analysis)
        missing = cell.run or ""
    if words is None:
        return Found(cell.system, cell.of, f"not measured yet ({missing})", measured=False)
    return Found(cell.system, cell.of, words, measured=True)


def _words(cell: Cell, analysis: Analysis) -> str | None:
    if cell.ratio is not None:
        return _ratio(cell.ratio, analysis)
    if cell.amount is not None:
        return _amount(cell.amount, analysis)
    return None if cell.outcome is None else _outcome(cell.outcome, analysis)


def _ratio(here: Here, analysis: Analysis) -> str | None:
    where = (here.workload, here.phase, here.metric)
    found = measured_ratio(analysis, where, here.treatment, here.baseline)
    if found is None:
        return None
    trials = "" if found.low is None else f", n = {found.n} and {found.n_baseline}"
    return found.words + trials


def _amount(here: Here, analysis: Analysis) -> str | None:
    name = treatment_id(analysis, {**analysis.study.baseline, **here.treatment})
    cell = analysis.cell(name or "", here.workload, here.phase, here.metric)
    if cell is None:
        return None
    amount = digits(cell.mean) if cell.unit in ("", "ratio") else quantity(cell.mean, cell.unit)
    return f"{amount} (n = {cell.n})"


def _outcome(at: Outcome, analysis: Analysis) -> str | None:
    name = treatment_id(analysis, {**analysis.study.baseline, **at.treatment})
    found = [one for one in fault_outcomes(analysis) if one.treatment == name and one.trials]
    return "; ".join(part for one in found for part in _parts(one, at, analysis)) or None


def _parts(one: FaultOutcome, at: Outcome, analysis: Analysis) -> Iterator[str]:
    """``2 of 3 jobs finished, 1 with wrong output; time x1.12 [...]; ...``."""
    wrong = one.finished - one.right
    done = f"{one.finished} of {plural(one.trials, 'job')} finished"
    yield f"{done}, {wrong} with wrong output" if wrong else done
    where = (one.workload, TOTAL, ELAPSED)
    if (ratio := measured_ratio(analysis, where, at.treatment, at.baseline)) is not None:
        yield f"time {ratio.words}"
    if one.whole is not None and one.whole.seconds:
        low, high = (digits(edge(one.whole.seconds)) for edge in (min, max))
        yield (
            f"fully replicated after {low} s"
            if low == high
            else (f"fully replicated after {low} to {high} s")
        )
    if one.whole is not None and one.whole.watched_s is not None:
        yield f"not fully replicated within {digits(one.whole.watched_s)} s in some trials"


def _answers(cell: Behaviours, checks: Mapping[str, Any] | None) -> str | None:
    for column in (checks or {}).get("columns", []):
        if (column["level"], column["through"]) == (cell.level, cell.through):
            words = [one["answer"] for one in column["answers"].values()]
            if not words:
                return None
            said = ", ".join(f"{words.count(word)} {word}" for word in ("yes", "differs", "no"))
            return f"{said} (of {len(words)})"
    return None
