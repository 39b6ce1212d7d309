"""Seconds until each engine returns its first result, and until its data is loaded.

Run: ``python -m bench engines``. The cache of jars and class archives is warm; an idle local
cluster has two workers. The event index is generated on the client's disk, without Hadoop.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.registry import ENGINES
from windtunnel.engines.ycsb.store import Store
from windtunnel.errors import WindtunnelError
from windtunnel.study.plan import make_workload
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed
from windtunnel.workloads.base import Execution
from windtunnel.workloads.client import event_index
from windtunnel.workloads.event_index.formats import EventParameters

LIMIT_S = 600
ROWS = 100_000


def main() -> None:
    """Generate 1 GB of event index, then start each engine and run it once."""
    with tempfile.TemporaryDirectory() as folder:
        make_events(Path(folder))
    changes = {"hosts.worker.count": 2, "storage.replication": 2}
    cluster = apply_overrides(load_cluster("local-3"), changes)
    with tempfile.TemporaryDirectory() as logs:
        testbed = LocalTestbed(Path(logs), lambda text: None)
        testbed.prepare(cluster)
        with testbed.deploy(cluster) as deployment:
            query_spark(deployment)
            for kind in ENGINES.values():
                if issubclass(kind, Store):
                    load(deployment, kind)


def make_events(folder: Path) -> None:
    """Generate the records of 1 GB of CSV."""
    given = validate(EventParameters, Located({"size": "1 GB", "replication": 1}))
    numbers = (given.records, given.collections, given.seed)
    words = [sys.executable, "-P", event_index.__file__, "make", str(folder / "events")]
    began = time.perf_counter()
    subprocess.run([*words, *map(str, numbers)], check=True, timeout=LIMIT_S)
    took_s = time.perf_counter() - began
    size = sum(path.stat().st_size for path in (folder / "events").rglob("*.csv"))
    show(f"event index, {size / 1e9:.2f} GB of CSV made", took_s, "limit 60")


def query_spark(deployment: LocalDeployment) -> None:
    """Measure from the start of an application on YARN to its first result."""
    scan = make_workload("scan", {"size": "20 MB", "replication": 2, "warm_up": False})
    given = Execution("/bench/scan", "/bench/shared", time.monotonic() + LIMIT_S)
    scan.prepare(deployment, given)
    metrics = scan.run_phase("scan", deployment, given).phase.metrics
    show("Spark on YARN to its first result", metrics["start_to_first_result"].value, "limit 20")


def load(deployment: LocalDeployment, kind: type[Store]) -> None:
    """Measure the start of a store, then the load of 100,000 records of 1 kB."""
    began = time.perf_counter()
    try:
        deployment.engine(kind)
    except WindtunnelError as error:
        print(f"{kind.title}: not possible on this machine: {error.message}")
        return
    show(f"{kind.title} ready", time.perf_counter() - began, "limit 40")
    parameters = {"store": kind.name, "workload": "C", "records": ROWS, "operations": 1}
    workload = make_workload("keyvalue", parameters | {"warm": True})
    given = Execution(f"/bench/{kind.name}", "/bench/shared", time.monotonic() + LIMIT_S)
    workload.prepare(deployment, given)
    run = workload.run_phase("load", deployment, given)
    show(f"{kind.title}: {ROWS:,} records loaded", run.phase.wall_s, "limit 60")


def show(what: str, seconds: float, limit: str) -> None:
    """Print one line of the table."""
    print(f"{what:42} {seconds:6.2f} s  ({limit})", flush=True)


if __name__ == "__main__":
    main()
