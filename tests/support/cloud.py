"""An unknown cluster for tests: 69 configurations of cloud instances with times of a simple law.

The law is not that of the model: times of the resources add with other weights, and the number of
hosts and a lack of memory cost time of their own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.model.fit import Point
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import job

MEMORY_GIB = {"c": 1.9, "m": 4.0, "r": 7.6}  # per hardware thread
CORES = {"large": 1, "xlarge": 2, "2xlarge": 4}
DISK_BYTES_S = {1: 56e6, 2: 94e6, 4: 125e6}
HOSTS = (4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48)
DATA_BYTES = 100e9
CYCLES = {"sort": 70e9, "count": 170e9}
MOVED = {"sort": 5.0, "count": 1.1}
NOISE = 0.05

BASE = Cluster.model_validate(
    {
        "name": "cloud",
        "hosts": {
            "master": {"count": 1, "roles": ["namenode", "resourcemanager"]},
            "worker": {
                "count": 4,
                "roles": ["datanode", "nodemanager"],
                "cpu": {
                    "sockets": 1,
                    "cores_per_socket": 2,
                    "threads_per_core": 2,
                    "clock": "2.4 GHz",
                },
                "memory": "8 GiB",
                "disks": [{"kind": "ssd", "size": "500 GB"}],
                "nics": [{"rate": "1 Gb/s"}],
            },
        },
    }
)


@dataclass(frozen=True)
class Configuration:
    """Instances of one family and size."""

    family: str
    size: str
    hosts: int

    @property
    def name(self) -> str:
        """The treatment's id."""
        return f"{self.family}.{self.size} x{self.hosts}"

    @property
    def cores(self) -> int:
        """Cores of one instance."""
        return CORES[self.size]

    @property
    def memory_gib(self) -> float:
        """Memory of one instance."""
        return MEMORY_GIB[self.family] * 2 * self.cores


def configurations() -> list[Configuration]:
    """All configurations with 6 to 48 cores."""
    return [
        Configuration(family, size, hosts)
        for family in MEMORY_GIB
        for size, cores in CORES.items()
        for hosts in HOSTS
        if 6 <= hosts * cores <= 48
    ]


def points(seed: int = 1) -> list[Point]:
    """TeraSort and WordCount of 100 GB on every configuration, with noise."""
    noise = random.Random(seed)
    return [
        Point(
            study="cloud",
            treatment=one.name,
            workload=workload,
            phase="total",
            hardware=capacity,
            job=job(kind, {"size": DATA_BYTES}, cluster, capacity),
            elapsed_s=seconds(kind, one) * math.exp(noise.gauss(0.0, NOISE)),
        )
        for one in configurations()
        for cluster in (cluster_of(one),)
        for capacity in (hardware(cluster),)
        for workload, kind in (("terasort", "sort"), ("wordcount", "count"))
    ]


def cluster_of(one: Configuration) -> Cluster:
    """The description of a configuration."""
    changes = {
        "hosts.worker.count": one.hosts,
        "hosts.worker.cpu.cores_per_socket": one.cores,
        "hosts.worker.memory": f"{one.memory_gib} GiB",
    }
    return apply_overrides(BASE, changes)


def seconds(kind: str, one: Configuration) -> float:
    """The law: CPU and disks overlap in part; hosts and missing memory cost time."""
    cpu_s = CYCLES[kind] * DATA_BYTES / 1e9 / (one.hosts * one.cores * 2.4e9)
    disk_s = MOVED[kind] * DATA_BYTES / (one.hosts * DISK_BYTES_S[one.cores])
    network_s = DATA_BYTES / (one.hosts * 1.25e8) if kind == "sort" else 0.0
    starved = max(0.0, DATA_BYTES / 1e9 / (one.hosts * one.memory_gib) - 1.0)
    busy_s = (cpu_s**1.5 + disk_s**1.5) ** (1.0 / 1.5) + 0.2 * network_s
    return 30.0 + busy_s * (1.0 + 0.2 * min(starved, 2.0)) + 0.8 * one.hosts


def eight(seed: int) -> Iterator[str]:
    """Eight treatments at random."""
    yield from random.Random(seed).sample([one.name for one in configurations()], 8)
