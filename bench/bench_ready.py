"""Seconds until three workers are ready, and the resident memory of all daemons.

Run: ``python bench/bench_ready.py [TIMES]`` with a warm cache. "workers": HDFS has left safe mode
and all DataNodes and NodeManagers are registered. "ready": the history server also answers.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from windtunnel.cluster import load_cluster
from windtunnel.testbeds.local import LocalTestbed


def main() -> None:
    """Deploy the cluster several times and print the medians."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cluster = load_cluster("local-3")
    workers, ready, resident, cpu, closing = [], [], [], [], []
    reported: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as logs:
        testbed = LocalTestbed(
            Path(logs), lambda text: reported.append((time.perf_counter(), text))
        )
        testbed.prepare(cluster)
        for _ in range(times):
            reported.clear()
            began = time.perf_counter()
            with testbed.deploy(cluster) as deployment:
                ready.append(time.perf_counter() - began)
                # the testbed reports the missing daemons whenever they change
                only = [at for at, text in reported if text == "the history server"]
                workers.append(only[0] - began if only else ready[-1])
                daemons = [psutil.Process(pid) for pid in deployment.processes().values()]
                resident.append(sum(d.memory_info().rss for d in daemons) / 2**30)
                cpu.append(sum(sum(d.cpu_times()[:2]) for d in daemons))
                began = time.perf_counter()
            closing.append(time.perf_counter() - began)
    rows = [
        ("workers", workers, "s"),
        ("ready", ready, "s"),
        ("resident", resident, "GiB"),
        ("CPU", cpu, "s"),
    ]
    for name, values, unit in [*rows, ("down", closing, "s")]:
        low, high = min(values), max(values)
        print(f"{name:9} median {statistics.median(values):6.2f} {unit}  ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
