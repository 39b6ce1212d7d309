"""From a study file to treatments and rounds, checked before anything runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.cluster import Cluster, Located, apply_overrides, load_cluster, validate
from windtunnel.cluster.settings import unknown_settings
from windtunnel.errors import DescriptionError, NotRealisableError
from windtunnel.results.record import Treatment
from windtunnel.study.file import Protocol, StudyFile, blame, label_of, load_bundle, part
from windtunnel.testbeds import find_testbed
from windtunnel.testbeds.base import Testbed
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import Workload

Combination = dict[str, str]


@dataclass(frozen=True)
class Slot:
    """A place in the plan where exactly one valid trial belongs.

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
    """Everything that is decided before the first trial."""

    name: str
    question: str
    testbed: str
    base: Cluster
    workloads: Mapping[str, Mapping[str, Any]]
    factors: Mapping[str, list[str]]
    baseline: Mapping[str, str]
    treatments: list[Treatment]
    protocol: Protocol
    source_text: str

    def cluster_of(self, treatment: Treatment) -> Cluster:
        """The concrete cluster description of a treatment."""
        own = {k: v for k, v in treatment.overrides.items() if not k.startswith("workloads.")}
        return apply_overrides(self.base, own) if own else self.base

    def workload_of(self, name: str, treatment: Treatment) -> Workload:
        """The workload with the parameters of a treatment."""
        return make_workload(name, self.parameters_of(name, treatment))

    def parameters_of(self, name: str, treatment: Treatment) -> dict[str, Any]:
        """Parameters of a workload at a treatment, as they were written."""
        lead = f"workloads.{name}."
        own = {
            path.removeprefix(lead): value
            for path, value in treatment.overrides.items()
            if path.startswith(lead)
        }
        return {**self.workloads[name], **own}

    def round_slots(self, number: int) -> list[Slot]:
        """The slots of a round in its random order; the same for the same seed."""
        return self._ordered(f"r{number:02d}", number, self._cells())

    def warmup_slots(self, number: int) -> list[Slot]:
        """The slots of the ``number``-th warm-up pass."""
        return self._ordered(f"w{number:02d}", 0, self._cells())

    def extra_slots(self, number: int, cells: list[tuple[str, str]]) -> list[Slot]:
        """The slots of an extra round, for noisy cells (workload, treatment id) alone."""
        wanted = [cell for cell in self._cells() if (cell[0], cell[1].id) in cells]
        return self._ordered(f"r{number:02d}", number, wanted, extra=True)

    def _cells(self) -> list[tuple[str, Treatment]]:
        return [(name, treatment) for treatment in self.treatments for name in self.workloads]

    def _ordered(
        self, lead: str, number: int, cells: list[tuple[str, Treatment]], extra: bool = False
    ) -> list[Slot]:
        order = list(cells)
        random.Random(f"{self.protocol.seed}/{lead}").shuffle(order)
        return [
            Slot(f"{lead}-{name}-{treatment.id}", number, i + 1, name, treatment, extra)
            for i, (name, treatment) in enumerate(order)
        ]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides what is measured; a results folder belongs to one."""
        facts = {
            "testbed": self.testbed,
            "cluster": self.base.model_dump(mode="json"),
            "workloads": self.workloads,
            "treatments": [treatment.model_dump() for treatment in self.treatments],
            "baseline": self.baseline,
            "protocol": self.protocol.model_dump(mode="json"),
        }
        text = json.dumps(facts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def make_workload(name: str, parameters: Mapping[str, Any]) -> Workload:
    """A workload from its parameters as written; DescriptionError names the wrong one."""
    kind = find_workload(name)
    return kind(validate(kind.parameters_type, Located(dict(parameters))))


def make_plan(
    file: StudyFile,
    located: Located,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Resolve a study file.

    Parameters
    ----------
    overrides:
        Changes from the command line, applied to the cluster of every treatment.

    Raises
    ------
    DescriptionError
        For an unknown cluster, path, level, bundle, workload or parameter.
    """
    for name in file.workloads:
        with blame(located, "workloads", name):
            kind = find_workload(name)
        if not _varied(name, file):
            _check_parameters(kind, name, located)
    with blame(located, "cluster"):
        base = load_cluster(_beside(file.cluster, located))
    with blame(located, "set"):
        base = apply_overrides(base, file.set)
    base = apply_overrides(base, overrides or {})
    with blame(located, "testbed"):
        find_testbed(file.testbed)
    levels = {}
    for name, given in file.factors.items():
        with blame(located, "factors", name):
            levels[name] = _levels(name, given)
    _refuse_overlap(levels, located)
    baseline = _baseline(file, levels, located)
    chosen = DESIGNS[file.design](levels, baseline)
    treatments = [_treatment(combination, levels) for combination in chosen]
    plan = Plan(
        name=file.study,
        question=file.question,
        testbed=file.testbed,
        base=base,
        workloads=file.workloads,
        factors={name: list(given) for name, given in levels.items()},
        baseline=baseline,
        treatments=treatments,
        protocol=file.protocol,
        source_text=located.text,
    )
    _resolve_all(plan, located)
    return plan


def _check_parameters(kind: type[Workload], name: str, located: Located) -> None:
    try:
        validate(kind.parameters_type, part(located, "workloads", name))
    except DescriptionError as error:
        error.key = ".".join(filter(None, ("workloads", name, error.key)))
        raise


def _varied(workload: str, file: StudyFile) -> bool:
    """Whether a factor sets parameters of the workload (which alone need not be complete)."""
    levels = [level for given in file.factors.values() for level in _each(given)]
    paths = [*file.factors, *(path for level in levels for path in level)]
    return any(path.startswith(f"workloads.{workload}.") for path in paths)


def _each(given: object) -> list[Mapping[str, Any]]:
    return [level for level in given.values() if level] if isinstance(given, dict) else []


def _beside(cluster: str, located: Located) -> str:
    """A cluster path is relative to the study file that names it."""
    if not cluster.endswith((".yaml", ".yml")) or Path(cluster).is_absolute():
        return cluster
    beside = Path(located.name or "").parent / cluster
    return str(beside) if beside.exists() else cluster


def _levels(name: str, given: object) -> dict[str, dict[str, Any]]:
    """Label -> overrides of each level of a factor."""
    if isinstance(given, list):
        found = {label_of(value): {name: value} for value in given}
        if len(found) != len(given):
            raise DescriptionError(f"factor '{name}' has the same level twice")
    else:
        assert isinstance(given, dict)
        found = {label_of(label): _expand(changes or {}) for label, changes in given.items()}
    if len(found) < 2:
        raise DescriptionError(
            f"factor '{name}' has {len(found)} level(s)",
            remedy="give at least two, or move the one into 'set'.",
        )
    return found


def _refuse_overlap(
    levels: Mapping[str, Mapping[str, Mapping[str, Any]]], located: Located
) -> None:
    """Two factors that set the same path would overwrite each other, and neither be true."""
    owner: dict[str, str] = {}
    for name, given in levels.items():
        for path in dict.fromkeys(path for changes in given.values() for path in changes):
            if path in owner:
                raise located.error(
                    f"the factors '{owner[path]}' and '{name}' both set '{path}'",
                    "factors",
                    name,
                    remedy="let each path be set by one factor only.",
                )
            owner[path] = name


def _expand(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace ``bundle: NAME`` by the bundle's settings."""
    expanded: dict[str, Any] = {}
    for path, value in changes.items():
        if path == "bundle":
            lines = load_bundle(str(value)).settings
            expanded |= {f"settings.{name}": line.value for name, line in lines.items()}
        else:
            expanded[path] = value
    return expanded


def _baseline(
    file: StudyFile, levels: Mapping[str, Mapping[str, Any]], located: Located
) -> Combination:
    """The named baseline; a factor that is not named takes its first level."""
    for name, label in file.baseline.items():
        with blame(located, "baseline", name):
            if name not in levels:
                raise DescriptionError(
                    f"the baseline names '{name}', which is no factor",
                    remedy=f"the factors are: {', '.join(levels) or 'none'}.",
                )
            if label not in levels[name]:
                raise DescriptionError(
                    f"factor '{name}' has no level '{label}'",
                    remedy=f"its levels are: {', '.join(levels[name])}.",
                )
    return {name: file.baseline.get(name, next(iter(given))) for name, given in levels.items()}


def _full_factorial(
    levels: Mapping[str, Mapping[str, Any]], baseline: Combination
) -> list[Combination]:
    del baseline
    return [
        dict(zip(levels, labels, strict=True)) for labels in itertools.product(*levels.values())
    ]


def _one_factor_at_a_time(
    levels: Mapping[str, Mapping[str, Any]], baseline: Combination
) -> list[Combination]:
    combinations = [dict(baseline)]
    for name, given in levels.items():
        combinations += [baseline | {name: label} for label in given if label != baseline[name]]
    return combinations


DESIGNS: dict[str, Callable[[Mapping[str, Mapping[str, Any]], Combination], list[Combination]]] = {
    "full-factorial": _full_factorial,
    "one-factor-at-a-time": _one_factor_at_a_time,
}


def _treatment(
    combination: Combination, levels: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Treatment:
    changes: dict[str, Any] = {}
    for name, label in combination.items():
        changes |= levels[name][label]
    labels = list(combination.values())
    label = "_".join(labels) or "only"
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in label)[:60]
    if safe != label or (len(labels) > 1 and label.count("_") >= len(labels)):
        # also where a label holds the joint: x + y_z and x_y + z are two treatments
        safe += "-" + hashlib.sha256("\0".join(labels).encode()).hexdigest()[:6]
    return Treatment(id=safe, levels=combination, overrides=changes)


def _resolve_all(plan: Plan, located: Located) -> None:
    """Build every cluster and workload once, so that a wrong path is found now."""
    for treatment in plan.treatments:
        with blame(located, "factors"):
            for path in treatment.overrides:
                name = path.split(".")[1] if path.startswith("workloads.") else None
                if name is not None and name not in plan.workloads:
                    raise DescriptionError(
                        f"the path '{path}' names no workload of this study",
                        remedy=f"the workloads are: {', '.join(plan.workloads)}.",
                    )
            plan.cluster_of(treatment)
        for name in plan.workloads:
            with blame(located, "workloads", name):
                plan.workload_of(name, treatment)


def check_plan(plan: Plan, testbed: Testbed) -> list[str]:
    """Hold the plan against the testbed; returns the caveats.

    Raises
    ------
    NotRealisableError
        If a treatment cannot be realised, with every reason.
    """
    impossible: dict[str, None] = {}
    if plan.protocol.cache == "drop" and not testbed.can_drop_caches():
        impossible["protocol.cache: drop needs root on this machine"] = None
    caveats: dict[str, None] = {}
    for treatment in plan.treatments:
        cluster = plan.cluster_of(treatment)
        found = testbed.check(cluster)
        problems = list(found.impossible)
        for name in plan.workloads:
            problems += plan.workload_of(name, treatment).check(cluster)
        lead = f"treatment {treatment.id}: " if len(plan.treatments) > 1 else ""
        impossible |= dict.fromkeys(lead + problem for problem in problems)
        caveats |= dict.fromkeys([*found.unrealised, *unknown_settings(cluster.settings)])
    if impossible:
        raise NotRealisableError(
            f"study '{plan.name}' on the testbed '{plan.testbed}':\n    - "
            + "\n    - ".join(impossible),
            remedy="change what the lines above name; 'windtunnel doctor' shows the machine.",
        )
    return list(caveats)
