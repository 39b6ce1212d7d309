"""Clusters of published studies by name: ``cisco-2014/test6`` is one treatment of a study."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.cluster import (
    Cluster,
    Located,
    apply_overrides,
    read_cluster,
    validate,
)
from windtunnel.cluster.schema_paths import suggest
from windtunnel.errors import UsageError
from windtunnel.published.names import cluster_parts
from windtunnel.published.sources import build_published
from windtunnel.results.record import Treatment

_WORKLOADS = "workloads."


@dataclass(frozen=True)
class Described:
    """A cluster, and the parameters with which its study ran each workload.

    ``source`` is the file of the cluster, None if a study describes it.
    """

    name: str
    cluster: Cluster
    workloads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: Located | None = None


def slug(text: str) -> str:
    """A name for the command line: ``native, on`` -> ``native-on``."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def cluster_names(study: str) -> dict[str, Treatment]:
    """The treatments of a published study by their names on the command line."""
    return {slug(one.id): one for one in build_published(study).study.treatments}


def find_cluster(source: str) -> Described:
    """A treatment of a published study, a cluster of the catalogue, or a file.

    Raises
    ------
    UsageError
        No such treatment of the study.
    DescriptionError
        See :func:`windtunnel.cluster.load_cluster`.
    """
    study, name = cluster_parts(source)
    if not study:
        located = read_cluster(source)
        return Described(source, validate(Cluster, located), source=located)
    record = build_published(study).study
    treatments = {slug(one.id): one for one in record.treatments}
    found = treatments.get(slug(name))
    if found is None:
        raise UsageError(
            f"the published study '{study}' has no cluster '{name}'",
            remedy=f"{suggest(slug(name), list(treatments), 'cluster')}; "
            f"all: {', '.join(treatments)}.",
        )
    cluster = apply_overrides(Cluster.model_validate(record.cluster), found.cluster_overrides)
    named = cluster.model_copy(update={"name": source})
    return Described(source, named, _workloads(record.workloads, found))


def _workloads(
    given: Mapping[str, Mapping[str, Any]], treatment: Treatment
) -> dict[str, dict[str, Any]]:
    """The parameters of each workload of the study at the treatment."""
    found = {name: dict(parameters) for name, parameters in given.items()}
    for path, value in treatment.overrides.items():
        if path.startswith(_WORKLOADS):
            name, _, parameter = path.removeprefix(_WORKLOADS).partition(".")
            found.setdefault(name, {})[parameter] = value
    return found


def parameters_for(described: Described, workload: str) -> dict[str, Any]:
    """The parameters of the study's first workload of that kind (``terasort-1tb``); else none."""
    names = (name for name in described.workloads if workload in name.split("-")[0])
    return dict(described.workloads.get(next(names, ""), {}))
