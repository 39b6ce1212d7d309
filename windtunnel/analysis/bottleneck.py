"""What bound each phase: a verdict with its evidence, by treatment, workload and phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis import Analysis
from windtunnel.analysis.causes import (
    RULES,
    Cause,
    by_resource,
    nothing,
    unknown_limits,
)
from windtunnel.analysis.facts import Facts, Load, facts, mean_facts
from windtunnel.analysis.findings import Finding
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import percent

UNKNOWN = "unknown"
_HARDWARE = {"CPU", "disk", "network", "memory"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What bound one phase, judged on the means over ``n`` trials.

    ``binding`` says it with its evidence; ``runner_up`` is what would bind next (a cause that
    holds as well, else the resource used most). ``agree`` counts the trials that give the same
    cause when judged alone; ``low`` and ``high`` span the trials' numbers of that cause (None
    with one trial: the spread is unknown). ``unknown`` names what was used of resources without
    a known limit.
    """

    treatment: str
    workload: str
    phase: str
    n: int
    binding: Cause
    runner_up: Cause | None
    agree: int
    low: float | None
    high: float | None
    unknown: tuple[str, ...]
    loads: tuple[Load, ...]

    @property
    def known(self) -> bool:
        """Whether there was anything to judge by."""
        return self.binding.kind != UNKNOWN

    @property
    def text(self) -> str:
        """The verdict in one line: cause, evidence, spread, what is next."""
        kind, words = self.binding.kind, self.binding.words
        if kind in _HARDWARE:
            head = f"{kind}-bound: {words.removeprefix('CPU ')}"
        elif kind in words.split(":")[0]:
            head = f"bound by {words}"
        elif self.binding.binds:
            head = f"bound by {kind}: {words}"
        else:
            head = f"{kind}: {words}"
        tail = [part for part in (self._spread(), self._next()) if part]
        return f"{head} ({'; '.join(tail)})" if tail else head

    def _spread(self) -> str:
        if not self.known:
            return ""
        if self.n == 1:
            return "one trial, spread unknown"
        same = "the same" if self.agree == self.n else f"the same in {self.agree}"
        return f"{same} in all {self.n} trials" if self.agree == self.n else f"{same} of {self.n}"

    def _next(self) -> str:
        parts = [f"next: {self.runner_up.words}"] if self.runner_up else []
        if self.unknown:
            parts.append(f"limit unknown: {', '.join(self.unknown)}")
        return "; ".join(parts)


def bottlenecks(analysis: Analysis) -> list[Verdict]:
    """A verdict for each treatment, workload and phase, in the order of the report."""
    found = analysis.once(facts)
    order = {name: place for place, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    keys = sorted(found, key=lambda key: (key[1], ranks[key[1], key[2]], order[key[0]]))
    return [_verdict(key, found[key]) for key in keys]


def cause_of(analysis: Analysis, treatment: str, workload: str, phase: str) -> str | None:
    """What bound a phase, in a word or two (``CPU``, ``one long reducer``); None if unclear."""
    for verdict in analysis.once(bottlenecks):
        if (verdict.treatment, verdict.workload, verdict.phase) == (treatment, workload, phase):
            return verdict.binding.kind if verdict.binding.binds else None
    return None


def judge(row: Facts) -> tuple[Cause, Cause | None]:
    """The cause that binds and the next one: of the rules that hold, the first two."""
    held = [cause for rule in RULES if (cause := rule(row)) is not None and cause.binds]
    binding = held[0] if held else nothing(row)
    rest = [cause for cause in [*held[1:], *by_resource(row)] if cause.kind != binding.kind]
    shown = not held and rest and rest[0].words in binding.words
    return binding, (rest[1] if shown and len(rest) > 1 else rest[0] if rest else None)


def _verdict(key: tuple[str, str, str], rows: Sequence[Facts]) -> Verdict:
    mean = mean_facts(rows)
    binding, runner_up = judge(mean)
    alone = [judge(row)[0] for row in rows]
    same = [cause.share for cause in alone if cause.kind == binding.kind]
    spread = (min(same), max(same)) if len(same) > 1 else (None, None)
    return Verdict(
        *key,
        n=len(rows),
        binding=binding,
        runner_up=runner_up,
        agree=len(same),
        low=spread[0],
        high=spread[1],
        unknown=tuple(unknown_limits(mean)),
        loads=mean.loads,
    )


def before_and_after(
    analysis: Analysis, workload: str, phase: str, baseline: str, treatment: str
) -> str | None:
    """What bound the baseline and what binds the treatment, as part of a sentence."""
    before = cause_of(analysis, baseline, workload, phase)
    after = cause_of(analysis, treatment, workload, phase)
    if before is None or after is None:
        return None
    if before == after:
        return f"bound by {before} before and after"
    return f"bound by {before} before, by {after} after"


def with_cause(analysis: Analysis, finding: Finding) -> str:
    """A finding's sentence with what bound the baseline and what binds the level, if known.

    Judged in the phase that holds most of the change; without one, in the baseline's longest.
    Only where a treatment differs from the study's baseline by this level alone.
    """
    effect = finding.effect
    base = {**analysis.study.baseline, effect.factor: effect.baseline}
    ids = {tuple(sorted(t.levels.items())): t.id for t in analysis.study.treatments}
    old = ids.get(tuple(sorted(base.items())))
    new = ids.get(tuple(sorted({**base, effect.factor: effect.level}.items())))
    if old is None or new is None:
        return finding.text
    phase = finding.phase or _longest(analysis, old, effect.workload)
    said = before_and_after(analysis, effect.workload, phase, old, new)
    if said is None:
        return finding.text
    where = "" if phase == finding.phase else f"in {phase} "
    return f"{finding.text}; {where}{said}"


def _longest(analysis: Analysis, treatment: str, workload: str) -> str:
    """The phase with the longest mean elapsed time; the total if no phase was timed."""
    cells = [
        cell
        for phase in analysis.phases.get(workload, [])
        if phase != TOTAL and (cell := analysis.cell(treatment, workload, phase, ELAPSED))
    ]
    return max(cells, key=lambda cell: cell.mean).phase if cells else TOTAL


def share_words(verdict: Verdict) -> str:
    """The span of the binding number over the trials, where it is a share."""
    if verdict.low is None or verdict.high is None or verdict.high > 1:
        return ""
    return f"{percent(verdict.low, signed=False)} to {percent(verdict.high, signed=False)}"
