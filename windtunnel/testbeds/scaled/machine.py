"""The host machine of a scale model: its resources, and whether a model fits them."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from windtunnel.cluster import Cluster
from windtunnel.hosts.fabric.groups import Trees
from windtunnel.testbeds.scaled.scale import Combine, Scale
from windtunnel.testbeds.scaled.scale_model import CLIENT_BYTES, MASTERS_BYTES
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.tasks import MIB

BUSY_AT_MOST = 0.80  # of the machine's CPUs and disk: see saturation.py
_PROBE_BYTES = 128 * MIB


@dataclass(frozen=True)
class Machine:
    """The host machine; ``disk_bytes_s`` is the write rate of the disk with the state folder.

    ``core_speed`` and ``core_probe_ms`` are those of :class:`Scale`.
    """

    cores: int
    memory_bytes: int
    disk_free_bytes: int
    disk_bytes_s: float
    core_speed: float = 1.0
    core_probe_ms: float | None = None

    def scale(self, rate: float, data: float, combine: Combine | None = None) -> Scale:
        """A scale of a model on this machine."""
        return Scale(
            rate=rate,
            data=data,
            combine=combine or Combine(),
            core_speed=self.core_speed,
            core_probe_ms=self.core_probe_ms,
        )


def this_machine(
    folder: Path, core_speed: float = 1.0, core_probe_ms: float | None = None
) -> Machine:
    """This machine; one write of 128 MiB in ``folder`` measures its disk."""
    there = next(p for p in (folder, *folder.parents) if p.exists())
    return Machine(
        cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().available,
        disk_free_bytes=psutil.disk_usage(str(there)).free,
        disk_bytes_s=_written_per_s(there),
        core_speed=core_speed,
        core_probe_ms=core_probe_ms,
    )


def _written_per_s(folder: Path) -> float:
    block = os.urandom(MIB)
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.monotonic()
        for _ in range(_PROBE_BYTES // MIB):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return _PROBE_BYTES / (time.monotonic() - began)


def unlimited_starters(cluster: Cluster, trees: Trees) -> str:
    """The limits that version 2 of control groups lacks with warm starts; empty if none."""
    if cluster.software.task_start == "stock" or "cpu" in trees.v1:
        return ""
    return (
        "software.task_start: with version 2 of control groups, memory and disks are not limited "
        "for NodeManagers, which send map output, and for application masters, nor is the memory "
        "that JVMs took while they waited"
    )


def memory_needed(cluster: Cluster, scale: Scale) -> int:
    """Maximum memory of the hosts of a model in bytes: their limits, masters and a client."""
    plan = fabric_plan(cluster, scale)
    return sum(h.memory_bytes or 0 for h in plan.hosts) + MASTERS_BYTES + CLIENT_BYTES


def problems(cluster: Cluster, scale: Scale, machine: Machine) -> list[str]:
    """The reasons why a model does not fit a machine or would saturate it."""
    found = (
        too_large(cluster, scale, machine.memory_bytes),
        too_busy(cluster, scale, machine.cores),
    )
    return [problem for problem in found if problem]


def too_large(cluster: Cluster, scale: Scale, memory_bytes: int) -> str | None:
    """The reason why the hosts of a model exceed the memory; None if they do not."""
    needed = memory_needed(cluster, scale)
    if needed <= memory_bytes:
        return None
    return (
        f"the hosts of the model need {needed / 2**30:.1f} GiB of memory; "
        f"{memory_bytes / 2**30:.1f} GiB are available"
    )


def too_busy(cluster: Cluster, scale: Scale, machine_cores: int) -> str | None:
    """The reason why the hosts of a model could saturate the cores; None if they cannot."""
    cores = sum(host.cpu_cores or 0.0 for host in fabric_plan(cluster, scale).hosts)
    if cores <= BUSY_AT_MOST * machine_cores:
        return None
    return (
        f"the CPU quotas of the model add up to {cores:.2f} cores; at most "
        f"{BUSY_AT_MOST * machine_cores:.2f} of the {machine_cores} cores of this machine may be "
        "busy"
    )
