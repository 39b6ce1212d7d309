"""The speed of this machine's cores, which other guests of a physical machine can change.

A CPU quota limits CPU time, not work. The core probe is a small, fixed amount of work; its CPU time
shows how fast the cores are. A fifth of its time is arithmetic, the rest is random access to more
memory than the caches of one core hold. With these parts, its time is proportional to the CPU time
of the tasks of TeraSort. With a reference time, the CPU quotas follow the probe, so that hosts do
the same work per second on faster and on slower cores (docs/decisions/0099).
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from statistics import fmean

import numpy as np

from windtunnel.results.metrics import MetricInfo, register

CORE_PROBE = MetricInfo(
    "core_probe",
    "ms",
    "CPU time of the core probe, a fixed amount of work, mean over the phase (scale models)",
    "the core probe",
)
QUOTA_FACTOR = MetricInfo(
    "quota_factor",
    "ratio",
    "CPU quotas that follow the core probe, relative to the planned ones, mean over the phase",
    "the quotas that were set",
)
register(CORE_PROBE, QUOTA_FACTOR)

_STEP_S = 0.25  # the probe uses less than 1 % of a core
_WINDOW = 40  # probes whose mean counts: those of ten seconds
# Each change of a quota gives a group the time of up to one more period: change it rarely.
_LEAST_CHANGE = 0.05
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0
_ADDITIONS = 700
_VALUES, _READS = 1 << 19, 20_000  # 4 MB of memory
Means = dict[MetricInfo, float]


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
    notify:
        Called once with a text if the quotas cannot be changed.
    measure_ms:
        The probe.
    """

    def __init__(
        self,
        reference_ms: float | None,
        scale_cpu: Callable[[float], None],
        notify: Callable[[str], None],
        measure_ms: Callable[[], float] | None = None,
    ) -> None:
        self.factor = 1.0
        """The present factor of the quotas."""
        self._reference_ms, self._scale_cpu, self._notify = reference_ms, scale_cpu, notify
        self._notified = False
        self._measure_ms = measure_ms or CoreProbe().measure_ms
        self._found: list[tuple[float, float, float]] = []  # epoch s, ms, factor in force
        self._latest: deque[float] = deque(maxlen=_WINDOW)  # also of phases before
        self._undecided = 0  # probes since the last decision
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start to measure, before a phase; the factor is that of the end of the phase before.

        Short phases together have the ten seconds after which the quotas change.
        """
        self.close()
        self._stop.clear()
        self._found = []
        self._thread = threading.Thread(target=self._run, name="core probe", daemon=True)
        self._thread.start()

    def end(self, started_at: float = 0.0, finished_at: float = math.inf) -> Means:
        """Stop after the phase; returns the means of its probes and factors, if it has any.

        They are those of the job, from ``started_at`` to ``finished_at`` in epoch seconds: before
        and after it, the hosts are idle, and the probe is faster.
        """
        self.close()
        all_found, self._found = self._found, []
        found = [one for one in all_found if started_at <= one[0] <= finished_at] or all_found
        if not found:
            return {}
        means: Means = {CORE_PROBE: fmean(took_ms for _, took_ms, _ in found)}
        if self._reference_ms is not None:
            means[QUOTA_FACTOR] = fmean(factor for _, _, factor in found)
        return means

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
        self._found.append((time.time(), took_ms, self.factor))
        self._latest.append(took_ms)
        self._undecided += 1
        if self._reference_ms is None or self._undecided < _WINDOW:
            return
        self._undecided = 0
        wanted = fmean(self._latest) / self._reference_ms
        wanted = min(max(wanted, _LEAST_FACTOR), _MOST_FACTOR)
        if abs(wanted / self.factor - 1) < _LEAST_CHANGE:
            return
        try:
            self._scale_cpu(wanted)
        except OSError as error:
            if not self._notified:
                self._notify(f"the CPU quotas do not follow the speed of the cores: {error}")
            self._notified = True
            return
        self.factor = wanted
