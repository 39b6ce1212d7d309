"""Seconds to start a scale model of six workers with four disks each, and to reconfigure it.

Run as root: ``python -m bench live``. It runs Hadoop without a workload.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.testbeds.scaled.scale import ScaledOptions
from windtunnel.testbeds.scaled.testbed import ScaledTestbed

SIX: dict[str, Any] = {"hosts.worker.count": 6, "hosts.worker.disks.0.count": 4}
CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("NICs of all hosts", {"hosts.worker.nics.0.rate": "400 Mb/s"}, "limit 2"),
    ("rates of 24 disks", {"hosts.worker.disks.0.read_rate": "10 MB/s"}, "limit 2"),
    ("cores of all workers", {"hosts.worker.cpu.cores_per_socket": 2}, "limit 2"),
    ("a setting of the NameNode", {"settings.dfs.namenode.handler.count": 20}, "limit 10"),
    ("disks 4 -> 2", {"hosts.worker.disks.0.count": 2}, ""),
    ("workers 6 -> 5", {"hosts.worker.count": 5}, ""),
]


def main() -> None:
    """Deploy, make and undo one change after the other, and print the time of each."""
    lacks = [lack.what for lack in capabilities() if lack.fatal]
    if lacks:
        print(f"not possible on this machine, which lacks {', '.join(lacks)}")
        return
    base = apply_overrides(load_cluster("model-3"), SIX)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WINDTUNNEL_STATE"] = folder
        testbed = ScaledTestbed(
            Path(folder, "logs"), lambda line: None, ScaledOptions(rate=0.2, data=1)
        )
        testbed.prepare(base)
        began = time.perf_counter()
        with testbed.deploy(base) as deployment:
            show("ready", time.perf_counter() - began, "limit 45")
            show("  of which hosts", deployment.took_s["hosts"], "limit 5")
            for what, change, limit in CHANGES:
                for name, cluster in ((what, apply_overrides(base, change)), ("  and back", base)):
                    began = time.perf_counter()
                    deployment.reconfigure(cluster)
                    show(name, time.perf_counter() - began, limit)


def show(what: str, seconds: float, limit: str) -> None:
    """Print one line of the table."""
    print(f"{what:26} {seconds:6.2f} s  {f'({limit})' if limit else ''}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
