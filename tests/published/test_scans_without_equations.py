"""The numbers of docs/physics.md about scans: what the equations would give for CERN 2016."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster
from windtunnel.model.constants import INDEX
from windtunnel.model.hardware import Hardware, hardware
from windtunnel.model.jobs import job, kind_of
from windtunnel.model.phases import columns, times
from windtunnel.model.store import shipped_fit
from windtunnel.published.sources import build_published

GB = 12.0  # of the data set
START_S, FILES = 0.3, 76
NONE = 1e-9  # a constant without influence


def cluster_of(name: str) -> Cluster:
    study = build_published("cern-2016").study
    found = ClusterOf(study).of(next(one for one in study.treatments if one.id == name))
    assert found is not None
    return found


def scanned_s(cluster: Cluster, hosts: Hardware, cycles: float) -> float:
    """The time of TestDFSIO's read of the data set with empty caches and other CPU work."""
    log = shipped_fit().log.copy()
    values = {"start": START_S, "task_start": NONE, "cached": NONE, "cycles_validate": cycles}
    for name, value in values.items():
        log[INDEX[name]] = np.log(value)
    cold = replace(hosts, slots=hosts.cores)
    work = job("read", {"size": f"{GB} GB", "files": FILES, "replication": 3}, cluster, cold)
    return float(times(columns("read", [(cold, work)]), log).elapsed_s[0])


@pytest.mark.parametrize(
    ("name", "disks", "low_s", "high_s"),  # of the document; another fit may move them a little
    [
        ("vm_hdd", None, 69, 69),
        ("vm_ssd", None, 8, 9),
        ("physical", None, 4.1, 4.1),
        ("physical", 48 / 14, 7.1, 7.1),
    ],
)
def test_times_of_the_disks(name: str, disks: float | None, low_s: float, high_s: float) -> None:
    cluster = cluster_of(name)
    hosts = hardware(cluster)
    if disks is not None:
        hosts = replace(hosts, disk_count=disks, spindles=disks)
    found = [scanned_s(cluster, hosts, cycles) for cycles in (1.0, 20.0)]
    assert found == pytest.approx([low_s, high_s], rel=0.1)


@pytest.mark.parametrize(
    ("workload", "phase"),
    [("scan", "scan"), ("report", "report"), ("keyvalue", "load"), ("keyvalue", "run")],
)
def test_these_phases_have_no_equation(workload: str, phase: str) -> None:
    assert kind_of(workload, phase) is None
