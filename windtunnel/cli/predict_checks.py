"""Checks of workloads that are predicted: what a study refuses, ``predict`` and ``size`` refuse."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.errors import DescriptionError, NotRealisableError

if TYPE_CHECKING:
    from windtunnel.cluster import Cluster
    from windtunnel.testbeds.modelled import ModelledTestbed
    from windtunnel.workloads.base import Workload

# values that no check refuses, for required parameters without a given value
_UNKNOWN: Mapping[str, Any] = {
    "size": "1 TB",
    "file_size": "1 GB",
    "files": 1,
    "maps": 1,
    "samples_per_map": 1,
}
_SIZES = {"size", "file_size", "buffer"}


def modelled() -> ModelledTestbed:
    """The testbed that predicts, for its checks."""
    from windtunnel.testbeds.modelled import ModelledTestbed

    return ModelledTestbed(Path(), lambda text: None)


def problems(
    cluster: Cluster,
    workloads: Iterable[Workload[Any]],
    given: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """The reasons why a cluster cannot run workloads, or the model cannot predict them.

    ``given`` has the parameters of each workload by its name.
    """
    from windtunnel.engines.storage_systems import unsupported_engines
    from windtunnel.testbeds.base import PlannedWork

    testbed = modelled()
    found = list(testbed.check(cluster).impossible)
    for one in workloads:
        work = PlannedWork("", one.name, cluster, given[one.name], one.phases())
        found += [*one.check(cluster), *testbed.check_work(work).impossible]
        found += unsupported_engines(cluster, one.name, one.parameters.engines())
    return found


def refuse(cluster: Cluster, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse workloads that a cluster cannot run; parameters that are not given do not count.

    Raises
    ------
    NotRealisableError
        With the reasons.
    DescriptionError
        If the parameters of a workload exclude each other, or the model has no equations for the
        storage.
    """
    from windtunnel.model import refused
    from windtunnel.model.jobs import kind_of
    from windtunnel.study.plan import make_workload

    made = []
    for name, parameters in given.items():
        try:
            made.append(make_workload(name, _completed(name, parameters, cluster)))
        except DescriptionError as error:
            error.key = f"workloads.{name}" + (f".{error.key}" if error.key else "")
            raise
    if not cluster.role_counts().get("nodemanager"):
        return  # a description without YARN: the model takes the largest class as workers
    for one in made:
        for phase in one.phases():
            if kind := kind_of(one.name, phase):
                refused.refuse(kind, given[one.name], cluster)
    found = problems(cluster, made, given)
    if found:
        raise NotRealisableError(
            "; ".join(found), remedy="change the parameters of the workload, or the cluster."
        )


def _completed(name: str, given: Mapping[str, Any], cluster: Cluster) -> dict[str, Any]:
    """Known parameters, with values for the required ones that are not given."""
    from windtunnel.workloads import find_workload

    fields = find_workload(name).parameters_type.model_fields
    made = {key: value for key, value in given.items() if key in fields and value is not None}
    for key in _SIZES & made.keys():
        if not isinstance(made[key], str):  # bytes, already read from a text with a unit
            made[key] = f"{made[key]} B"
    if "rows" in made:
        made.pop("size", None)
    elif "size" in fields and "text" not in made:
        made.setdefault("size", _UNKNOWN["size"])
    # one replica is possible in HDFS; other storage has the replication of the storage
    plain = cluster.storage.kind == "hdfs" or cluster.storage.code is not None
    copies = 1 if plain else cluster.replication
    for key, field in fields.items():
        if field.is_required() and key not in made:
            made[key] = copies if "replication" in key else _UNKNOWN[key]
    return made
