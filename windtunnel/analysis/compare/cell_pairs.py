"""Matching of the cells of two folders, and the cells without a match."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.analysis.compare.noise import Points
from windtunnel.analysis.effects.cells import Sample
from windtunnel.analysis.names import names_of
from windtunnel.analysis.observations import ELAPSED, counts, observe
from windtunnel.analysis.predicted_error import predicted_errors
from windtunnel.results.folder import Results
from windtunnel.results.record import Treatment, Trial

Match = Literal["treatment", "workload"]
Where = tuple[str, str, str]
"""(workload, phase, metric)"""


@dataclass(frozen=True)
class Side:
    """One results folder: its name, its counted trials, and its samples by treatment.

    ``names`` are those of the treatments, by id.
    """

    name: str
    results: Results
    trials: list[Trial]
    treatments: dict[str, Treatment]
    names: dict[str, str]
    table: dict[tuple[str, Where], Sample]
    order: dict[tuple[str, Where], list[Trial]]

    @property
    def predicted(self) -> bool:
        """Whether the times are predictions."""
        return self.results.study.kind == "predicted"

    @property
    def printed(self) -> bool:
        """Whether the values are those of a publication."""
        return self.results.study.kind == "published"

    @property
    def timed(self) -> bool:
        """Whether the trials have times at which they really ran."""
        return self.results.study.kind == "measured"

    def points(self, treatment: str, where: Where) -> Points:
        """The cell as logarithms with times; its values must be positive."""
        logs = tuple(math.log(value) for value in self.table[(treatment, where)].values)
        trials = self.order[(treatment, where)]
        known = all(t.deployment is not None for t in trials)
        return Points(
            logs,
            tuple(t.started_at for t in trials) if self.timed else (),
            tuple(t.deployment for t in trials) if known else (),
            self.printed,
        )

    def beside(self, treatment: str, where: Where) -> list[Points]:
        """The same cell at the other treatments, if its values are positive."""
        return [
            self.points(name, where)
            for name in self.treatments
            if name != treatment
            and (name, where) in self.table
            and all(value > 0 for value in self.table[(name, where)].values)
        ]


@dataclass(frozen=True, slots=True)
class Matched:
    """A workload at a treatment of the reference and at one of the other folder.

    ``name`` is the name of the treatment; of both where their levels differ.
    """

    workload: str
    treatment: str
    other: str
    name: str

    @property
    def label(self) -> str:
        """The id of the treatment; both ids if they differ."""
        return (
            self.treatment if self.treatment == self.other else f"{self.treatment} : {self.other}"
        )


def side_of(name: str, results: Results) -> Side:
    """One side of a comparison, with the valid trials that are not warm-ups."""
    trials = [trial for trial in results.trials if counts(trial)]
    by_id = {trial.id: trial for trial in trials}
    table: dict[tuple[str, Where], Sample] = {}
    order: dict[tuple[str, Where], list[Trial]] = {}
    errors = predicted_errors(trials)
    for row in observe(trials):
        key = (row.treatment, (row.workload, row.phase, row.metric))
        place = (row.treatment, row.workload, row.phase)
        error = errors.get(place) if row.metric == ELAPSED else None
        table.setdefault(key, Sample(row.unit, [], error=error)).values.append(row.value)
        order.setdefault(key, []).append(by_id[row.trial])
    treatments = {t.id: t for t in results.study.treatments}
    treatments |= {t.treatment.id: t.treatment for t in trials}
    return Side(name, results, trials, treatments, names_of(results), table, order)


def match(a: Side, b: Side, by: Match) -> list[Matched]:
    """Pairs of treatments by workload: those with the same levels.

    With ``workload``, a workload that ran at only one treatment in each folder is matched,
    whatever its levels are.
    """
    found = []
    for workload in dict.fromkeys(t.workload for t in a.trials):
        ours, theirs = _ran(a, workload), _ran(b, workload)
        if by == "workload" and len(ours) == len(theirs) == 1:
            name = _joint_name(a, ours[0], b, theirs[0])
            found.append(Matched(workload, ours[0].id, theirs[0].id, name))
            continue
        levels = {_levels(t): t.id for t in theirs}
        found += [
            Matched(workload, t.id, levels[_levels(t)], a.names[t.id])
            for t in ours
            if _levels(t) in levels
        ]
    return found


def _joint_name(a: Side, ours: Treatment, b: Side, theirs: Treatment) -> str:
    """The name of two treatments; both names where their levels differ."""
    names = [a.names[ours.id]]
    if _levels(ours) != _levels(theirs):
        names.append(b.names[theirs.id])
    return " : ".join(dict.fromkeys(names))


def unmatched(a: Side, b: Side, matched: Sequence[Matched]) -> list[str]:
    """Treatments and cells that only one folder contains, one line each; treatments first."""
    lines = []
    for side, own in ((a, 0), (b, 1)):
        paired = {(m.workload, (m.treatment, m.other)[own]) for m in matched}
        ran = dict.fromkeys((t.workload, t.treatment.id) for t in side.trials)
        lines += [
            f"{w} at {side.names[t]}: only in {side.name}" for w, t in ran if (w, t) not in paired
        ]
    for m in matched:
        ours, theirs = (_where(s, m.workload, t) for s, t in ((a, m.treatment), (b, m.other)))
        for side, more, less in ((a, ours, theirs), (b, theirs, ours)):
            names = [
                f"{phase} {metric}" for _, phase, metric in more if (_, phase, metric) not in less
            ]
            if names:
                head = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")
                lines.append(f"{m.workload} at {m.name}: only in {side.name}: {head}")
    return lines


def shared(a: Side, b: Side, m: Matched) -> Iterator[Where]:
    """The phases and metrics that both cells have, in the same unit, in the reference's order."""
    theirs = _where(b, m.workload, m.other)
    for where in _where(a, m.workload, m.treatment):
        if where in theirs:
            ours, other = a.table[(m.treatment, where)], b.table[(m.other, where)]
            if ours.unit == other.unit:
                yield where


def _where(side: Side, workload: str, treatment: str) -> dict[Where, None]:
    return {where: None for name, where in side.table if name == treatment and where[0] == workload}


def _ran(side: Side, workload: str) -> list[Treatment]:
    ran = {t.treatment.id for t in side.trials if t.workload == workload}
    return [t for t in side.treatments.values() if t.id in ran]


def _levels(treatment: Treatment) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(treatment.levels.items()))
