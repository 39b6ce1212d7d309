"""A key-value store under YCSB's core workloads: HBase or Kudu. Latencies, disks, CPU.

The table is pre-split, loaded, and brought from memory into files: what is read afterwards comes
from these through the block cache, not from what was just written. What differs from store to
store is behind ``engines.ycsb.store.Store``. Latencies
count from the moment at which an operation was to begin by the target rate, not from when a
thread got round to it, so that a store that stalls cannot hide it (coordinated omission: Tene,
How NOT to measure latency, 2013). Without a target rate there is no such moment, and a latency
is the time of the operation alone.

Every field has one right value for its key. Each read is compared with it while the workload
runs; at the end a scan reads all rows once more, and every row must hold a version that the
store's acknowledgements allow (``Ledger.java``): nothing acknowledged may be lost.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import ByteSize, Cluster, Duration, format_bytes
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.engine import WithEngines
from windtunnel.engines.ycsb.results import options
from windtunnel.engines.ycsb.store import Cache, Store
from windtunnel.engines.ycsb.stores import STORES
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Check, Metric, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters
from windtunnel.workloads.keyvalue_result import (
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
_HEAP_MB, _HEAP_PER_RECORD = 384, 800  # the ledger, and the set of keys of the last scan
_SHORTEST = 32  # key, colon and name of a field: a value that is cut there tells no less


class KeyValueParameters(Parameters):
    """Parameters of ``keyvalue``."""

    amounts: ClassVar[tuple[str, ...]] = ("records", "operations")

    store: Literal["hbase", "kudu"] = Field(
        "hbase",
        description="hbase: HBase on the cluster's HDFS; kudu: Kudu on the hosts' own disks.",
    )
    workload: Literal["A", "B", "C", "D", "E", "F"] = Field(
        description="YCSB's core workload. A: half reads, half updates; B: 5 % updates; C: reads "
        "alone; D: reads of the latest, 5 % inserts; E: short scans, 5 % inserts; F: half reads, "
        "half read-modify-writes.",
    )
    records: PositiveInt = Field(description="Records that are loaded.")
    operations: PositiveInt = Field(description="Operations of the phase `run`.")
    fields: PositiveInt = Field(10, description="Fields of a record.", le=100)
    field_length: ByteSize = Field(
        "100 B", description="Bytes of each field.", validate_default=True
    )
    threads: PositiveInt = Field(8, description="Operations at the same time.", le=1000)
    load_threads: PositiveInt = Field(32, description="The same while loading.", le=1000)
    target_rate: PositiveInt | None = Field(
        None, description="Operations per second that are asked for; left out: as many as can be."
    )
    warm_up: Duration = Field(
        "5 s",
        validate_default=True,
        description="Reads before the phase `run`, which are not counted: a client that has just "
        "started is slower than the store.",
    )
    distribution: Literal["zipfian", "uniform", "latest"] | None = Field(
        None,
        description="How keys are chosen; left out: the workload's own, D latest, else zipfian.",
    )
    scan_length: PositiveInt = Field(100, description="Longest scan of E, records.", le=10_000)
    regions: PositiveInt = Field(
        8, description="Regions (Kudu: tablets) that the table is split into.", le=500
    )
    warm: bool = Field(
        False,
        description="Leave what was loaded in memory: no flush, no compaction, and the data may "
        "fit in the block cache.",
    )

    def engines(self) -> tuple[str, ...]:
        """The store."""
        return (self.store,)


class KeyValue:
    """See the module's docstring."""

    name: ClassVar[str] = "keyvalue"
    summary: ClassVar[str] = "read and write records of a key-value store: YCSB on HBase or Kudu"
    about: ClassVar[About] = About(
        stresses="latency of disks and network at small sizes, CPU of the servers; the load also "
        "their write-ahead logs",
        metrics={
            "throughput": "operations per second that came to a good end",
            "target_share": "throughput over the rate that was asked for",
            "saturated": "1 if the rate that was asked for was not reached (below 97 %)",
            "read_p50, read_p95, read_p99, read_p99.9, read_max, read_mean": "latency from the "
            "intended start; so for update, insert, scan and read_modify_write",
            "read_service_p99": "the same percentile from the actual start: what a client that "
            "waits for slow answers would have seen",
            "failed_operations": "operations that ended with an error after all retries",
            "longest_stall": "longest time in which no operation ended",
            "stored": "bytes of the table's files, one copy",
            "data_to_cache": "those bytes over all block caches",
            "cache_hits": "share of the blocks asked for, of all tables, that a block cache had, "
            "after the warm-up",
        },
        example="keyvalue-rates",
    )
    parameters_type: ClassVar[type[Parameters]] = KeyValueParameters

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, KeyValueParameters)
        self.parameters = parameters
        self.store = STORES[parameters.store]

    def _running(self, deployment: Deployment) -> Store:
        """The store, started if it does not run yet."""
        if not isinstance(deployment, WithEngines):
            raise TrialInvalidError(f"this testbed has no {self.store.title}")
        return deployment.engine(self.store)

    def phases(self) -> tuple[str, ...]:
        """Loading, then the workload."""
        return ("load", "run")

    def check(self, cluster: Cluster) -> list[str]:
        """Values must tell their records apart; the data must not fit in the block caches."""
        asked = self.parameters
        found = []
        if int(asked.field_length) < _SHORTEST:
            found.append(
                f"workloads.keyvalue.field_length is {int(asked.field_length)} bytes, but a value "
                f"of less than {_SHORTEST} does not tell which field of which record it is"
            )
        if not self.store.placed(cluster)[self.store.serving]:
            title, role = self.store.title, self.store.serving
            found.append(f"workloads.keyvalue needs datanodes: {title} has a {role} beside each")
            return found
        found += self.store.problems(cluster)
        cache = self.store.cache_bytes(cluster)
        if not asked.warm and self.stored_bytes() <= cache:
            found.append(
                f"workloads.keyvalue: {format_bytes(self.stored_bytes(), 3)} of records fit in the "
                f"block caches ({format_bytes(int(cache), 3)}): ask for more records, lower "
                f"settings.{self.store.cache_setting}, or write 'warm: true'"
            )
        return found

    def data_bytes(self) -> int:
        """Bytes of all fields that are loaded, one copy."""
        asked = self.parameters
        return asked.records * asked.fields * int(asked.field_length)

    def stored_bytes(self) -> int:
        """About what the store makes of them, one copy."""
        asked = self.parameters
        return self.store.stored_bytes(asked.records, asked.fields, int(asked.field_length))

    def demands(self, phase: str, workers: int) -> Demand:
        """Nothing that could be told beforehand: it depends on what the caches hold."""
        return Demand()

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Start the store if it does not run, make the table."""
        store, asked = self._running(deployment), self.parameters
        shape = [asked.regions, asked.fields, store.copies()]
        words = ["create", _table(execution), *map(str, shape)]
        store.run("create", words, deadline_s=execution.deadline_s)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run YCSB; raises TrialInvalidError if it fails."""
        store, asked = self._running(deployment), self.parameters
        load = phase == "load"
        operations = asked.records if load else asked.operations
        looks: list[Cache | None] = []  # at the block caches, when the warm-up is over
        told = store.run(
            phase,
            [
                "ycsb",
                str(_ledger(phase, store, execution)),
                str(0 if load else round(asked.warm_up * 1e3)),
                *self._ycsb(load, execution),
            ],
            deadline_s=execution.deadline_s,
            heap_mb=self._heap_mb(),
            operations=operations,
            warm=None if load else lambda: looks.append(store.cache()),
        )
        client = store.hadoop.client.name
        run = job_run(phase, told, operations, None if load else asked.target_rate, client)
        if load and not asked.warm:
            run.phase.metrics.update(_settle(store, execution))
        if not load:
            run.phase.metrics.update(cache_hits(looks[0] if looks else None, store.cache()))
        return run

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if all that was read was right, and all that was acknowledged is there."""
        asked, store = self.parameters, self._running(deployment)
        load, run = (execution.runs[phase] for phase in self.phases())
        checks = [check("records loaded", str(asked.records), str(load.counters["acknowledged"]))]
        if not asked.warm:
            checks.append(_larger(load.phase.metrics["data_to_cache"].value))
        checks += reads_checked(run.counters)
        shape = [asked.records, asked.fields, int(asked.field_length)]
        ledgers = [_ledger(phase, store, execution) for phase in self.phases()]
        told = store.run(
            "verify",
            ["verify", _table(execution), *map(str, [*shape, *ledgers])],
            deadline_s=execution.deadline_s,
            heap_mb=self._heap_mb(),
        )
        return verdict([*checks, *rows_checked(told)])

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the table and the ledgers."""
        store = self._running(deployment)
        store.run("drop", ["drop", _table(execution)], deadline_s=execution.deadline_s)
        for phase in self.phases():
            _ledger(phase, store, execution).unlink(missing_ok=True)

    def _ycsb(self, load: bool, execution: Execution) -> list[str]:
        """YCSB's command line."""
        asked = self.parameters
        distribution = asked.distribution or ("latest" if asked.workload == "D" else "zipfian")
        shares = {**{f"{kind}proportion": 0 for kind in _KINDS}, **_SHARES[asked.workload]}
        properties = {
            "table": _table(execution),
            "recordcount": asked.records,
            "operationcount": asked.operations,
            "fieldcount": asked.fields,
            "fieldlength": int(asked.field_length),
            "requestdistribution": distribution,
            "maxscanlength": asked.scan_length,
            **shares,
        }
        threads, target = (asked.load_threads, None) if load else (asked.threads, asked.target_rate)
        return options(self.store.binding, properties, load=load, threads=threads, target=target)

    def _heap_mb(self) -> int:
        """Heap of a client: the ledger, or the set of keys of the last scan."""
        asked = self.parameters
        return _HEAP_MB + (asked.records + asked.operations) * _HEAP_PER_RECORD // (1 << 20)


def _table(execution: Execution) -> str:
    """Name of the trial's table."""
    return re.sub(r"\W+", "_", execution.folder.removeprefix("/windtunnel/")).strip("_")


def _ledger(phase: str, store: Store, execution: Execution) -> Path:
    """Where a phase's client keeps what the store acknowledged."""
    return store.hadoop.client.root / f"{_table(execution)}-{phase}.ledger"


def _settle(store: Store, execution: Execution) -> dict[str, Metric]:
    """Bring all data into files; untimed. Says how large they are.

    Raises TrialInvalidError if the servers do not come to that.
    """
    stored, cache = store.settle(_table(execution), execution.deadline_s), store.cache()
    if cache is None or cache.capacity <= 0:
        raise TrialInvalidError(f"a {store.serving} does not tell the size of its block cache")
    return {
        "stored": Metric(value=stored, unit="bytes"),
        "data_to_cache": Metric(value=stored / cache.capacity, unit="ratio"),
    }


def _larger(times: float) -> Check:
    """Data that fits in the block cache would not be read from files."""
    return Check(
        name="data over block caches",
        passed=times > 1,
        expected="more than 100 %",
        got=percent_of(times),
    )
