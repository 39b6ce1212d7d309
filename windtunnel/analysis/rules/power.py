"""Rules on energy: its source is named, and sources are never mixed (rule of trust 10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from windtunnel.analysis.energy import UNNAMED_SOURCE, kinds_of
from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.words import listed


def energy_mixed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: treatments of one workload have energy of different kinds."""
    kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial, kind, _ in kinds_of(evidence.counted):
        kinds[trial.workload][trial.treatment.id].add(kind)
    for workload, by_treatment in kinds.items():
        if len({frozenset(found) for found in by_treatment.values()}) < 2:
            continue
        names = [f"{name}: {' and '.join(sorted(k))}" for name, k in sorted(by_treatment.items())]
        yield ReportWarning(
            id="energy-mixed",
            rule=10,
            severity="serious",
            text=f"the energy of {workload} has different kinds of source ({listed(names)})",
            advice="metered, RAPL and modelled watts cover different things and are not compared; "
            "measure all treatments in the same way.",
        )


def energy_scope(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: energy of one kind covers different things in different trials."""
    scopes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial, kind, words in kinds_of(evidence.counted):
        scopes[kind][words].add(trial.treatment.id)
    for name, by_scope in scopes.items():
        if len(by_scope) < 2:
            continue
        where = [f"'{words}' in {listed(sorted(ids), 3)}" for words, ids in by_scope.items()]
        yield ReportWarning(
            id="energy-scope",
            rule=10,
            severity="caution",
            text=f"{name} energy comes from different sources or hosts: {listed(where)}",
            advice="compare energy only between trials in which the same hosts were metered.",
        )


def energy_unnamed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: energy names its source."""
    bare = [t.id for t, _, words in kinds_of(evidence.counted) if words == UNNAMED_SOURCE]
    if bare:
        yield ReportWarning(
            id="energy-source-unknown",
            rule=10,
            severity="caution",
            text=f"the source of the energy is not named ({listed(bare, 3)})",
            advice="say what was metered (power_source of the trial): which hosts, what of them, "
            "by which meter.",
        )
