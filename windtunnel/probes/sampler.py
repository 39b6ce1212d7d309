"""Host samples at 1 Hz while a trial runs: CPU by state, load, memory, disk, network, daemons,
and power where the machine tells it.

One thread of the program; it measures its own cost, which must stay below 2 % of a core.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol, runtime_checkable

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.probes.power import live_readers

PERIOD_S = 1.0
_CPU_STATES = {"user": "user", "system": "system", "iowait": "iowait", "idle": "idle"}
_CPU_STATES |= {state: state for state in ("nice", "irq", "softirq", "steal")}

Row = tuple[float, str, str, str, float]
Source = Callable[[float], Iterable[tuple[str, str, str, float]]]
"""Gives (host, metric, unit, value) for the instant, in epoch seconds, that it is called with."""


@runtime_checkable
class Sampled(Protocol):
    """A deployment whose hosts can be sampled each by itself."""

    def sources(self) -> Sequence[Source]:
        """What the sampler asks at every sample."""
        ...


@runtime_checkable
class OwnNetwork(Protocol):
    """A deployment in a network of its own, whose bytes the machine's interfaces do not count."""

    def network_bytes(self) -> tuple[int, int]:
        """Bytes sent and received on all its interfaces so far; raises OSError."""
        ...


SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("t", pa.float64()),
        ("host", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("value", pa.float64()),
    ],
    metadata={"schema": "windtunnel.samples/1"},
)


class Sampler:
    """Samples this machine while a ``with`` block runs.

    Parameters
    ----------
    processes:
        Gives the daemons' process ids by name at each sample (daemons may be restarted).
    host:
        Name under which the samples stand.
    sources:
        Asked at every sample for readings of other hosts.
    network_bytes:
        Bytes sent and received in a network of the deployment's own: they count as the machine's.
    """

    def __init__(
        self,
        processes: Callable[[], Mapping[str, int]],
        host: str = "this-machine",
        sources: Sequence[Source] = (),
        network_bytes: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self.rows: list[Row] = []
        self.failures: list[str] = []
        self.cpu_s = 0.0
        self.elapsed_s = 0.0
        self._processes = processes
        self._host = host
        self._sources = sources
        self._network_bytes = network_bytes
        self._power = live_readers()
        self._known: dict[int, psutil.Process] = {}
        self._last: dict[str, tuple[float, float]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sampler", daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    @property
    def power_source(self) -> str | None:
        """Where the samples of power came from and what they cover; None without any."""
        if not any(name.startswith("power:") for _, _, name, _, _ in self.rows):
            return None
        return "; ".join(reader.source for reader in self._power)

    @property
    def cost(self) -> float:
        """CPU that sampling took, as a share of one core."""
        return self.cpu_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def mean(self, metric: str) -> float | None:
        """Mean of a metric of this machine over the samples so far; None without any."""
        mine = (row for row in self.rows if row[1] == self._host)
        values = [value for _, _, name, _, value in mine if name == metric]
        return sum(values) / len(values) if values else None

    def _loop(self) -> None:
        began = time.monotonic()
        psutil.cpu_times_percent()
        due = began
        while True:
            due += PERIOD_S
            if self._stop.wait(max(0.0, due - time.monotonic())):
                break
            try:
                self.rows += self._sample(time.time())
            except (OSError, psutil.Error) as error:
                self.failures.append(str(error))
            self.cpu_s = time.thread_time()
            self.elapsed_s = time.monotonic() - began

    def _sample(self, now: float) -> Iterator[Row]:
        for metric, unit, value in self._readings(now):
            yield now, self._host, metric, unit, value
        for source in self._sources:
            for host, metric, unit, value in source(now):
                yield now, host, metric, unit, value

    def _readings(self, now: float) -> Iterator[tuple[str, str, float]]:
        cpu = psutil.cpu_times_percent()
        for state, name in _CPU_STATES.items():
            if hasattr(cpu, state):
                yield f"cpu_{name}", "ratio", getattr(cpu, state) / 100.0
        yield "load_1min", "count", psutil.getloadavg()[0]
        memory = psutil.virtual_memory()
        yield "memory_used", "bytes", float(memory.total - memory.available)
        yield "memory_available_share", "ratio", memory.available / memory.total
        yield "page_cache", "bytes", float(getattr(memory, "cached", 0))
        yield from self._rate("swap_in", psutil.swap_memory().sin, now)
        disk = psutil.disk_io_counters()
        if disk is not None:
            yield from self._rate("disk_read", disk.read_bytes, now)
            yield from self._rate("disk_write", disk.write_bytes, now)
        yield from self._busy_disks(now)
        net = psutil.net_io_counters()
        sent, received = self._network_bytes() if self._network_bytes else (0, 0)
        yield from self._rate("net_sent", net.bytes_sent + sent, now)
        yield from self._rate("net_received", net.bytes_recv + received, now)
        for name, pid in self._processes().items():
            with contextlib.suppress(psutil.Error):
                yield from self._daemon(name, pid, now)
        for reader in self._power:
            for domain, watts in reader.sample(now):
                yield f"power:{domain}", "W", watts

    def _busy_disks(self, now: float) -> Iterator[tuple[str, str, float]]:
        """Share of the time in which each disk had work to do, where the system tells (Linux).

        A disk that serves several requests at once may be busy all the time and yet have room.
        """
        for name, disk in psutil.disk_io_counters(perdisk=True).items():
            busy_ms = getattr(disk, "busy_time", None)
            if busy_ms is None or not disk.read_bytes + disk.write_bytes or not _is_disk(name):
                continue
            for _, _, rate in self._rate(f"busy:{name}", busy_ms / 1e3, now):
                yield f"disk_busy:{name}", "ratio", min(1.0, rate)

    def _daemon(self, name: str, pid: int, now: float) -> Iterator[tuple[str, str, float]]:
        process = self._known.get(pid)
        if process is None:
            process = self._known[pid] = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            rss = process.memory_info().rss
        for _, _, cores in self._rate(f"cpu:{pid}", times.user + times.system, now):
            yield f"daemon_cpu:{name}", "cores", cores
        yield f"daemon_rss:{name}", "bytes", float(rss)

    def _rate(self, name: str, total: float, now: float) -> Iterator[tuple[str, str, float]]:
        """The growth of a counter per second; nothing at its first reading."""
        last = self._last.get(name)
        self._last[name] = (now, total)
        if last is not None and now > last[0]:
            yield name, "bytes/s", max(0.0, (total - last[1]) / (now - last[0]))

    def write(self, path: Path, trial: str) -> None:
        """Store the samples as Parquet (columns: see ``results/folder.py``)."""
        columns = list(zip(*self.rows, strict=True)) or [()] * 5
        table = pa.table([pa.array([trial] * len(self.rows)), *map(pa.array, columns)], SCHEMA)
        pq.write_table(table, path, compression="zstd")


@cache
def _is_disk(name: str) -> bool:
    """Whether a device is a disk itself: no partition, no loop, no disk in memory."""
    return Path("/sys/block", name, "device").exists()
