"""Predictions of unknown clusters from eight configurations, on synthetic times.

Run: ``python -m bench unknown``. Each of six laws gives the times of TeraSort and WordCount with
MapReduce and Spark on 70 configurations of cloud instances; no law is that of the model. Eight
configurations are fitted and the others predicted, for two sets of configurations and three samples
of each law. The regression is that of Ernest, for each workload.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from windtunnel.analysis.prediction.baselines import ernest
from windtunnel.analysis.prediction.compared import errors
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.model.fit import Point, Prior, fit
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import job
from windtunnel.model.predict import predict
from windtunnel.model.store import shipped_fit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

THREADS = {"large": 2, "xlarge": 4, "2xlarge": 8}
MEMORY_GIB = {"c": 1.9, "m": 4.0, "r": 7.6}  # per thread
CLOCK_GHZ = {"c": 2.9, "m": 2.4, "r": 2.3}
DISK_MB_S = {"large": 56.0, "xlarge": 94.0, "2xlarge": 125.0}
NIC_MB_S = {"large": 56.0, "xlarge": 94.0, "2xlarge": 125.0}
HOSTS = (4, 6, 8, 12, 16, 24, 32, 48)
DATA_GB = (30, 60, 100, 200, 300, 600)
CONFIGURATIONS, FITTED, SETS, SAMPLES = 70, 8, 2, 3


@dataclass(frozen=True)
class Instances:
    """A configuration: hosts of one family and size, and the data of a job."""

    family: str
    size: str
    hosts: int
    data_gb: int

    @property
    def threads(self) -> int:
        """Hardware threads of all hosts."""
        return self.hosts * THREADS[self.size]

    @property
    def memory_gib(self) -> float:
        """Memory of all hosts."""
        return self.threads * MEMORY_GIB[self.family]

    @property
    def nic_s(self) -> float:
        """Seconds in which the NICs send the data once."""
        return self.data_gb * 1e3 / (self.hosts * NIC_MB_S[self.size])

    @property
    def disk_s(self) -> float:
        """Seconds in which the disks read the data once."""
        return self.data_gb * 1e3 / (self.hosts * DISK_MB_S[self.size])

    def work(self, amount: float) -> float:
        """Seconds of the processors for ``amount`` of 1 GB on a thread at 2.4 GHz."""
        return amount * self.data_gb / self.threads * 2.4 / CLOCK_GHZ[self.family]


Law = Callable[[Instances, bool, bool], float]


def added(one: Instances, sort: bool, spark: bool) -> float:
    """Times of the resources add; each host and each GB costs a fixed time."""
    total = 25 + one.work(16 if sort else 34) + 0.9 * one.nic_s * sort
    return (total + 1.2 * one.hosts + 0.15 * one.data_gb) * (0.62 if spark else 1.0)


def memory(one: Instances, sort: bool, spark: bool) -> float:
    """Spark is faster, unless the data do not fit into the memory."""
    total = 18 + one.work(14 if sort else 30) + 0.7 * one.nic_s * sort + 0.6 * one.hosts
    full = 1.3 * one.data_gb / (0.59 * one.memory_gib)
    slow = 1.6 + 0.5 * min(full - 1, 3) if full > 1 else 1.0
    return total * (0.5 * slow if spark else 1.0)


def slowest(one: Instances, sort: bool, spark: bool) -> float:
    """The slowest resource decides; a sort makes more passes if it has less memory."""
    lacking = max(one.data_gb / (0.4 * one.memory_gib), 1.0)
    passes = 1 + math.ceil(math.log(lacking, 4))
    disk_s = one.disk_s * (2 + 2 * passes if sort else 1)
    busy_s = max(one.work(9 if sort else 26), disk_s, one.nic_s * sort)
    return 35 + busy_s * (0.7 if spark else 1.0) + 0.9 * one.hosts


def powers(one: Instances, sort: bool, spark: bool) -> float:
    """Powers of data, hosts and threads; each family has a factor."""
    factor = {"c": 0.82, "m": 1.0, "r": 1.18}[one.family] * (0.55 if spark else 1.0)
    spread = math.pow(one.hosts / 8, 0.72) * math.pow(THREADS[one.size] / 4, 0.8)
    return 20 + factor * (192 if sort else 264) * math.pow(one.data_gb / 100, 1.1) / spread


def serial(one: Instances, sort: bool, spark: bool) -> float:
    """A serial part grows with the data, and another with the hosts."""
    parallel = (14 if sort else 28) * one.data_gb / one.threads * (0.6 if spark else 1.0)
    return 40 + 0.9 * one.data_gb * (1 if sort else 0.5) + parallel + 2.5 * one.hosts


def waves(one: Instances, sort: bool, spark: bool) -> float:
    """Tasks of 128 MB run in waves; memory limits the tasks of a host."""
    threads = THREADS[one.size]
    slots = max(1.0, min(threads, 0.4 * MEMORY_GIB[one.family] * threads))
    shared = 1.25 if slots > threads / 2 else 1.0
    task_s = (22 if sort else 38) * shared * 2.4 / CLOCK_GHZ[one.family]
    total = 12 + math.ceil(one.data_gb * 1e3 / 128 / (one.hosts * slots)) * task_s
    return (total + (one.nic_s + 1.5 * one.disk_s) * sort) * (0.75 if spark else 1.0)


# Standard deviation of the logarithm, and the fraction of times that are 1.5 or 2 times too long.
LAWS: Mapping[Law, tuple[float, float]] = {
    added: (0.06, 0.03),
    memory: (0.05, 0.0),
    slowest: (0.03, 0.02),
    powers: (0.10, 0.04),
    serial: (0.05, 0.0),
    waves: (0.04, 0.03),
}


def points(law: Law, seed: int) -> list[Point]:
    """The times of a law on a random set of configurations, with noise and outliers."""
    noise, outliers = LAWS[law]
    chance = random.Random(f"{law.__name__} {seed}")
    known = [
        Instances(family, size, hosts, data)
        for family in MEMORY_GIB
        for size in THREADS
        for hosts in HOSTS
        for data in DATA_GB
        if data / (hosts * THREADS[size]) < 8
    ]
    found = []
    for one in chance.sample(known, CONFIGURATIONS):
        cluster = _cluster(one)
        capacity = hardware(cluster)
        for kind, sort in (("sort", True), ("count", False)):
            for software in ("", "spark"):
                seconds = law(one, sort, bool(software)) * math.exp(chance.gauss(0.0, noise))
                if chance.random() < outliers:
                    seconds *= chance.choice([1.5, 2.0])
                work = job(kind, {"size": one.data_gb * 1e9}, cluster, capacity)
                found.append(
                    Point(
                        study="cloud",
                        treatment=f"{one.family}.{one.size}, {one.hosts}, {one.data_gb}",
                        workload=f"{kind}/{software}",
                        phase="total",
                        hardware=capacity,
                        job=replace(work, software=software),
                        elapsed_s=seconds,
                    )
                )
    return found


def _cluster(one: Instances) -> Cluster:
    from tests.support.cloud import BASE

    worker = "hosts.worker"
    changes = {
        f"{worker}.count": one.hosts,
        f"{worker}.cpu.cores_per_socket": THREADS[one.size] // 2,
        f"{worker}.cpu.clock": f"{CLOCK_GHZ[one.family]} GHz",
        f"{worker}.memory": f"{MEMORY_GIB[one.family] * THREADS[one.size]} GiB",
        f"{worker}.disks.0.read_rate": f"{DISK_MB_S[one.size]} MB/s",
        f"{worker}.disks.0.write_rate": f"{DISK_MB_S[one.size]} MB/s",
        f"{worker}.nics.0.rate": f"{NIC_MB_S[one.size] * 8} Mb/s",
    }
    return apply_overrides(BASE, changes)


def _tested(law: Law) -> Iterator[tuple[float, float, float]]:
    """Mean absolute error and coverage of the model, and the error of the regression."""
    for seed in range(1, SETS + 1):
        all_points = points(law, seed)
        treatments = list(dict.fromkeys(point.treatment for point in all_points))
        for sample in range(1, SAMPLES + 1):
            given = set(random.Random(sample).sample(treatments, FITTED))
            fitted = [point for point in all_points if point.treatment in given]
            others = [point for point in all_points if point.treatment not in given]
            made = predict(
                fit(fitted, Prior.of_new_cluster(shipped_fit())),
                [(point.hardware, point.job) for point in others],
            )
            result = errors(list(zip(others, made, strict=True)))
            yield result["mean_absolute_error"], result["covered"], _regression(fitted, others)


def _regression(fitted: list[Point], others: list[Point]) -> float:
    wrong = []
    for workload in dict.fromkeys(point.workload for point in fitted):
        own = [point for point in fitted if point.workload == workload]
        wanted = [point for point in others if point.workload == workload]
        for point, seconds in zip(wanted, ernest(own, wanted), strict=True):
            wrong.append(abs((seconds or 0.0) / point.elapsed_s - 1.0))
    return fmean(wrong)


def lines() -> Iterator[str]:
    """A line for each law, with means over its samples."""
    yield f"{'law':9} {'error':>7} {'largest':>8} {'in interval':>12} {'like Ernest':>12}"
    rows = []
    for law in LAWS:
        found = list(_tested(law))
        rows += found
        yield _line(law.__name__, found)
    yield _line("all", rows)


def _line(name: str, found: list[tuple[float, float, float]]) -> str:
    error, covered, other = (fmean(column) for column in zip(*found, strict=True))
    largest = max(row[0] for row in found)
    return f"{name:9} {error:7.1%} {largest:8.1%} {covered:12.0%} {other:12.1%}"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
