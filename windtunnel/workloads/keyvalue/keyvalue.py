"""A key-value store under YCSB's core workloads: HBase or Kudu. Latencies, disks, CPU.

The table is pre-split, loaded, and flushed from memory to files, so that later reads come from the
files through the block cache, and not from recent writes. ``engines.ycsb.store.Store`` hides the
differences between the stores.

Latency is measured from the intended start of an operation, which the target rate determines, and
not from its actual start, so that a store that stalls is detected (coordinated omission: Tene, How
NOT to measure latency, 2013). Without a target rate there is no intended start, and the latency is
the service time.

Every field has one right value for its key. Each read is compared with it while the workload
runs. At the end a scan reads all rows, and every row must have a version that the store's
acknowledgements allow (``Ledger.java``): no acknowledged write may be lost.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import ByteSize, Cluster, Duration, format_bytes
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.ycsb.results import options
from windtunnel.engines.ycsb.store import Cache, Store
from windtunnel.engines.ycsb.stores import STORES
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Check, Metric, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.keyvalue.result import (
    DATA_TO_CACHE,
    METRICS,
    STORED,
    cache_hits,
    job_run,
    percent_of,
    reads_checked,
    rows_checked,
)
from windtunnel.workloads.verdicts import check, verdict

_SHARES: dict[str, dict[str, float]] = {
    "A": {"readproportion": 0.5, "updateproportion": 0.5},
    "B": {"readproportion": 0.95, "updateproportion": 0.05},
    "C": {"readproportion": 1},
    "D": {"readproportion": 0.95, "insertproportion": 0.05},
    "E": {"scanproportion": 0.95, "insertproportion": 0.05},
    "F": {"readproportion": 0.5, "readmodifywriteproportion": 0.5},
}
_KINDS = ("read", "update", "scan", "insert", "readmodifywrite")
_HEAP_MB, _HEAP_PER_RECORD = 384, 800  # for the ledger, or the keys of the last scan
_SHORTEST = 32  # key, colon and name of a field: shorter values do not identify their field


class KeyValueParameters(Parameters):
    """Parameters of ``keyvalue``."""

    amounts: ClassVar[tuple[str, ...]] = ("records", "operations")

    store: Literal["hbase", "kudu"] = Field(
        "hbase",
        description="hbase: HBase on the cluster's HDFS; kudu: Kudu on the hosts' local disks.",
    )
    workload: Literal["A", "B", "C", "D", "E", "F"] = Field(
        description="YCSB's core workload. A: half reads, half updates; B: 5 % updates; C: only "
        "reads; D: reads of the latest, 5 % inserts; E: short scans, 5 % inserts; F: half reads, "
        "half read-modify-writes.",
    )
    records: PositiveInt = Field(description="Number of loaded records.")
    operations: PositiveInt = Field(description="Operations of the phase `run`.")
    fields: PositiveInt = Field(10, description="Fields of a record.", le=100)
    field_length: ByteSize = Field(
        "100 B", description="Bytes of each field.", validate_default=True
    )
    threads: PositiveInt = Field(8, description="Concurrent operations.", le=1000)
    load_threads: PositiveInt = Field(32, description="Concurrent operations of the load.", le=1000)
    target_rate: PositiveInt | None = Field(
        None, description="Target rate in operations per second. Default: no limit."
    )
    warm_up: Duration = Field(
        "5 s",
        validate_default=True,
        description="Time of reads before the phase `run`, which do not count: a client that has "
        "just started is slower than the store.",
    )
    distribution: Literal["zipfian", "uniform", "latest"] | None = Field(
        None,
        description="Distribution of the keys. Default: latest for workload D, zipfian otherwise.",
    )
    scan_length: PositiveInt = Field(100, description="Longest scan of E, in records.", le=10_000)
    regions: PositiveInt = Field(
        8, description="Number of regions (Kudu: tablets) of the table.", le=500
    )
    warm: bool = Field(
        False,
        description="Keep the loaded data in memory: no flush, no compaction, and the data may "
        "fit in the block cache.",
    )

    def engines(self) -> tuple[str, ...]:
        """The store."""
        return (self.store,)


class KeyValue(Workload[KeyValueParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "keyvalue"
    summary: ClassVar[str] = "read and write records of a key-value store: YCSB on HBase or Kudu"
    about: ClassVar[About] = About(
        stresses="latency of disks and network for small requests, CPU of the servers; the load "
        "also their write-ahead logs",
        metrics=METRICS,
        example="keyvalue-rates",
    )

    def __init__(self, parameters: KeyValueParameters) -> None:
        super().__init__(parameters)
        self.store = STORES[parameters.store]

    def _running(self, deployment: Deployment) -> Store:
        """The store, started if it does not run yet."""
        return deployment.engine(self.store)

    def phases(self) -> tuple[str, ...]:
        """Load the table, then run the workload."""
        return ("load", "run")

    def check(self, cluster: Cluster) -> list[str]:
        """Values must identify their records; the data must not fit in the block caches."""
        wanted = self.parameters
        found = []
        if int(wanted.field_length) < _SHORTEST:
            found.append(
                f"workloads.keyvalue.field_length is {int(wanted.field_length)} bytes, but a value "
                f"of less than {_SHORTEST} bytes does not identify its record and field"
            )
        if cluster.storage.code:
            found.append(
                f"workloads.keyvalue: storage.erasure_code does not apply to the files of "
                f"{self.store.title}: leave it out"
            )
        if not self.store.placed(cluster)[self.store.serving]:
            title, role = self.store.title, self.store.serving
            found.append(
                f"workloads.keyvalue needs datanodes: {title} runs a {role} on the host of each"
            )
            return found
        found += self.store.problems(cluster)
        cache = self.store.cache_bytes(cluster)
        if not wanted.warm and self.stored_bytes() <= cache:
            found.append(
                f"workloads.keyvalue: {format_bytes(self.stored_bytes(), 3)} of records fit in the "
                f"block caches ({format_bytes(int(cache), 3)}): increase records, reduce "
                f"settings.{self.store.cache_setting}, or write 'warm: true'"
            )
        return found

    def data_bytes(self) -> int:
        """Bytes of all loaded fields, one replica."""
        wanted = self.parameters
        return wanted.records * wanted.fields * int(wanted.field_length)

    def stored_bytes(self) -> int:
        """The approximate size of the store's files, one replica."""
        wanted = self.parameters
        return self.store.stored_bytes(wanted.records, wanted.fields, int(wanted.field_length))

    def demands(self, phase: str, workers: int) -> Demand:
        """Unknown in advance: the demands depend on the content of the caches."""
        return Demand()

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Start the store if it does not run, and create the table."""
        store, wanted = self._running(deployment), self.parameters
        shape = [wanted.regions, wanted.fields, store.copies()]
        words = ["create", _table(execution), *map(str, shape)]
        store.run("create", words, deadline_s=execution.deadline_s)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run YCSB; raises TrialInvalidError if it fails."""
        store, wanted = self._running(deployment), self.parameters
        load = phase == "load"
        operations = wanted.records if load else wanted.operations
        warmed: list[Cache | None] = []  # the block caches at the end of the warm-up
        result = store.run(
            phase,
            [
                "ycsb",
                str(_ledger(phase, store, execution)),
                str(0 if load else round(wanted.warm_up * 1e3)),
                *self._ycsb(load, execution),
            ],
            deadline_s=execution.deadline_s,
            heap_mb=self._heap_mb(),
            operations=operations,
            warm=None if load else lambda: warmed.append(store.cache()),
        )
        client = store.hadoop.client.name
        run = job_run(phase, result, operations, None if load else wanted.target_rate, client)
        if load and not wanted.warm:
            run.phase.metrics.update(_settle(store, execution))
        if not load:
            run.phase.metrics.update(cache_hits(warmed[0] if warmed else None, store.cache()))
        return run

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if all reads were right, and no acknowledged write is lost."""
        wanted, store = self.parameters, self._running(deployment)
        load, run = (execution.runs[phase] for phase in self.phases())
        checks = [check("records loaded", str(wanted.records), str(load.counters["acknowledged"]))]
        if not wanted.warm:
            checks.append(_larger(load.phase.metrics[DATA_TO_CACHE.name].value))
        checks += reads_checked(run.counters)
        shape = [wanted.records, wanted.fields, int(wanted.field_length)]
        ledgers = [_ledger(phase, store, execution) for phase in self.phases()]
        result = store.run(
            "verify",
            ["verify", _table(execution), *map(str, [*shape, *ledgers])],
            deadline_s=execution.deadline_s,
            heap_mb=self._heap_mb(),
        )
        return verdict([*checks, *rows_checked(result)])

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the table and the ledgers."""
        store = self._running(deployment)
        store.run("drop", ["drop", _table(execution)], deadline_s=execution.deadline_s)
        for phase in self.phases():
            _ledger(phase, store, execution).unlink(missing_ok=True)

    def _ycsb(self, load: bool, execution: Execution) -> list[str]:
        """The command line of YCSB."""
        wanted = self.parameters
        distribution = wanted.distribution or ("latest" if wanted.workload == "D" else "zipfian")
        shares = {**{f"{kind}proportion": 0 for kind in _KINDS}, **_SHARES[wanted.workload]}
        properties = {
            "table": _table(execution),
            "recordcount": wanted.records,
            "operationcount": wanted.operations,
            "fieldcount": wanted.fields,
            "fieldlength": int(wanted.field_length),
            "requestdistribution": distribution,
            "maxscanlength": wanted.scan_length,
            **shares,
        }
        threads = wanted.load_threads if load else wanted.threads
        target = None if load else wanted.target_rate
        return options(self.store.binding, properties, load=load, threads=threads, target=target)

    def _heap_mb(self) -> int:
        """Heap of a client, for the ledger or the set of keys of the last scan."""
        wanted = self.parameters
        return _HEAP_MB + (wanted.records + wanted.operations) * _HEAP_PER_RECORD // (1 << 20)


def _table(execution: Execution) -> str:
    """The name of the trial's table."""
    return re.sub(r"\W+", "_", execution.folder.removeprefix("/windtunnel/")).strip("_")


def _ledger(phase: str, store: Store, execution: Execution) -> Path:
    """The file in which a phase's client records the store's acknowledgements."""
    return store.hadoop.client.root / f"{_table(execution)}-{phase}.ledger"


def _settle(store: Store, execution: Execution) -> dict[str, Metric]:
    """Flush all data to files, untimed; returns their size as metrics.

    Raises TrialInvalidError if the servers do not finish in time.
    """
    stored, cache = store.settle(_table(execution), execution.deadline_s), store.cache()
    if cache is None or cache.capacity <= 0:
        raise TrialInvalidError(f"a {store.serving} does not report the size of its block cache")
    return numbers({STORED: stored, DATA_TO_CACHE: stored / cache.capacity})


def _larger(times: float) -> Check:
    """A check that the data is larger than the block caches, so that files are read."""
    return Check(
        name="data over block caches",
        passed=times > 1,
        expected="more than 100 %",
        got=percent_of(times),
    )
