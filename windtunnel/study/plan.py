"""The plan of a study file: its treatments and rounds, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.analysis.names import treatment_names
from windtunnel.cluster import Cluster, Located, apply_overrides, load_cluster, validate
from windtunnel.errors import DescriptionError
from windtunnel.results.record import DesignRecord, Treatment
from windtunnel.study.covering import covering
from windtunnel.study.designs import Combination, Options
from windtunnel.study.designs.optimal import Optimal, Work
from windtunnel.study.factors import (
    Levels,
    baseline_of,
    key_of,
    levels_of,
    paths_of,
    refuse_fixed,
    treatment_of,
)
from windtunnel.study.faults import FAULT, plain_faults
from windtunnel.study.file import StudyFile, blame, deprecations, part
from windtunnel.study.protocol import Protocol
from windtunnel.study.resolve import resolve
from windtunnel.testbeds import find_testbed
from windtunnel.testbeds.base import PredictingTestbed, TestbedOptions
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import Parameters, Workload

if TYPE_CHECKING:
    from windtunnel.model.hardware import Hardware
    from windtunnel.model.jobs import Job

_WORKLOADS = "workloads."


@dataclass(frozen=True)
class Slot:
    """A place in the plan for exactly one valid trial.

    ``round`` is 0 for warm-up passes.
    """

    id: str
    round: int
    position: int
    workload: str
    treatment: Treatment
    extra: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything that is fixed before the first trial.

    ``looked_at`` are the treatments that ``plan`` checks if checking all would take too long.
    Descriptions and written parameters are those of the full size; some testbeds run a fraction of
    the data. ``source_name`` is the study file as written. ``paths`` are those that each factor
    changes; ``notes`` are remarks on the study file.
    """

    name: str
    question: str
    testbed_options: TestbedOptions
    base: Cluster
    workloads: Mapping[str, Mapping[str, Any]]
    factors: Mapping[str, list[str]]
    baseline: Mapping[str, str]
    treatments: list[Treatment]
    protocol: Protocol
    source_text: str
    source_name: str | None = None
    design: DesignRecord = field(default_factory=DesignRecord)
    looked_at: list[Treatment] = field(default_factory=list)
    paths: Mapping[str, list[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def testbed(self) -> str:
        """Name of the testbed."""
        return self.testbed_options.kind

    @property
    def predicts(self) -> bool:
        """Whether the testbed predicts, so that nothing runs."""
        return issubclass(find_testbed(self.testbed), PredictingTestbed)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names of the treatments by id: their levels, as in the report."""
        return treatment_names(self.treatments, self.baseline)

    def name_of(self, slot: Slot) -> str:
        """The workload and, if there are several, the treatment of a slot: ``pi at 1 Gb/s``."""
        if len(self.treatments) == 1:
            return slot.workload
        return f"{slot.workload} at {self.names[slot.treatment.id]}"

    def cluster_of(self, treatment: Treatment) -> Cluster:
        """The concrete cluster description of a treatment."""
        own = cluster_changes(treatment)
        return apply_overrides(self.base, own) if own else self.base

    def distinct(self, treatments: Iterable[Treatment]) -> Iterator[Treatment]:
        """The first treatment of each different cluster."""
        seen = set()
        for treatment in treatments:
            key = key_of(cluster_changes(treatment))
            if key not in seen:
                seen.add(key)
                yield treatment

    def clusters(self, treatments: Iterable[Treatment]) -> Iterator[Cluster]:
        """The different clusters of treatments, each once."""
        yield from map(self.cluster_of, self.distinct(treatments))

    def workload_of(self, name: str, treatment: Treatment) -> Workload[Any]:
        """The workload that runs at a treatment, with the fraction of its data that runs."""
        return self.make_workload(name, self.parameters_of(name, treatment))

    def make_workload(self, name: str, parameters: Mapping[str, Any]) -> Workload[Any]:
        """A workload from its parameters as written, with the fractions that the testbed runs."""
        options = self.testbed_options
        return make_workload(name, parameters, options.data_fraction, options.task_fraction)

    def engines(self) -> list[str]:
        """Names of the engines that its workloads need in addition to Hadoop."""
        wanted = {
            engine
            for name in self.workloads
            for treatment in self.treatments
            for engine in self.workload_of(name, treatment).parameters.engines()
        }
        return sorted(wanted)

    def run_parameters_of(self, name: str, treatment: Treatment) -> dict[str, Any]:
        """Parameters of a workload at a treatment, with the sizes that run."""
        written = self.parameters_of(name, treatment)
        if self.testbed_options.data_fraction == self.testbed_options.task_fraction == 1:
            return written
        parameters = self.workload_of(name, treatment).parameters
        scaled = {*parameters.amounts, *parameters.task_counts}
        ran = parameters.model_dump(mode="json", include=scaled)
        return {key: ran.get(key, value) for key, value in written.items()}

    def parameters_of(self, name: str, treatment: Treatment) -> dict[str, Any]:
        """Parameters of a workload at a treatment, as in the study file."""
        return {**self.workloads[name], **own_parameters(name, treatment)}

    def round_slots(self, number: int) -> list[Slot]:
        """The slots of a round in random order, which depends on the seed; in blocks, if any."""
        return self._ordered(f"r{number:02d}", number, self._cells())

    def warmup_slots(self, number: int) -> list[Slot]:
        """The slots of the ``number``-th warm-up pass."""
        return self._ordered(f"w{number:02d}", 0, self._cells())

    def extra_slots(self, number: int, cells: Collection[tuple[str, str]]) -> list[Slot]:
        """The slots of an extra round, only for some cells (workload, treatment id)."""
        wanted = [cell for cell in self._cells() if (cell[0], cell[1].id) in cells]
        return self._ordered(f"r{number:02d}", number, wanted, extra=True)

    def _cells(self) -> list[tuple[str, Treatment]]:
        return [(name, treatment) for treatment in self.treatments for name in self.workloads]

    def _ordered(
        self, lead: str, number: int, cells: list[tuple[str, Treatment]], extra: bool = False
    ) -> list[Slot]:
        order = list(cells)
        random.Random(f"{self.protocol.seed}/{lead}").shuffle(order)
        block = {
            one.id: self.testbed_options.block_of(cluster_changes(one)) for one in self.treatments
        }
        blocks = list(dict.fromkeys(block[one.id] for _, one in order))  # in random order
        order.sort(key=lambda cell: blocks.index(block[cell[1].id]))
        return [
            Slot(f"{lead}-{name}-{treatment.id}", number, i + 1, name, treatment, extra)
            for i, (name, treatment) in enumerate(order)
        ]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that determines what is measured; a results folder has one."""
        facts = {
            "testbed": self.testbed,
            "cluster": self.base.model_dump(mode="json"),
            "workloads": self.workloads,
            "treatments": [treatment.model_dump() for treatment in self.treatments],
            "baseline": self.baseline,
            "protocol": self.protocol.model_dump(mode="json"),
        }
        if options := self.testbed_options.to_record():
            facts["scale"] = options  # existing results folders have hashes with this key
        text = json.dumps(facts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def cluster_changes(treatment: Treatment) -> dict[str, Any]:
    """The changes of the cluster description by a treatment: path -> value."""
    return treatment.cluster_overrides


def own_parameters(workload: str, treatment: Treatment) -> dict[str, Any]:
    """The parameters of a workload that a treatment sets."""
    lead = f"{_WORKLOADS}{workload}."
    return {
        path.removeprefix(lead): value
        for path, value in treatment.overrides.items()
        if path.startswith(lead)
    }


def make_workload(
    name: str,
    parameters: Mapping[str, Any],
    data_fraction: float = 1.0,
    task_fraction: float = 1.0,
) -> Workload[Any]:
    """A workload from its parameters as written; a DescriptionError names an invalid parameter.

    The workload processes ``data_fraction`` of its data with ``task_fraction`` of its tasks.
    """
    kind = find_workload(name)
    written = validate(kind.parameters_type, Located(dict(parameters)))
    if data_fraction == task_fraction == 1:
        return kind(written)
    return kind(_fraction_of(written, data_fraction, task_fraction))


def _fraction_of(written: Parameters, fraction: float, tasks: float) -> Parameters:
    """The parameters for a fraction of the data, validated like those of the study file."""
    try:
        return validate(type(written), Located(written.at_scale(fraction, tasks)))
    except DescriptionError as error:
        error.message += f" (where the testbed runs {fraction:g} of the data)"
        raise


def make_plan(
    file: StudyFile,
    located: Located,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Resolve a study file.

    If there are many treatments, only the clusters of a covering selection are built here (see
    ``covering.py``); ``check_plan`` can check all.

    Parameters
    ----------
    overrides:
        Changes from the command line, applied to the cluster of every treatment.

    Raises
    ------
    DescriptionError
        If a cluster, path, level, bundle, workload or parameter is unknown, or the design does not
        support the factors.
    """
    for name in file.workloads:
        with blame(located, "workloads", name):
            kind = find_workload(name)
        if not _varied(name, file):
            _check_parameters(kind, name, located)
    with blame(located, "cluster"):
        base = load_cluster(_cluster_file(file.cluster, located))
    with blame(located, "set"):
        base = apply_overrides(base, file.set)
    base = apply_overrides(base, overrides or {})
    levels = levels_of(file, located)
    refuse_fixed(levels, overrides or {}, located)
    baseline = baseline_of(file, levels, located)
    with blame(located, "design" if "design" in located.data else "factors"):
        chosen, design = _apply(file.design, levels, baseline, _predictable(file, base, levels))
    treatments = [treatment_of(combination, levels) for combination in chosen]
    treatments = _with_fault(treatments, file, located)
    plan = Plan(
        name=file.study,
        question=file.question,
        testbed_options=file.testbed,
        base=base,
        workloads=file.workloads,
        factors={name: list(given) for name, given in levels.items()},
        baseline=baseline,
        treatments=treatments,
        protocol=file.protocol,
        source_text=located.text,
        source_name=located.name,
        design=design,
        looked_at=covering(treatments),
        paths={name: paths_of(given) for name, given in levels.items()},
        notes=deprecations(located),
    )
    resolve(plan, levels, located)
    return replace(plan, protocol=plan.protocol.once()) if plan.predicts else plan


def _with_fault(treatments: list[Treatment], file: StudyFile, located: Located) -> list[Treatment]:
    """The treatments with the fault of the study, which a factor must not set in addition."""
    if not file.fault:
        return treatments
    if any(FAULT in treatment.overrides for treatment in treatments):
        raise located.error(
            "a factor also sets the fault, so the study cannot set it for all treatments",
            FAULT,
            remedy="remove one of the two; a level can have a list of faults.",
        )
    own = {FAULT: plain_faults(file.fault)}
    return [t.model_copy(update={"overrides": {**t.overrides, **own}}) for t in treatments]


def _apply(
    design: Options, levels: Levels, baseline: Combination, work: Work
) -> tuple[list[Combination], DesignRecord]:
    """The treatments of a design, and the effects that they cannot separate."""
    labels = {name: list(given) for name, given in levels.items()}
    chosen = design.combinations(labels, baseline)
    if isinstance(design, Optimal):
        chosen = design.selected(chosen, work)
    # the baseline level of each factor comes first: it has the sign -1
    turned = {
        name: [baseline[name], *(label for label in given if label != baseline[name])]
        for name, given in labels.items()
    }
    record = DesignRecord(
        kind=design.kind, options=design.to_record(), confounded=design.confounded(turned, chosen)
    )
    return chosen, record


def _predictable(file: StudyFile, base: Cluster, levels: Levels) -> Work:
    """A function from a combination of levels to what the physics model needs to predict it."""

    def work(combination: Combination) -> list[tuple[Hardware, Job]]:
        from windtunnel.model.hardware import hardware
        from windtunnel.model.jobs import job, kind_of

        treatment = treatment_of(combination, levels)
        cluster = apply_overrides(base, cluster_changes(treatment))
        capacity = hardware(cluster)
        found = []
        for name, written in file.workloads.items():
            parameters = {**written, **own_parameters(name, treatment)}
            for phase in make_workload(name, parameters).phases():
                kind = kind_of(name, phase)
                if kind is not None:
                    found.append((capacity, job(kind, parameters, cluster, capacity)))
        return found

    return work


def _check_parameters(kind: type[Workload[Any]], name: str, located: Located) -> None:
    try:
        validate(kind.parameters_type, part(located, "workloads", name))
    except DescriptionError as error:
        error.key = ".".join(filter(None, ("workloads", name, error.key)))
        raise


def _varied(workload: str, file: StudyFile) -> bool:
    """Whether a factor sets parameters of the workload, which can then be incomplete."""
    levels = [level for given in file.factors.values() for level in _each(given)]
    paths = [*file.factors, *(path for level in levels for path in level)]
    return any(path.startswith(f"{_WORKLOADS}{workload}.") for path in paths)


def _each(given: object) -> list[Mapping[str, Any]]:
    return [level for level in given.values() if level] if isinstance(given, dict) else []


def _cluster_file(cluster: str, located: Located) -> str:
    """The path of a cluster file, which is relative to the study file."""
    if not cluster.endswith((".yaml", ".yml")) or Path(cluster).is_absolute():
        return cluster
    path = Path(located.name or "").parent / cluster
    return str(path) if path.exists() else cluster
