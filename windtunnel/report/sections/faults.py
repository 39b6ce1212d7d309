"""Section "Faults": whether the jobs finished, whether the output is right, and the added time."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import digits, plural, quantity, with_interval
from windtunnel.analysis.subjects.faults import FaultOutcome, Seen, Struck, fault_outcomes, struck
from windtunnel.report.sections.base import Column, Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN

_NAMED = 3
"""Maximum number of treatments in the first sentence of the report; the table has the others."""

# Columns that a table has if it has a value in them: head, field of an outcome, explanation.
_EVENTS = (
    (
        "noticed after",
        "noticed",
        "Noticed after: time from the fault until the storage's master (the NameNode, Ceph's "
        "monitors) reported a lost host or a lost service, or stopped responding.",
    ),
    (
        "fully replicated after",
        "whole",
        "Fully replicated after: time from the fault until every block had all its replicas.",
    ),
    (
        "moved back after",
        "moved_back",
        "Moved back after: time from the end of the fault until the storage had moved data to the "
        "host that was put into service again.",
    ),
)


def section(analysis: Analysis) -> Section | None:
    """None for a study without faults."""
    outcomes = analysis.once(fault_outcomes)
    if not outcomes:
        return None
    timeline = list(struck(analysis))
    changes = [o.effect for o in outcomes if o.faults and o.effect is not None]
    known = any(effect.ci_low is not None for effect in changes)
    return Section(
        id="faults",
        title="Faults",
        lead=f"{INTERVALS_UNKNOWN.capitalize()}." if changes and not known else "",
        said=[text for outcome in outcomes if (text := _sentence(analysis, outcome, known=known))],
        tables=[
            _outcomes(analysis, outcomes, known=known),
            Table(
                "Injected faults",
                column("trial", "fault", "outcome", "injected after", "undone after", text=3),
                [_event(event) for event in timeline],
            ),
            *_reasons(timeline),
        ],
        hint="A job that fails because of a fault is a result: it is not repeated, and no mean "
        "includes its time",
        data={
            "outcomes": [_data(outcome) for outcome in outcomes],
            "timeline": [
                {**asdict(event), "fault": event.fault.model_dump(mode="json")}
                for event in timeline
            ],
        },
        answer=_answer(analysis, outcomes),
    )


def _answer(analysis: Analysis, outcomes: list[FaultOutcome]) -> str | None:
    """The faults after which jobs failed or outputs were wrong, then the answer of the times.

    None if all jobs finished with correct output: then the times answer the question.
    """
    failed = [outcome for outcome in outcomes if outcome.right < outcome.trials]
    if not failed:
        return None
    parts = [
        f"{outcome.workload} at {analysis.name(outcome.treatment)}: {_done(outcome)}"
        for outcome in failed[:_NAMED]
    ]
    left = len(failed) - len(parts)
    more = f"; {plural(left, 'more treatment')} below" if left else ""
    times = f". {analysis.answer.removesuffix('.')}" if analysis.findings else ""
    return f"{'; '.join(parts)}{more}{times}"


def _outcomes(analysis: Analysis, outcomes: list[FaultOutcome], *, known: bool) -> Table:
    failed = [i for i, outcome in enumerate(outcomes) if outcome.right < outcome.trials]
    several = len(analysis.phases) > 1
    heads = list(column("treatment", "finished", "output correct", "mean time", "change of time"))
    rows = [_row(analysis, outcome, several=several, known=known) for outcome in outcomes]
    explained = [
        "Output correct: trials with verified output. Mean time: their mean elapsed time over all "
        "phases. Change of time: against the level without faults that has the same settings."
    ]
    for head, field, text in _EVENTS:
        times = [_seen(getattr(outcome, field)) for outcome in outcomes]
        if any(times):
            heads.append(Column(head, numeric=True, weight=2))  # the sentences have the change
            rows = [[*row, time] for row, time in zip(rows, times, strict=True)]
            explained.append(text)
    return Table("Outcomes", heads, rows, strong=frozenset(failed), hint=" ".join(explained))


def _reasons(timeline: list[Struck]) -> list[Table]:
    """Why jobs failed or outputs were wrong, one row per trial; no table if there is none."""
    rows = {event.trial: [event.trial, event.outcome, event.reason] for event in timeline}
    failed = [row for row in rows.values() if row[2]]
    return (
        [Table("Reasons", column("trial", "outcome", "reason", text=3), failed)] if failed else []
    )


def _sentence(analysis: Analysis, outcome: FaultOutcome, *, known: bool) -> str:
    if not outcome.faults:
        return ""
    what = "; ".join(outcome.faults)
    lead = f"{analysis.name(outcome.treatment)}: {what}. "
    if not outcome.trials:
        return f"{lead}No valid trial shows its effect"
    done = _done(outcome)
    cost = _effect(outcome.effect, known=known)
    change = ""
    if outcome.effect is not None and cost != "unknown":
        change = f", elapsed time {cost} against level {outcome.effect.baseline}"
    return f"{lead}{done[0].upper()}{done[1:]}{change}"


def _done(outcome: FaultOutcome) -> str:
    """``3 of 4 jobs finished, 1 with wrong output``."""
    if outcome.finished < outcome.trials:
        done = f"{outcome.finished} of {outcome.trials} jobs finished"
    else:
        done = "all jobs finished" if outcome.trials > 1 else "the job finished"
    wrong = outcome.finished - outcome.right
    if wrong:
        return f"{done}, {wrong} with wrong output"
    return f"{done} with correct output" if outcome.finished else done


def _row(analysis: Analysis, outcome: FaultOutcome, *, several: bool, known: bool) -> list[str]:
    lead = f"{outcome.workload}: " if several else ""
    return [
        f"{lead}{analysis.name(outcome.treatment)}",
        f"{outcome.finished} of {outcome.trials}",
        f"{outcome.right} of {outcome.trials}",
        quantity(outcome.elapsed_s, "s"),
        _effect(outcome.effect, known=known) if outcome.faults else "",
    ]


def _effect(effect: Effect | None, *, known: bool) -> str:
    if effect is None or effect.relative is None:
        return "unknown"
    return with_interval(effect.relative, effect.ci_low, effect.ci_high, known=known)


def _seen(seen: Seen | None) -> str:
    """``24.1 s``, ``21.0 to 26.3 s``, ``not within 63 s``; empty if it was not observed."""
    if seen is None:
        return ""
    parts = []
    if seen.seconds:
        low, high = digits(min(seen.seconds)), digits(max(seen.seconds))
        parts.append(f"{low} s" if low == high else f"{low} to {high} s")
    if seen.watched_s is not None:
        parts.append(f"not within {digits(seen.watched_s)} s")
    return ", ".join(parts)


def _event(event: Struck) -> list[str]:
    fault = event.fault
    into = "not injected" if fault.at is None else quantity(event.into_job_s, "s")
    undone = "not undone" if fault.at is not None else ""
    if event.lasted_s is not None:
        undone = quantity(event.lasted_s, "s")
    return [event.trial, fault.text, event.outcome, into, undone]


def _data(outcome: FaultOutcome) -> dict[str, object]:
    found = asdict(outcome)
    if outcome.effect is not None:
        effect = outcome.effect
        found["effect"] = {
            "relative": effect.relative,
            "ci_low": effect.ci_low,
            "ci_high": effect.ci_high,
            "absolute_s": effect.absolute,
            "baseline": effect.baseline,
        }
    return found
