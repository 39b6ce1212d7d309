"""The speed of this machine's cores, which other guests of a physical machine can change.

A CPU quota limits CPU time, not work. The core probe is a small, fixed amount of work; its CPU time
shows how fast the cores are. A fifth of its time is arithmetic, the rest is random access to more
memory than the caches of one core hold. With these parts, its time is proportional to the CPU time
of the tasks of TeraSort. With a reference time, the CPU quotas follow the probe, so that hosts do
the same work per second on faster and on slower cores (docs/decisions/0099).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from statistics import fmean

import numpy as np

from windtunnel.errors import DeploymentError
from windtunnel.results.metrics import MetricInfo, register

CORE_PROBE = MetricInfo(
    "core_probe",
    "ms",
    "CPU time of the core probe, a fixed amount of work, mean over the phase (scale models)",
    "the core probe",
)
register(CORE_PROBE)

_STEP_S = 0.25  # the probe uses less than 1 % of a core
_WINDOW = 40  # probes whose mean counts: those of ten seconds
# Each change of a quota gives a group the time of up to one more period: change it rarely.
_LEAST_CHANGE = 0.05
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0
_ADDITIONS = 700
_VALUES, _READS = 1 << 19, 20_000  # 4 MB of memory

_log = logging.getLogger(__name__)


class CoreProbe:
    """The fixed amount of work."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self._values = random.integers(0, 1 << 40, _VALUES)
        self._places = random.integers(0, _VALUES, _READS)

    def measure_ms(self) -> float:
        """Do the work once; returns its CPU time in milliseconds."""
        began = time.thread_time_ns()
        total = 0
        for number in range(_ADDITIONS):
            total += number * number
        self._values[self._places].sum()
        return (time.thread_time_ns() - began) / 1e6


class CoreSpeed:
    """Measures the core probe in timed phases, and lets CPU quotas follow it.

    Parameters
    ----------
    reference_ms:
        CPU time of the probe at which the planned quotas are right; None: the quotas do not follow.
    scale_cpu:
        Multiplies all CPU quotas by a factor. It may raise OSError.
    measure_ms:
        The probe.
    """

    def __init__(
        self,
        reference_ms: float | None,
        scale_cpu: Callable[[float], None],
        measure_ms: Callable[[], float] | None = None,
    ) -> None:
        self.factor = 1.0
        """The present factor of the quotas."""
        self._reference_ms, self._scale_cpu = reference_ms, scale_cpu
        self._measure_ms = measure_ms or CoreProbe().measure_ms
        self._found: list[float] = []
        self._recent: deque[float] = deque(maxlen=_WINDOW)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start to measure, before a phase; the factor is that of the end of the phase before."""
        self.close()
        self._stop.clear()
        self._found = []
        self._recent.clear()
        self._thread = threading.Thread(target=self._run, name="core probe", daemon=True)
        self._thread.start()

    def end(self) -> float | None:
        """Stop after the phase; returns the mean CPU time of the probe in ms, None without any."""
        self.close()
        found, self._found = self._found, []
        return fmean(found) if found else None

    def close(self) -> None:
        """Stop measuring."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._stop.wait(_STEP_S):
            self.step()

    def step(self) -> None:
        """Measure once, and change the quotas if the mean of ten seconds requires it."""
        took_ms = self._measure_ms()
        self._found.append(took_ms)
        self._recent.append(took_ms)
        if self._reference_ms is None or len(self._recent) < _WINDOW:
            return
        wanted = fmean(self._recent) / self._reference_ms
        wanted = min(max(wanted, _LEAST_FACTOR), _MOST_FACTOR)
        self._recent.clear()
        if abs(wanted / self.factor - 1) < _LEAST_CHANGE:
            return
        try:
            self._scale_cpu(wanted)
        except (OSError, DeploymentError) as error:  # such as a host that a fault has ended
            _log.warning("the CPU quotas do not follow the speed of the cores: %s", error)
            return
        self.factor = wanted
