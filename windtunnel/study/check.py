"""Checks that testbed and workloads support a plan, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windtunnel.analysis.formatting import listed
from windtunnel.cluster import Cluster, format_bytes, load_text
from windtunnel.cluster.secrets import holds_secret
from windtunnel.cluster.setting_values import refused_settings
from windtunnel.cluster.settings import unknown_settings
from windtunnel.engines.storage_systems import storage_system, unsupported_engines
from windtunnel.errors import DescriptionError, NotRealisableError
from windtunnel.results.record import Treatment
from windtunnel.study.factors import key_of
from windtunnel.study.faults import FAULT, faults_of
from windtunnel.study.plan import Plan, cluster_changes
from windtunnel.study.record import planned
from windtunnel.testbeds import TESTBEDS
from windtunnel.testbeds.base import (
    ClusterTestbed,
    PlannedWork,
    PredictingTestbed,
    Realisation,
    StudyRequest,
    Testbed,
)
from windtunnel.workloads.base import Workload

_NAMED = 3  # treatments of a note
_LISTED = 20  # reasons that are printed; the rest is counted


def check_plan(plan: Plan, testbed: Testbed, *, every: bool = True) -> list[str]:
    """Check the plan against the testbed; returns the caveats.

    Parameters
    ----------
    every:
        Check every treatment. If False and there are many, check a selection that contains every
        pair of levels.

    Raises
    ------
    NotRealisableError
        If the testbed does not support a treatment, with the reasons.
    DescriptionError
        If a treatment is not a valid cluster description.
    """
    try:
        return _check_plan(plan, testbed, plan.treatments if every else plan.looked_at)
    except DescriptionError as error:
        if plan.source_name is None or error.file is not None:
            raise
        raise load_text(plan.source_text, plan.source_name).placed(error) from error


def _check_plan(plan: Plan, testbed: Testbed, treatments: Sequence[Treatment]) -> list[str]:
    checker = _Checker(plan, testbed)
    impossible: dict[str, None] = {}
    if plan.protocol.cache == "drop" and not testbed.can_drop_caches():
        impossible[f"protocol.cache: {testbed.no_cache_drop}"] = None
    caveats = dict.fromkeys(plan.notes)
    for treatment in treatments:
        lead = f"treatment {plan.names[treatment.id]}: " if len(plan.treatments) > 1 else ""
        impossible |= dict.fromkeys(lead + problem for problem in checker.problems(treatment))
    caveats |= dict.fromkeys(checker.caveats(treatments))
    if not impossible:
        caveats |= dict.fromkeys(checker.equal_treatments(treatments))
    if isinstance(testbed, ClusterTestbed):
        found = testbed.admit(study_request(plan))
        impossible |= dict.fromkeys(found.impossible)
        caveats |= dict.fromkeys(found.unrealised)
    if impossible:
        shown = list(impossible)[:_LISTED]
        if len(impossible) > _LISTED:
            shown.append(f"and {len(impossible) - _LISTED} more")
        raise NotRealisableError(
            f"study '{plan.name}' on the testbed '{plan.testbed}':\n    - "
            + "\n    - ".join(shown),
            remedy="change the study or the cluster; 'windtunnel doctor' checks this machine.",
        )
    return list(caveats)


def refusals(plan: Plan, testbed: Testbed) -> dict[str, list[str]]:
    """Treatment -> the reasons why the testbed does not support it; empty if it does.

    Raises
    ------
    DescriptionError
        If a treatment is not a valid cluster description.
    """
    checker = _Checker(plan, testbed)
    return {one.id: list(dict.fromkeys(checker.problems(one))) for one in plan.treatments}


def study_request(plan: Plan) -> StudyRequest:
    """What the study requires of its testbed."""
    changes: dict[str, str] = {}
    for treatment in plan.treatments:
        for path in cluster_changes(treatment):
            changes.setdefault(path, plan.names[treatment.id])
    protocol = plan.protocol
    rounds = (protocol.max_rounds or protocol.rounds) + protocol.extra_rounds
    cells = len(plan.treatments) * len(plan.workloads)
    return StudyRequest(
        study=plan.name,
        treatments=list(planned(plan)),
        changes=changes,
        engines=plan.engines(),
        restart=protocol.restart,
        trials=cells * (rounds + protocol.warmup) * (1 + protocol.retry_invalid),
        trial_limit_s=protocol.trial_time_limit,
        factors=plan.paths,
    )


class _Checker:
    """Checks each different cluster, workload and pair of both once."""

    def __init__(self, plan: Plan, testbed: Testbed) -> None:
        self.plan = plan
        self.testbed = testbed
        self._caveats: dict[str, list[str]] = {}  # with the treatments to which they apply
        self._clusters: dict[str, tuple[Cluster, list[str], list[str]]] = {}
        self._contents: dict[str, str] = {}
        self._workloads: dict[tuple[str, str], Workload[Any]] = {}
        self._pairs: dict[tuple[str, str, str], Realisation] = {}

    def problems(self, treatment: Treatment) -> Iterator[str]:
        """The reasons why the testbed does not support a treatment."""
        cluster_key = key_of(cluster_changes(treatment))
        cluster, impossible, notes = self._cluster(cluster_key, treatment)
        yield from impossible
        for fault in faults_of(treatment):
            notes = [*notes, *fault.undetected(cluster, self.plan.protocol.trial_time_limit)]
        self._remark(notes, treatment)
        for name in self.plan.workloads:
            parameters = self.plan.parameters_of(name, treatment)
            key = (cluster_key, name, key_of(parameters))
            if key not in self._pairs:
                workload = self._workloads.get(key[1:]) or self.plan.make_workload(name, parameters)
                self._workloads[key[1:]] = workload
                self._pairs[key] = self._work(workload, cluster, treatment, parameters)
            found = self._pairs[key]
            yield from found.impossible
            self._remark(found.unrealised, treatment)
            engines = self._workloads[key[1:]].parameters.engines()
            yield from unsupported_engines(cluster, name, engines)
            yield from self._faults(treatment, cluster, name, self._workloads[key[1:]])

    def _remark(self, notes: Sequence[str], treatment: Treatment) -> None:
        """Keep notes with the treatment, each once."""
        for note in notes:
            ids = self._caveats.setdefault(note, [])
            if treatment.id not in ids[-1:]:
                ids.append(treatment.id)

    def caveats(self, treatments: Sequence[Treatment]) -> Iterator[str]:
        """Notes that do not stop the study, with their treatments unless they apply to all."""
        for note, ids in self._caveats.items():
            if len(ids) == len(treatments):
                yield note
                continue
            names = [self.plan.names[one] for one in ids[:_NAMED]]
            more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
            yield f"{'; '.join(names)}{more}: {note}"

    def equal_treatments(self, treatments: Sequence[Treatment]) -> Iterator[str]:
        """A note for each group of checked treatments that differ only in their names."""
        groups: dict[str, list[str]] = {}
        for treatment in treatments:
            groups.setdefault(self._content(treatment), []).append(self.plan.names[treatment.id])
        equal = [names for names in groups.values() if len(names) > 1]
        for names in equal[:_NAMED]:
            shown = " and ".join(names) if len(names) == 2 else listed(names)
            yield (
                f"treatments {shown} have the same cluster and parameters: a difference "
                "between them is noise"
            )
        if len(equal) > _NAMED:
            yield f"{len(equal) - _NAMED} more groups of treatments have the same content, too"

    def _content(self, treatment: Treatment) -> str:
        """A text that is equal for treatments with equal clusters, parameters and faults."""
        key = key_of(cluster_changes(treatment))
        if key not in self._contents:
            cluster, _, _ = self._cluster(key, treatment)
            # neither has an effect on the cluster
            self._contents[key] = cluster.model_dump_json(exclude={"name", "note"})
        written = [
            (name, key_of(self.plan.parameters_of(name, treatment))) for name in self.plan.workloads
        ]
        resolved = [self._workloads[one].parameters.model_dump_json() for one in written]
        return "\n".join(
            [self._contents[key], *resolved, key_of({FAULT: treatment.overrides.get(FAULT, [])})]
        )

    def _faults(
        self, treatment: Treatment, cluster: Cluster, name: str, workload: Workload[Any]
    ) -> Iterator[str]:
        """The reasons why the faults of a treatment cannot be injected into a workload."""
        phases, engines = workload.phases(), workload.parameters.engines()
        storage = storage_system(cluster.storage.kind)
        owner = storage.owner if storage else None
        for fault in faults_of(treatment):
            lead = f"fault {fault.kind}: "
            if fault.part not in self.testbed.breakable:
                able = [f"'{n}'" for n, bed in TESTBEDS.items() if fault.part in bed.breakable]
                yield (
                    f"{lead}the testbed '{self.plan.testbed}' cannot inject faults into "
                    f"{fault.part}; {' and '.join(able) or 'no testbed'} can"
                )
            if fault.phase not in (None, *phases):
                yield (
                    f"{lead}the workload {name} has no phase '{fault.phase}'; its phases are "
                    + ", ".join(phases)
                )
            elif (phase := fault.phase or phases[0]) in workload.phases_without_progress():
                yield (
                    f"{lead}the phase '{phase}' of {name} reports no progress, so a fault in it "
                    "cannot be timed; choose another phase"
                )
            elif fault.at is not None and phase in workload.phases_without_fraction():
                yield (
                    f"{lead}the phase '{phase}' of {name} does not report which fraction is done; "
                    "write 'after' instead of 'at'"
                )
            if fault.engine() not in (None, owner, *engines):
                yield f"{lead}the workload {name} does not run on {fault.engine()}"
            yield from (lead + problem for problem in fault.problems(cluster))
        moving = [fault for fault in faults_of(treatment) if fault.moves_data]
        if len(moving) > 1:
            yield f"fault {moving[0].kind}: only one is possible in a trial, not {len(moving)}"

    def _cluster(self, key: str, treatment: Treatment) -> tuple[Cluster, list[str], list[str]]:
        """The cluster of a treatment, why it cannot run, and its notes."""
        if key not in self._clusters:
            try:
                cluster = self.plan.cluster_of(treatment)
            except DescriptionError as error:
                error.message = f"treatment {self.plan.names[treatment.id]}: {error.message}"
                raise
            unparsable = [*refused_settings(cluster.settings, cluster.software.hadoop)]
            # a testbed calculates with these values
            found = Realisation(unparsable) if unparsable else self.testbed.check(cluster)
            impossible = [
                *found.impossible,
                *(
                    f"settings.{name}: this value is a secret, and results contain all settings; "
                    "use a credential provider (hadoop.security.credential.provider.path)"
                    for name, value in cluster.settings.items()
                    if holds_secret(name, str(value))
                ),
            ]
            notes = [
                *found.unrealised,
                *unknown_settings(cluster.settings, cluster.software.hadoop),
            ]
            self._clusters[key] = cluster, impossible, notes
        return self._clusters[key]

    def _work(
        self,
        workload: Workload[Any],
        cluster: Cluster,
        treatment: Treatment,
        parameters: Mapping[str, Any],
    ) -> Realisation:
        """The reasons why a workload cannot run on a cluster, from workload and testbed."""
        own = [*workload.check(cluster), *self._fits_in_cache(workload)]
        if not isinstance(self.testbed, PredictingTestbed):
            return Realisation(own)
        work = PlannedWork(treatment.id, workload.name, cluster, parameters, workload.phases())
        found = self.testbed.check_work(work)
        return Realisation([*own, *found.impossible], found.unrealised)

    def _fits_in_cache(self, workload: Workload[Any]) -> list[str]:
        """Why data fits in memory although the protocol states ``cache: larger-than-memory``."""
        if self.plan.protocol.cache != "larger-than-memory":
            return []
        data, memory = workload.data_bytes(), self.testbed.cache_bytes()
        if data > memory:
            return []
        return [
            f"protocol.cache is larger-than-memory, but the data of {workload.name} "
            f"({format_bytes(data, 3)}) fits in the memory that can cache it "
            f"({format_bytes(memory, 3)})"
        ]
