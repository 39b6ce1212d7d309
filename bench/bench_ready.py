"""Seconds until three workers are ready, split by cause, and the resident memory of all daemons.

Run: ``python bench/bench_ready.py [TIMES]`` with a warm cache. "workers": HDFS has left safe mode
and all DataNodes and NodeManagers are registered. "ready": the history server also answers. The
table splits the way of each role by the messages in the logs of its daemons:

- "to main": from the start of its process to its first message (JVM, classes, arguments);
- "to web": from there until its web application answers;
- "to service": from there until it serves or is registered with its master;
- "CPU": CPU seconds until the cluster is ready, and those of them of the JIT compiler.

Formatted files and the key pair of the ResourceManager are kept after the first start
(docs/decisions/0036, 0039); the other blocks start the same cluster in turns with the first, with
a new key, and with a format and a new key.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

import psutil

from windtunnel.cluster import load_cluster
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

# The messages of Hadoop 3.5 that end the steps of a role: its web application, its service.
STEPS = {
    "namenode": ("server.Server: Started @", "NameNode RPC up"),
    "resourcemanager": ("Web app cluster started", "Transitioned to active state"),
    "historyserver": ("Web app jobhistory started", "Instantiated HistoryClientService"),
    "datanode": ("Listening HTTP traffic", "successfully registered with NN"),
    "nodemanager": ("Web app node started", "Registered with ResourceManager"),
}
# What starts a cluster with kept files, and with a kept key: without a result, both are created.
RESTORE = "windtunnel.engines.hadoop.hdfs.restore"
USE_KEY = "windtunnel.engines.hadoop.daemons.use_key"
COLUMNS = ("to main", "to web", "to service", "CPU", "JIT")


def _at(text: str, pattern: str) -> float | None:
    """Time of the first line with a pattern, epoch s."""
    for line in text.splitlines():
        if re.search(pattern, line) and (found := re.match(r"[\d-]{10} [\d:,]{12}", line)):
            return datetime.fromisoformat(found[0].replace(",", ".")).timestamp()
    return None


def _compiler_s(process: psutil.Process) -> float:
    threads = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
    total = 0.0
    for number, seconds in threads.items():
        with suppress(OSError):
            name = Path(f"/proc/{process.pid}/task/{number}/comm").read_text()
            total += seconds if "Compiler" in name else 0.0
    return total


def split(deployment: LocalDeployment) -> Mapping[str, list[Mapping[str, float]]]:
    """The steps of each daemon, by role."""
    found: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for name, pid in deployment.processes().items():
        role, host = name.split("@")
        process = psutil.Process(pid)
        text = (deployment.logs / host / f"{role}.log").read_text(errors="replace")
        times = [process.create_time(), _at(text, "."), *(_at(text, p) for p in STEPS[role])]
        row = {
            label: max(0.0, after - before)
            for label, before, after in zip(COLUMNS, times, times[1:], strict=False)
            if before is not None and after is not None
        }
        row["CPU"] = sum(process.cpu_times()[:2])
        row["JIT"] = _compiler_s(process)
        found[role].append(row)
    return found


def measure(
    times: int, variants: Mapping[str, Callable[[], None]]
) -> tuple[dict[str, dict[str, list[float]]], dict[str, list[Mapping[str, float]]]]:
    """Start the cluster in turns; the totals of each variant, the steps of the first one."""
    cluster = load_cluster("local-3")
    reported: list[tuple[float, str]] = []
    totals: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in variants}
    steps: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as logs:
        testbed = LocalTestbed(
            Path(logs), lambda text: reported.append((time.perf_counter(), text))
        )
        testbed.prepare(cluster)
        for _ in range(times):
            for name, change in variants.items():
                change()
                reported.clear()
                began, own = time.perf_counter(), totals[name]
                with testbed.deploy(cluster) as deployment:
                    own["ready"].append(time.perf_counter() - began)
                    # the testbed reports the missing daemons whenever they change
                    only = [at for at, text in reported if text == "the history server"]
                    own["workers"].append(only[0] - began if only else own["ready"][-1])
                    running = [psutil.Process(pid) for pid in deployment.processes().values()]
                    own["resident"].append(sum(d.memory_info().rss for d in running) / 2**30)
                    own["CPU"].append(sum(sum(d.cpu_times()[:2]) for d in running))
                    if name == next(iter(variants)):
                        for role, rows in split(deployment).items():
                            steps[role] += rows
                    began = time.perf_counter()
                own["down"].append(time.perf_counter() - began)
    return totals, steps


def main() -> None:
    """Deploy the cluster several times and print the medians."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    patched = ExitStack()

    def without(*names: str) -> Callable[[], None]:
        def change() -> None:
            patched.close()
            for name in names:
                patched.enter_context(patch(name, lambda *_: ()))

        return change

    variants = {
        "kept files and key": without(),
        "a new key": without(USE_KEY),
        "a format and a new key": without(RESTORE, USE_KEY),
    }
    totals, steps = measure(times, variants)
    for name, rows in totals.items():
        print(f"-- {name}, {times} starts")
        for label in ("workers", "ready", "resident", "CPU", "down"):
            values, unit = rows[label], "GiB" if label == "resident" else "s"
            low, high = min(values), max(values)
            middle = statistics.median(values)
            print(f"{label:9} median {middle:6.2f} {unit}  ({low:.2f} to {high:.2f})")
    print("-- kept files and key, s".ljust(28) + "".join(f"{c:>12}" for c in COLUMNS))
    for role, steps_of_role in steps.items():
        cells = [[row[c] for row in steps_of_role if c in row] for c in COLUMNS]
        middles = [f"{statistics.median(cell):12.2f}" if cell else " " * 11 + "-" for cell in cells]
        print(f"{role:28}" + "".join(middles))


if __name__ == "__main__":
    main()
