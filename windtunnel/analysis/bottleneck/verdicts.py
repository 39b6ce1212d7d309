"""The bottleneck of each phase: a verdict with its evidence, by treatment, workload, phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.causes import RULES, Cause, by_resource, nothing, unknown_limits
from windtunnel.analysis.bottleneck.facts import Facts, Load, facts, mean_facts, with_samples
from windtunnel.analysis.effects.findings import Finding
from windtunnel.analysis.formatting import percent, plural, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.results.record import Phase

UNKNOWN = "unknown"
_HARDWARE = {"CPU", "disk", "network", "memory"}
_PREDICTED = {"cpu": "CPU"}  # names of resources in predictions


@dataclass(frozen=True, slots=True)
class Verdict:
    """The bottleneck of one phase, judged on the means over ``n`` trials.

    ``binding`` is the bottleneck with its evidence; ``runner_up`` is the next bottleneck (another
    cause that applies, else the resource with the highest utilisation). ``agree`` is the number
    of trials with the same cause if judged alone; ``low`` and ``high`` are the minimum and the
    maximum of that cause's number over the trials (None with one trial: the spread is unknown).
    ``unknown`` lists the rates of resources without a known limit. ``predicted``: the model states
    the bottleneck. ``not_sampled`` is the number of trials that are not judged, because they have
    no samples of the hosts and others have.
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
    predicted: bool = False
    not_sampled: int = 0

    @property
    def known(self) -> bool:
        """Whether there are facts for a verdict."""
        return self.binding.kind != UNKNOWN

    @property
    def text(self) -> str:
        """The verdict in one line: cause, evidence, spread, next bottleneck."""
        return self.words()

    def words(self, *, spread: bool = True) -> str:
        """The verdict in one line; with ``spread`` False, without the agreement of the trials."""
        kind, words = self.binding.kind, self.binding.words
        if kind in _HARDWARE:
            head = f"{kind}-bound: {words.removeprefix('CPU ')}"
        elif kind in words.split(":")[0]:
            head = f"bound by {words}"
        elif self.binding.binds:
            head = f"bound by {kind}: {words}"
        else:
            head = f"{kind}: {words}"
        tail = [part for part in (self._spread() if spread else "", self._next()) if part]
        return f"{head} ({'; '.join(tail)})" if tail else head

    def _spread(self) -> str:
        if not self.known:
            return ""
        if self.predicted:
            return "predicted"
        if self.not_sampled:
            judged = plural(self.n, "trial")
            return (
                f"same cause in {self.agree} of {judged} with samples of the hosts, "
                f"{self.not_sampled} without"
            )
        if self.n == 1:
            return "one trial, spread unknown"
        number = f"all {self.n}" if self.agree == self.n else f"{self.agree} of {self.n}"
        return f"same cause in {number} trials"

    def _next(self) -> str:
        parts = [f"next bottleneck: {self.runner_up.words}"] if self.runner_up else []
        if self.unknown:
            parts.append(f"limit unknown: {', '.join(self.unknown)}")
        return "; ".join(parts)


def bottlenecks(analysis: Analysis) -> list[Verdict]:
    """A verdict for each treatment, workload and phase, in the order of the report."""
    found = analysis.once(facts)
    order = {name: place for place, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    keys = sorted(found, key=lambda key: (key[1], ranks[key[1], key[2]], order[key[0]]))
    predicted = {
        (trial.treatment.id, trial.workload, phase.name): phase
        for trial in analysis.results.trials
        for phase in trial.phases
        if phase.prediction is not None
    }
    return [
        _of_prediction(key, predicted[key]) if key in predicted else _verdict(key, found[key])
        for key in keys
    ]


def cause_of(analysis: Analysis, treatment: str, workload: str, phase: str) -> str | None:
    """The bottleneck of a phase by name (``CPU``, ``one long reducer``); None if unclear."""
    for verdict in analysis.once(bottlenecks):
        if (verdict.treatment, verdict.workload, verdict.phase) == (treatment, workload, phase):
            return verdict.binding.kind if verdict.binding.binds else None
    return None


def judge(row: Facts) -> tuple[Cause, Cause | None]:
    """The bottleneck and the next one: the first two of the rules that apply."""
    held = [cause for rule in RULES if (cause := rule(row)) is not None and cause.binds]
    binding = held[0] if held else nothing(row)
    rest = [cause for cause in [*held[1:], *by_resource(row)] if cause.kind != binding.kind]
    shown = not held and rest and rest[0].words in binding.words
    return binding, (rest[1] if shown and len(rest) > 1 else rest[0] if rest else None)


def _of_prediction(key: tuple[str, str, str], phase: Phase) -> Verdict:
    """The bottlenecks that the model states."""
    made = phase.prediction
    assert made is not None
    causes = []
    for name in (made.bottleneck, made.next_bottleneck):
        alone = made.resources_s[name]
        kind = _PREDICTED.get(name, name)
        what = f"the {kind} alone" if kind in _HARDWARE else f"{kind}: it"
        words = f"{what} takes {quantity(alone, 's')} of {quantity(phase.elapsed_s, 's')}"
        causes.append(Cause(kind, words, alone / phase.elapsed_s, True, {"alone_s": alone}))
    return Verdict(
        *key,
        n=1,
        binding=causes[0],
        runner_up=causes[1],
        agree=1,
        low=None,
        high=None,
        unknown=(),
        loads=(),
        predicted=True,
    )


def _verdict(key: tuple[str, str, str], rows: Sequence[Facts]) -> Verdict:
    mean = mean_facts(rows)
    binding, runner_up = judge(mean)
    judged = with_samples(rows) or rows
    alone = [judge(row)[0] for row in judged]
    same = [cause.share for cause in alone if cause.kind == binding.kind]
    spread = (min(same), max(same)) if len(same) > 1 else (None, None)
    return Verdict(
        *key,
        n=len(judged),
        binding=binding,
        runner_up=runner_up,
        agree=len(same),
        low=spread[0],
        high=spread[1],
        unknown=tuple(unknown_limits(mean)),
        loads=mean.loads,
        not_sampled=len(rows) - len(judged),
    )


def before_and_after(
    analysis: Analysis, workload: str, phase: str, baseline: str, treatment: str
) -> str | None:
    """The bottlenecks of the baseline and of the treatment, as part of a sentence."""
    before = cause_of(analysis, baseline, workload, phase)
    after = cause_of(analysis, treatment, workload, phase)
    if before is None or after is None:
        return None
    if before == after:
        return f"bound by {before} at both levels"
    return f"bound by {before} at the baseline, by {after} at this level"


def with_cause(analysis: Analysis, finding: Finding, said: str | None = None) -> str:
    """A finding's sentence with the bottlenecks of the baseline and of the level, if known.

    ``said`` replaces the finding's own text.

    The bottlenecks are those of the phase with most of the change; without one, of the
    baseline's longest phase. A treatment must differ from the baseline by this level alone.
    """
    effect, text = finding.effect, finding.text if said is None else said
    base = {**analysis.study.baseline, effect.factor: effect.baseline}
    ids = {tuple(sorted(t.levels.items())): t.id for t in analysis.study.treatments}
    old = ids.get(tuple(sorted(base.items())))
    new = ids.get(tuple(sorted({**base, effect.factor: effect.level}.items())))
    if old is None or new is None:
        return text
    phase = finding.phase or _longest(analysis, old, effect.workload)
    bound = before_and_after(analysis, effect.workload, phase, old, new)
    if bound is None:
        return text
    where = "" if phase == finding.phase else f"in {phase} "
    return f"{text}; {where}{bound}"


def _longest(analysis: Analysis, treatment: str, workload: str) -> str:
    """The phase with the longest mean elapsed time; the total if no phase was timed."""
    cells = [
        cell
        for phase in analysis.phases.get(workload, [])
        if phase != TOTAL
        and (workload, phase) not in analysis.beside
        and (cell := analysis.cell(treatment, workload, phase, ELAPSED))
    ]
    return max(cells, key=lambda cell: cell.mean).phase if cells else TOTAL


def share_words(verdict: Verdict) -> str:
    """The range of the bottleneck's number over the trials, if it is a fraction."""
    if verdict.low is None or verdict.high is None or verdict.high > 1:
        return ""
    return f"{percent(verdict.low, signed=False)} to {percent(verdict.high, signed=False)}"
