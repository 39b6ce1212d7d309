"""From what YCSB and the last scan told to a phase, its samples, and the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.ycsb.results import Operation, Results, Second, results_in
from windtunnel.engines.ycsb.store import Cache, Told
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Check, Metric, Phase
from windtunnel.workloads.verdicts import check

SATURATED_BELOW = 0.97
"""Share of the target rate. A run that keeps up ends a tick and a slow answer after its time."""
THROUGHPUT = "kv_throughput"
"""Sample: operations that ended, per second."""
P99 = "kv_p99"
"""Sample, with ``:OPERATION``: latency from the intended start over about a second, ms."""
_CALLS = ("READ", "UPDATE", "INSERT", "SCAN")  # of the store; the others are made of them
_SHOWN = (*_CALLS, "READ-MODIFY-WRITE")
_COUNTED = (*_CALLS, "VERIFY")
_TOLD = (
    "acknowledged",
    "unacknowledged",
    "reads_excused",
    "rows_scanned",
    "rows_scanned_wrong",
)
_OUTPUT_LINES = 60


def job_run(phase: str, told: Told, operations: int, target: float | None, host: str) -> JobRun:
    """The phase of a YCSB run; raises TrialInvalidError if it did not come to its end."""
    found = results_in(told.text)
    if not found.elapsed_s:
        raise TrialInvalidError(f"{phase}: YCSB did not tell how it ended; log: {told.log}")
    started_at = told.number("first_ms") / 1e3
    counters = {
        f"{name}:{answer}": count
        for name in _COUNTED
        for answer, count in found.operations.get(name, Operation()).answers.items()
    }
    for name in _TOLD:
        counters[name] = told.number(name)
    failed = sum(
        n for key, n in counters.items() if key.startswith(_CALLS) and not key.endswith(":OK")
    )
    rate = (operations - failed) / found.elapsed_s
    metrics = {
        "throughput": Metric(value=rate, unit="ops/s"),
        "operations": Metric(value=operations, unit="count"),
        "failed_operations": Metric(value=failed, unit="count"),
        **_latencies(found),
    }
    notes = [f"{phase}: {failed:,} of {operations:,} operations failed"] if failed else []
    if phase == "run":
        metrics["longest_stall"] = Metric(value=longest_stall(found.status), unit="s")
    if target is not None:
        share = rate / target
        metrics["target_share"] = Metric(value=share, unit="ratio")
        metrics["saturated"] = Metric(value=float(share < SATURATED_BELOW), unit="ratio")
        if share < SATURATED_BELOW:
            notes.append(
                f"{phase}: saturated: {rate:,.0f} of the {target:,.0f} operations a second that "
                f"were asked for ({percent_of(share)})"
            )
    record = Phase(
        name=phase,
        started_at=started_at,
        finished_at=started_at + found.elapsed_s,
        elapsed_s=found.elapsed_s,
        wall_s=told.wall_s,
        metrics=metrics,
    )
    output = "\n".join(told.text.splitlines()[-_OUTPUT_LINES:])
    return JobRun(record, counters, notes=notes, output=output, samples=_samples(found, host))


def _latencies(found: Results) -> dict[str, Metric]:
    """Latencies of each operation by name; of the service time only the 99th percentile."""
    metrics = {}
    for name in _SHOWN:
        one = found.operations.get(name, Operation())
        key = name.lower().replace("-", "_")
        for label, value in one.latency.items():
            metrics[f"{key}_{label}"] = Metric(value=value, unit="ms")
        if "p99" in one.service:
            metrics[f"{key}_service_p99"] = Metric(value=one.service["p99"], unit="ms")
    return metrics


def _samples(found: Results, host: str) -> list[tuple[float, str, str, str, float]]:
    rows = []
    for second in found.status:
        rate = second.operations / second.seconds
        rows.append((second.at, host, THROUGHPUT, "ops/s", rate))
        for name, value in second.p99.items():
            if name in _SHOWN:
                key = name.lower().replace("-", "_")
                rows.append((second.at, host, f"{P99}:{key}", "ms", value))
    return rows


def longest_stall(status: Sequence[Second]) -> float:
    """Longest time in which no operation ended, s, to the second of the status lines."""
    longest = now = 0.0
    for second in status:
        now = now + second.seconds if second.operations == 0 else 0.0
        longest = max(longest, now)
    return longest


def cache_hits(before: Cache | None, after: Cache | None) -> dict[str, Metric]:
    """Share of hits between two looks; none where a server began to count anew between them."""
    if before is None or after is None:
        return {}
    hits, misses = after.hits - before.hits, after.misses - before.misses
    if hits < 0 or misses < 0 or hits + misses == 0:
        return {}
    return {"cache_hits": Metric(value=hits / (hits + misses), unit="ratio")}


def reads_checked(counters: Mapping[str, int]) -> list[Check]:
    """What the workload read while it ran: no wrong value, no absent record.

    YCSB counts a read that failed as one that held nothing: no more of those than failed. It reads
    rows whose insert failed as well: they may be there or not.
    """
    empty = counters.get("VERIFY:ERROR", 0) - counters.get("READ:ERROR", 0)
    absent = max(empty, counters.get("READ:NOT_FOUND", 0)) - counters["reads_excused"]
    wrong = {
        "reads with a wrong value": counters.get("VERIFY:UNEXPECTED_STATE", 0),
        "reads that found no record": absent,
        "scans or scanned rows that were wrong": counters["rows_scanned_wrong"],
    }
    return [check(name, "0", str(max(0, count))) for name, count in wrong.items()]


def rows_checked(told: Told) -> list[Check]:
    """What the scan of all rows found: nothing lost, outdated, altered or made up."""
    names = {
        "lost": "acknowledged rows that are lost",
        "outdated": "rows without their last acknowledged write",
        "altered": "rows with a wrong value",
        "unknown": "rows that nobody wrote",
    }
    example = told.values.get("example")
    # a write that failed may have happened all the same
    expected = told.number("expected") + told.number("unsure")
    checks = [check("rows", str(expected), str(told.number("rows")))]
    for name, text in names.items():
        count = told.number(name)
        got = f"{count}, such as {example}" if count and example else str(count)
        checks.append(check(text, "0", got))
    return checks


def percent_of(share: float) -> str:
    """A share in whole percent."""
    return f"{share * 100:,.0f} %"
