"""Time of one prediction, and of a million TeraSort what-ifs; cost by hosts and by data."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model import phases
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import job
from windtunnel.model.many import many
from windtunnel.model.predict import predict
from windtunnel.model.store import shipped_fit

ROWS = 1_000_000
CHUNK = 50_000
ROUNDS = 20


def lines() -> Iterator[str]:
    """The measured times as lines."""
    cluster = load_cluster("cisco-2014")
    small, large = _one(cluster, "1 TB"), _one(_of(cluster, 10_000), "10 PB")
    yield f"one prediction: {small * 1e3:.1f} ms; 10,000 hosts and 10 PB: {large * 1e3:.1f} ms"
    hosts = hardware(cluster)
    work = job("sort", {"size": "1 TB"}, cluster, hosts)
    one = phases.columns("sort", [(hosts, work)])
    random = np.random.default_rng(1)
    values = {name: np.repeat(value, ROWS) for name, value in one.values.items()}
    values["nic_bytes_s"] = random.uniform(1e8, 1e10, ROWS)
    values["hosts"] = values["stores"] = random.integers(3, 1000, ROWS).astype(float)
    begin = time.perf_counter()
    found = many(phases.Columns("sort", values), shipped_fit().log, CHUNK)
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert len(found.elapsed_s) == ROWS
    yield f"{ROWS:,} what-ifs of TeraSort: {took:.1f} s, at most {peak:.2f} GiB"


def _of(cluster: Cluster, count: int) -> Cluster:
    return apply_overrides(cluster, {"hosts.worker.count": count, "hosts.store": None})


def _one(cluster: Cluster, size: str) -> float:
    """Median seconds from the description to a prediction with its interval."""
    fit, times = shipped_fit(), []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        hosts = hardware(cluster)
        predict(fit, [(hosts, job("sort", {"size": size}, cluster, hosts))])
        times.append(time.perf_counter() - begin)
    return median(times)


if __name__ == "__main__":
    for line in lines():
        print(line)
