"""Seconds to create and to remove six workers and a master with four disks each.

Run as root: ``python -m bench fabric``. It measures namespaces, links, disks and control groups,
without Hadoop.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan, RackPlan
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.hosts.isolation.policy import isolation
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient

MB = 1e6


def plan() -> FabricPlan:
    """Two racks, seven hosts, 28 disks."""
    disks = tuple(DiskPlan(f"d{number}", 2 << 30, 20 * MB, 20 * MB) for number in range(4))
    hosts = tuple(
        HostPlan(
            f"host-{number}",
            f"rack-{number % 2}",
            cpu_cores=0.5,
            memory_bytes=1 << 30,
            disks=disks,
            nic_bytes_s=12.5 * MB,
        )
        for number in range(7)
    )
    return FabricPlan(hosts, (RackPlan("rack-0", 50 * MB), RackPlan("rack-1", 50 * MB)))


def main() -> None:
    """Build and remove the fabric several times and print the medians."""
    lacks = [lack.what for lack in capabilities() if lack.fatal]
    if lacks:
        print(f"not possible on this machine, which lacks {', '.join(lacks)}")
        return
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    builds, closes, changes = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WINDTUNNEL_STATE"] = folder
        for _ in range(times):
            entry = Registration.create("scaled")
            supervisor = SupervisorClient(
                entry.id, [entry.scratch], Path(folder, "log"), isolation()
            )
            fabric = Fabric(entry, supervisor, Path(folder, "logs"))
            began = time.perf_counter()
            try:
                fabric.build(plan())
                builds.append(time.perf_counter() - began)
                began = time.perf_counter()
                for host in fabric.hosts:
                    fabric.set_nic_rate(host, 1.25 * MB)
                changes.append(time.perf_counter() - began)
            finally:
                began = time.perf_counter()
                fabric.close()
                closes.append(time.perf_counter() - began)
                supervisor.close()
                entry.forget()
    rows = [("built", builds, "(limit 5)"), ("NICs", changes, "rates of all changed (limit 2)")]
    for name, values, note in [*rows, ("removed", closes, "")]:
        low, high = min(values), max(values)
        middle = statistics.median(values)
        print(f"{name:9} median {middle:6.2f} s  ({low:.2f} to {high:.2f}) {note}".rstrip())


if __name__ == "__main__":
    main()
