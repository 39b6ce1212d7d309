"""Rules on energy: its source is stated, and sources are never mixed (rule of trust 10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from windtunnel.analysis.cost.energy import UNNAMED_SOURCE, kinds_of
from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed


def energy_mixed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: the energy of a workload's treatments must be of one kind."""
    kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial, kind, _ in kinds_of(evidence.counted):
        kinds[trial.workload][trial.treatment.id].add(kind)
    for workload, by_treatment in kinds.items():
        if len({frozenset(found) for found in by_treatment.values()}) < 2:
            continue
        names = [
            f"{evidence.place(name)}: {' and '.join(sorted(k))}"
            for name, k in sorted(by_treatment.items())
        ]
        yield ReportWarning(
            id="energy-mixed",
            rule=10,
            severity="serious",
            text=f"the energy of {workload} has different kinds of sources ({listed(names)})",
            advice="metered, RAPL and modelled power cover different components and are not "
            "compared; measure all treatments with the same kind of source.",
        )


def energy_scope(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: energy of one kind must cover the same hosts and components in all trials."""
    scopes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trial, kind, words in kinds_of(evidence.counted):
        scopes[kind][words].add(evidence.place(trial.treatment.id))
    for name, by_scope in scopes.items():
        if len(by_scope) < 2:
            continue
        where = [f"'{words}' in {listed(sorted(names), 3)}" for words, names in by_scope.items()]
        yield ReportWarning(
            id="energy-scope",
            rule=10,
            severity="caution",
            text=f"{name} energy comes from different sources or hosts: {listed(where)}",
            advice="compare energy only between trials in which the same hosts were metered.",
        )


def energy_unnamed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 10: the source of energy is stated."""
    bare = [t.id for t, _, words in kinds_of(evidence.counted) if words == UNNAMED_SOURCE]
    if bare:
        yield ReportWarning(
            id="energy-source-unknown",
            rule=10,
            severity="caution",
            text=f"the source of the energy is not stated ({listed(bare, 3)})",
            advice="do not compare this energy with other energy; in a new import, state the meter "
            "with --source ('windtunnel power').",
        )
