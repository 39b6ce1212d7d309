"""What YCSB and the tool of the HBase engine write, as text with numbers of one's choice."""

from __future__ import annotations

from datetime import UTC, datetime

START = 1_700_000_000.0


def result(
    name: str, count: int, p99: float, answers: str = "OK", intended: float | None = None
) -> str:
    """One operation's results: latencies in us, all but the 99th percentile made of it."""
    rows = []
    for lead, high in ((name, p99), (f"Intended-{name}", intended or p99)):
        rows += [
            f"[{lead}], Operations, {count}",
            f"[{lead}], AverageLatency(us), {high / 4:.1f}",
            f"[{lead}], MinLatency(us), 90",
            f"[{lead}], MaxLatency(us), {high * 3:.0f}",
            f"[{lead}], 50thPercentileLatency(us), {high / 8:.0f}",
            f"[{lead}], 95thPercentileLatency(us), {high / 2:.0f}",
            f"[{lead}], 99thPercentileLatency(us), {high:.0f}",
            f"[{lead}], 99.9PercentileLatency(us), {high * 2:.0f}",
        ]
    rows.append(f"[{name}], Return={answers}, {count}")
    return "\n".join(rows) + "\n"


def status(second: int, total: int, rate: float, p99: int = 2000) -> str:
    """One line of status."""
    at = datetime.fromtimestamp(START + second, UTC).astimezone()  # as YCSB: the machine's zone
    stamp = f"{at:%Y-%m-%d %H:%M:%S}:{at.microsecond // 1000:03d}"
    told = f"Max=8191, Min=240, Avg=700.1, 50=600, 90=900, 99={p99}, 99.9=3000, 99.99=8000"
    return (
        f"{stamp} {second} sec: {total} operations; {rate} current ops/sec; est completion in "
        f"9 seconds [READ: Count=50, {told}] [Intended-READ: Count=50, {told}] \n"
    )


def run(
    *parts: str,
    elapsed_s: float = 10.0,
    operations: int = 1000,
    tells: dict[str, object] | None = None,
) -> str:
    """The log of a whole run."""
    own: dict[str, object] = {
        "first_ms": int(START * 1000),
        "last_ms": int((START + elapsed_s) * 1000),
        "acknowledged": 0,
        "unacknowledged": 0,
        "reads_excused": 0,
        "rows_scanned": 0,
        "rows_scanned_wrong": 0,
    }
    head = f"[OVERALL], RunTime(ms), {elapsed_s * 1000:.0f}\n"
    head += f"[OVERALL], Throughput(ops/sec), {operations / elapsed_s}\n"
    head += "[TOTAL_GCs], Count, 3\n[CLEANUP], Operations, 8\n"
    tail = "".join(f"windtunnel: {name}={value}\n" for name, value in (own | (tells or {})).items())
    return head + "".join(parts) + tail
