"""A phase, its samples and the checks, from the output of YCSB and of the last scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.ycsb.results import PERCENTILES, Operation, Results, Second, results_in
from windtunnel.engines.ycsb.store import Cache, ClientOutput
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import MetricInfo, numbers, register
from windtunnel.results.record import Check, Metric, Phase
from windtunnel.results.sample import Sample
from windtunnel.workloads.verdicts import check

SATURATED_BELOW = 0.97
"""Fraction of the target rate below which a run is saturated. It is less than 1, because a run that
reaches its rate ends slightly late, after its last operations."""
_CALLS = ("READ", "UPDATE", "INSERT", "SCAN")  # of the store; other operations consist of these
_SHOWN = (*_CALLS, "READ-MODIFY-WRITE")
_COUNTED = (*_CALLS, "VERIFY")
_REPORTED = (
    "acknowledged",
    "unacknowledged",
    "reads_excused",
    "rows_scanned",
    "rows_scanned_wrong",
)
_OUTPUT_LINES = 60


def _key(operation: str) -> str:
    """YCSB's name of an operation, such as ``READ-MODIFY-WRITE``, as part of a metric's name."""
    return operation.lower().replace("-", "_")


_YCSB = "YCSB"
_OPERATIONS = ("operation", tuple(map(_key, _SHOWN)))
THROUGHPUT = MetricInfo(
    "throughput", "ops/s", "successful operations per second", _YCSB, better="more"
)
TARGET_SHARE = MetricInfo(
    "target_share", "ratio", "throughput divided by the target rate", _YCSB, better="more"
)
SATURATED = MetricInfo(
    "saturated",
    "ratio",
    f"1 if the target rate was not reached (below {SATURATED_BELOW:.0%})".replace("%", " %"),
    _YCSB,
    better="less",
)
LATENCY = MetricInfo(
    "{operation}_{statistic}",
    "ms",
    "latency of {operation} from the intended start: {statistic}",
    _YCSB,
    better="less",
    choices=(_OPERATIONS, ("statistic", (*(f"p{p}" for p in PERCENTILES), "max", "mean"))),
)
SERVICE_P99 = MetricInfo(
    "{operation}_service_p99",
    "ms",
    "service time of {operation}, from its actual start: p99, as measured by a client that waits "
    "for slow answers",
    _YCSB,
    better="less",
    choices=(_OPERATIONS,),
)
OPERATIONS = MetricInfo("operations", "count", "planned operations", _YCSB)
FAILED_OPERATIONS = MetricInfo(
    "failed_operations",
    "count",
    "operations that ended with an error after all retries",
    _YCSB,
    better="less",
)
LONGEST_STALL = MetricInfo(
    "longest_stall",
    "s",
    "longest time in which no operation ended",
    _YCSB,
    better="less",
    additive=False,
)
STORED = MetricInfo(
    "stored", "bytes", "bytes of the table's files, one replica", "the store", additive=False
)
DATA_TO_CACHE = MetricInfo(
    "data_to_cache",
    "ratio",
    "size of the table's files divided by the size of all block caches",
    "the store",
)
CACHE_HITS = MetricInfo(
    "cache_hits",
    "ratio",
    "fraction of the requested blocks, of all tables, that a block cache held, after the warm-up",
    "the store's servers",
    better="more",
)
METRICS = (
    THROUGHPUT,
    TARGET_SHARE,
    SATURATED,
    LATENCY,
    SERVICE_P99,
    OPERATIONS,
    FAILED_OPERATIONS,
    LONGEST_STALL,
    STORED,
    DATA_TO_CACHE,
    CACHE_HITS,
)
RATE_NOW = MetricInfo(
    "kv_throughput", "ops/s", "operations that ended, per second", _YCSB, level="sample"
)
P99_NOW = MetricInfo(
    "kv_p99:{operation}",
    "ms",
    "99th percentile of the latency of {operation} from the intended start, over about a second",
    _YCSB,
    level="sample",
    choices=(_OPERATIONS,),
)
register(RATE_NOW, P99_NOW)


def job_run(
    phase: str, result: ClientOutput, operations: int, target: float | None, host: str
) -> JobRun:
    """The phase of a YCSB run; raises TrialInvalidError if the run did not finish."""
    found = results_in(result.text)
    if not found.elapsed_s:
        raise TrialInvalidError(f"{phase}: YCSB printed no results; log: {result.log}")
    started_at = result.number("first_ms") / 1e3
    counters = {
        f"{name}:{answer}": count
        for name in _COUNTED
        for answer, count in found.operations.get(name, Operation()).answers.items()
    }
    for name in _REPORTED:
        counters[name] = result.number(name)
    failed = sum(
        n for key, n in counters.items() if key.startswith(_CALLS) and not key.endswith(":OK")
    )
    rate = (operations - failed) / found.elapsed_s
    figures: dict[MetricInfo, float | None] = {
        THROUGHPUT: rate,
        OPERATIONS: operations,
        FAILED_OPERATIONS: failed,
    }
    notes = [f"{phase}: {failed:,} of {operations:,} operations failed"] if failed else []
    if phase == "run":
        figures[LONGEST_STALL] = longest_stall(found.status)
    if target is not None:
        share = rate / target
        figures |= {TARGET_SHARE: share, SATURATED: float(share < SATURATED_BELOW)}
        if share < SATURATED_BELOW:
            notes.append(
                f"{phase}: saturated: {rate:,.0f} operations per second, {percent_of(share)} of "
                f"the target rate {target:,.0f}"
            )
    record = Phase(
        name=phase,
        started_at=started_at,
        finished_at=started_at + found.elapsed_s,
        elapsed_s=found.elapsed_s,
        wall_s=result.wall_s,
        metrics={**numbers(figures), **_latencies(found)},
    )
    output = "\n".join(result.text.splitlines()[-_OUTPUT_LINES:])
    return JobRun(record, counters, notes=notes, output=output, samples=_samples(found, host))


def _latencies(found: Results) -> dict[str, Metric]:
    """The latencies of each operation by name; only the 99th percentile of the service time."""
    metrics = {}
    for name in _SHOWN:
        one = found.operations.get(name, Operation())
        for statistic, value in one.latency.items():
            named = LATENCY.name_of(operation=_key(name), statistic=statistic)
            metrics[named] = LATENCY.of(value)
        if "p99" in one.service:
            named = SERVICE_P99.name_of(operation=_key(name))
            metrics[named] = SERVICE_P99.of(one.service["p99"])
    return metrics


def _samples(found: Results, host: str) -> list[Sample]:
    rows = []
    for second in found.status:
        rate = second.operations / second.seconds
        rows.append(Sample(second.at, host, *RATE_NOW.reading(rate)))
        for name, value in second.p99.items():
            if name in _SHOWN:
                reading = P99_NOW.reading(value, operation=_key(name))
                rows.append(Sample(second.at, host, *reading))
    return rows


def longest_stall(status: Sequence[Second]) -> float:
    """The longest time in which no operation ended, s, with the resolution of the status lines."""
    longest = now = 0.0
    for second in status:
        now = now + second.seconds if second.operations == 0 else 0.0
        longest = max(longest, now)
    return longest


def cache_hits(before: Cache | None, after: Cache | None) -> dict[str, Metric]:
    """The fraction of hits between two readings; none if a server restarted its counters."""
    if before is None or after is None:
        return {}
    hits, misses = after.hits - before.hits, after.misses - before.misses
    if hits < 0 or misses < 0 or hits + misses == 0:
        return {}
    return numbers({CACHE_HITS: hits / (hits + misses)})


def reads_checked(counters: Mapping[str, int]) -> list[Check]:
    """Checks that no read of the workload had a wrong value or missed a record.

    YCSB counts a failed read as an empty one, so failed reads are subtracted. It also reads rows
    whose insert failed: these may be absent.
    """
    empty = counters.get("VERIFY:ERROR", 0) - counters.get("READ:ERROR", 0)
    absent = max(empty, counters.get("READ:NOT_FOUND", 0)) - counters["reads_excused"]
    wrong = {
        "reads with a wrong value": counters.get("VERIFY:UNEXPECTED_STATE", 0),
        "reads that found no record": absent,
        "scans or scanned rows that were wrong": counters["rows_scanned_wrong"],
    }
    return [check(name, "0", str(max(0, count))) for name, count in wrong.items()]


def rows_checked(result: ClientOutput) -> list[Check]:
    """Checks that the scan of all rows found no lost, outdated, altered or unknown row."""
    names = {
        "lost": "acknowledged rows that are lost",
        "outdated": "rows without their last acknowledged write",
        "altered": "rows with a wrong value",
        "unknown": "rows that nobody wrote",
    }
    example = result.values.get("example")
    # a failed write may still have been applied
    expected = result.number("expected") + result.number("unsure")
    checks = [check("rows", str(expected), str(result.number("rows")))]
    for name, text in names.items():
        count = result.number(name)
        got = f"{count}, such as {example}" if count and example else str(count)
        checks.append(check(text, "0", got))
    return checks


def percent_of(share: float) -> str:
    """A fraction in whole percent."""
    return f"{share * 100:,.0f} %"
