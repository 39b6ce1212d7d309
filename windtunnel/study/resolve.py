"""Builds the clusters and workloads of a plan once, to detect wrong paths and values.

An error is reported at the factor whose level caused it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from windtunnel.cluster import Cluster, Located
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Treatment
from windtunnel.study.factors import Levels, key_of, refuse_no_parameter
from windtunnel.study.file import blame

_WORKLOADS = "workloads."


class Resolvable(Protocol):
    """The part of a plan (``plan.Plan``) that is needed here."""

    @property
    def workloads(self) -> Mapping[str, Mapping[str, Any]]:
        """Name -> parameters."""

    @property
    def looked_at(self) -> Sequence[Treatment]:
        """The treatments that are checked."""

    def distinct(self, treatments: Iterable[Treatment]) -> Iterator[Treatment]:
        """The first treatment of each different cluster."""

    def cluster_of(self, treatment: Treatment) -> Cluster:
        """The cluster of a treatment."""

    def parameters_of(self, name: str, treatment: Treatment) -> dict[str, Any]:
        """The parameters of a workload at a treatment."""

    def make_workload(self, name: str, parameters: Mapping[str, Any]) -> object:
        """A workload from its parameters."""


def resolve(plan: Resolvable, levels: Levels, located: Located) -> None:
    """Build the clusters and workloads of the treatments that ``plan`` checks.

    Raises
    ------
    DescriptionError
        If a path or a value is wrong, at the factor that sets it.
    """
    _check_names(plan, levels, located)
    for treatment in plan.distinct(plan.looked_at):
        with _blame_factor(treatment, levels, located):
            plan.cluster_of(treatment)
    for name in plan.workloads:
        seen: set[str] = set()
        for treatment in plan.looked_at:
            parameters = plan.parameters_of(name, treatment)
            key = key_of(parameters)
            if key in seen:
                continue
            seen.add(key)
            with _blame_factor(treatment, levels, located, workload=name):
                plan.make_workload(name, parameters)


def _check_names(plan: Resolvable, levels: Levels, located: Located) -> None:
    """Raise an error for a path of a workload that names no parameter of one of the study."""
    for factor, given in levels.items():
        with blame(located, "factors", factor):
            for path in (path for changes in given.values() for path in changes):
                if path.startswith(_WORKLOADS):
                    refuse_no_parameter(path, plan.workloads)


@contextmanager
def _blame_factor(
    treatment: Treatment, levels: Levels, located: Located, workload: str | None = None
) -> Iterator[None]:
    """Report a DescriptionError at the factor that sets the wrong value, if one does."""
    try:
        yield
    except DescriptionError as error:
        if error.file is not None:
            raise
        lead = "" if workload is None else f"{_WORKLOADS}{workload}."
        path = f"{lead}{error.key}" if error.key else lead.rstrip(".")
        written = located.data["workloads"][workload] or {} if workload is not None else {}
        factor = _factor_of(path, lead, treatment, levels, only=error.key not in written)
        loc: tuple[str, ...] = ("factors",) if factor is None else ("factors", factor)
        if workload is not None and factor is None:
            loc = ("workloads", workload, *filter(None, [error.key]))
            error.key = None
        elif error.key:
            error.key = path
        with blame(located, *loc):
            raise


def _factor_of(
    path: str, lead: str, treatment: Treatment, levels: Levels, *, only: bool
) -> str | None:
    """The factor that sets ``path``, a part of it or what contains it.

    With ``only``, otherwise the factor, if only one sets paths that start with ``lead``.
    """
    sets = {name: levels[name][label] for name, label in treatment.levels.items()}
    for name, changes in sets.items():
        if path in changes:
            return name
    for name, changes in sets.items():
        if any(f"{path}.".startswith(f"{one}.") or one.startswith(f"{path}.") for one in changes):
            return name
    able = [name for name, found in sets.items() if any(one.startswith(lead) for one in found)]
    return able[0] if only and len(able) == 1 else None
