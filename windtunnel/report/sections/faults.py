"""Section "Faults": did the jobs finish, is the output right, what did it cost."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis import Analysis
from windtunnel.analysis.effects import Effect
from windtunnel.analysis.faults import FaultOutcome, Seen, Struck, fault_outcomes, struck
from windtunnel.analysis.words import digits, percent, percent_interval, quantity
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """None for a study without faults."""
    outcomes = analysis.once(fault_outcomes)
    if not outcomes:
        return None
    timeline = list(struck(analysis))
    failed = [i for i, outcome in enumerate(outcomes) if outcome.right < outcome.trials]
    return Section(
        id="faults",
        title="Faults",
        said=[sentence for outcome in outcomes if (sentence := _sentence(outcome))],
        tables=[
            Table(
                "Outcomes",
                column(
                    *("treatment", "finished", "right", "time", "against the baseline"),
                    *("noticed", "whole again"),
                ),
                [_row(outcome, several=len(analysis.phases) > 1) for outcome in outcomes],
                strong=frozenset(failed),
                hint="Right: trials whose output was verified; time is their mean, all phases "
                "together. Noticed: from the fault until the NameNode missed a DataNode, or was "
                "missing itself; whole again: until every block had all its copies.",
            ),
            Table(
                "What struck when",
                column("trial", "fault", "outcome", "into the job", "undone after", text=3),
                [_event(event) for event in timeline],
            ),
        ],
        hint="A job that a fault failed is an outcome and is not run again; its time is in no mean",
        data={
            "outcomes": [_data(outcome) for outcome in outcomes],
            "timeline": [
                {**asdict(event), "fault": event.fault.model_dump(mode="json")}
                for event in timeline
            ],
        },
    )


def _sentence(outcome: FaultOutcome) -> str:
    if not outcome.faults:
        return ""
    what = "; ".join(outcome.faults)
    lead = f"{outcome.treatment}: {what}. "
    if not outcome.trials:
        return f"{lead}No trial tells what it does"
    if outcome.finished < outcome.trials:
        done = f"{outcome.finished} of {outcome.trials} jobs finished"
    else:
        done = "the job finished every time" if outcome.trials > 1 else "the job finished"
    wrong = outcome.finished - outcome.right
    if wrong:
        done += f", {wrong} with wrong output"
    elif outcome.finished:
        done += " with the right output"
    cost = _effect(outcome.effect)
    return f"{lead}{done[0].upper()}{done[1:]}" + (f", time {cost}" if cost != "unknown" else "")


def _row(outcome: FaultOutcome, *, several: bool) -> list[str]:
    lead = f"{outcome.workload}: " if several else ""
    return [
        f"{lead}{outcome.treatment}",
        f"{outcome.finished} of {outcome.trials}",
        f"{outcome.right} of {outcome.trials}",
        quantity(outcome.elapsed_s, "s"),
        _effect(outcome.effect) if outcome.faults else "",
        _seen(outcome.noticed),
        _seen(outcome.whole),
    ]


def _effect(effect: Effect | None) -> str:
    if effect is None or effect.relative is None:
        return "unknown"
    interval = percent_interval(effect.ci_low, effect.ci_high, effect.relative)
    return f"{percent(effect.relative)} {interval}"


def _seen(seen: Seen | None) -> str:
    """``24.1 s``, ``21.0 to 26.3 s``, ``not within 63 s``; empty where nothing was looked for."""
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
    into = "did not strike" if fault.at is None else quantity(event.into_job_s, "s")
    undone = "with the cluster" if fault.at is not None else ""
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
        }
    return found
