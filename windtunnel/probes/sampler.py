"""Samples once per second during a trial, by all probes of the registry.

The sampler is a thread of the program; it measures its own cost, which must stay below 2 % of a
core.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.probes.base import THIS_MACHINE, Probe, Watched
from windtunnel.probes.registry import PROBES
from windtunnel.results.sample import Recording, Sample, Source

PERIOD_S = 1.0
_END_S = 5.0

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
        Returns the daemons' process ids by name at each sample (daemons may be restarted).
    host:
        Name of the host in the samples.
    sources:
        Sources of readings of other hosts, queried at every sample.
    network_bytes:
        Bytes sent and received in a separate network of the deployment; they are added to the
        machine's.
    here:
        Whether this machine is measured; otherwise only the sources give samples.
    """

    def __init__(
        self,
        processes: Callable[[], Mapping[str, int]],
        host: str = THIS_MACHINE,
        sources: Sequence[Source] = (),
        network_bytes: Callable[[], tuple[int, int]] | None = None,
        here: bool = True,
    ) -> None:
        self.rows: list[Sample] = []
        self.failures: list[str] = []
        self.notes: list[str] = []
        self._recorded_power: str | None = None
        self.cpu_s = 0.0
        self.elapsed_s = 0.0
        self._host = host
        self._sources = sources
        watched = Watched(processes, host, network_bytes)
        self._probes = list(self._begin(watched)) if here else []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sampler", daemon=True)

    def _begin(self, watched: Watched) -> Iterator[Probe]:
        """The probes that start successfully; a probe of another package may fail."""
        for name, kind in PROBES.items():
            try:
                probe = kind(watched)
                probe.begin()
            except Exception as error:
                self._note(name, error)
            else:
                yield probe

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
        self._thread.join(timeout=_END_S)
        if self._thread.is_alive():  # a probe of another package can wait without a limit
            self.failures.append(f"a sample did not end within {_END_S:.0f} s")
            self.rows = list(self.rows)  # later samples of the thread are not added

    def add(self, recording: Recording) -> None:
        """Add the samples that another system recorded."""
        self.rows += recording.samples
        self._recorded_power = recording.power_source
        self.notes += recording.problems

    @property
    def power_source(self) -> str | None:
        """Source and scope of the power samples; None without any."""
        named = [self._recorded_power]
        if any(row.metric.startswith("power:") for row in self.rows):
            named += [probe.power_source for probe in self._probes]
        return "; ".join(source for source in named if source) or None

    @property
    def cost(self) -> float:
        """CPU time of the sampling, as a fraction of one core."""
        return self.cpu_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def mean(self, metric: str) -> float | None:
        """Mean of a metric of this machine over all samples; None without any."""
        mine = (row for row in self.rows if row.host == self._host)
        values = [row.value for row in mine if row.metric == metric]
        return sum(values) / len(values) if values else None

    def _loop(self) -> None:
        began = time.monotonic()
        due = began
        while True:
            due += PERIOD_S
            if self._stop.wait(max(0.0, due - time.monotonic())):
                break
            try:
                self.rows.extend(self._sample(time.time()))
            except (OSError, psutil.Error) as error:
                self.failures.append(str(error))
            self.cpu_s = time.thread_time()
            self.elapsed_s = time.monotonic() - began

    def _sample(self, now: float) -> Iterator[Sample]:
        for probe in list(self._probes):
            yield from self._of(probe, now)
        for source in self._sources:
            for host, metric, unit, value in source(now):
                yield Sample(now, host, metric, unit, value)

    def _of(self, probe: Probe, now: float) -> Iterator[Sample]:
        """The samples of a probe; a failure is recorded and ends a probe of another package."""
        try:
            yield from map(_checked, probe.sample(now))
        except (OSError, psutil.Error) as error:
            self.failures.append(f"{probe.name}: {error}")
        # whatever its code raises: the trial has other samples
        except Exception as error:
            self._note(probe.name, error)
            self._probes.remove(probe)

    def _note(self, name: str, error: Exception) -> None:
        """Record the failure of a probe of another package; raise that of a built-in probe."""
        if name not in PROBES.plugged():
            raise error
        self.failures.append(f"{PROBES.describe(name)}: {type(error).__name__}: {error}")

    def write(self, path: Path, trial: str) -> None:
        """Store the samples as Parquet (columns: see ``results/folder.py``)."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(Sample._fields)
        table = pa.table([pa.array([trial] * len(self.rows)), *map(pa.array, columns)], SCHEMA)
        pq.write_table(table, path, compression="zstd")


def _checked(row: object) -> Sample:
    if not isinstance(row, Sample):
        raise TypeError(f"a probe gives samples, and this is none: {row!r}")
    return row
