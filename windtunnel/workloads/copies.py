"""The replicas that workloads request, compared with what a cluster can hold."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.cluster import Cluster


def misfits(workload: str, cluster: Cluster, replications: Mapping[str, int]) -> list[str]:
    """The reasons why a cluster cannot run a workload: no YARN, or replicas it cannot hold.

    Parameters
    ----------
    replications:
        The number of replicas, by the name of the parameter that sets it.
    """
    if not cluster.role_counts().get("nodemanager"):
        return [f"workloads.{workload} needs YARN, and the cluster has no nodemanagers"]
    return impossible_copies(workload, cluster, replications)


def impossible_copies(
    workload: str, cluster: Cluster, replications: Mapping[str, int]
) -> list[str]:
    """The replications that a cluster cannot hold, or that its storage replaces."""
    holders, code = cluster.holders, cluster.storage.code
    if code:
        return [
            f"workloads.{workload}.{name} is {value}, but files with the erasure code "
            f"{code.name} have no replicas: set it to 1"
            for name, value in replications.items()
            if value != 1
        ]
    kind = cluster.storage.kind
    if kind != "hdfs":
        return [
            f"workloads.{workload}.{name} is {value}, but all files on {kind} have the "
            f"replication of the storage: set it to {cluster.replication}"
            for name, value in replications.items()
            if value != cluster.replication
        ]
    return [
        f"workloads.{workload}.{name} is {value}, but the cluster has {holders} datanodes"
        for name, value in replications.items()
        if value > holders
    ]
