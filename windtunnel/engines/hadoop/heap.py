"""The live objects on the heap of a JVM: what remains after a full garbage collection."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from typing import Final

from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Process

HISTOGRAM: Final = "-XX:+PrintClassHistogram"
"""At SIGQUIT, a JVM with this option collects all garbage and prints a histogram of its classes."""
_TOTAL: Final = re.compile(rb"^Total +\d+ +(\d+) *$", re.MULTILINE)
# The serial collector removes all garbage in each fourth full collection (HotSpot's option
# MarkSweepAlwaysCompactCount); in the others, it leaves up to 5 % of the heap as arrays that count
# as live objects.
_COLLECTIONS: Final = 4
_LIMIT_S: Final = 30.0
_STEP_S: Final = 0.05


def live_bytes(process: Process) -> int:
    """Bytes of the live objects of a JVM that was started with :data:`HISTOGRAM`.

    Raises
    ------
    DeploymentError
        If it prints no histogram within 30 s, or ends.
    """
    return min(_collected(process) for _ in range(_COLLECTIONS))


def _collected(process: Process) -> int:
    """The total of one histogram in bytes."""
    before = process.log.stat().st_size
    deadline = time.monotonic() + _LIMIT_S
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(process.pid, signal.SIGQUIT)
    while time.monotonic() < deadline and process.returncode() is None:
        with process.log.open("rb") as log:
            log.seek(before)
            found = _TOTAL.search(log.read())
        if found:
            return int(found[1])
        time.sleep(_STEP_S)
    ended = process.returncode() is not None
    raise DeploymentError(
        f"{process.name} ended before it printed a histogram of its heap"
        if ended
        else f"{process.name} printed no histogram of its heap within {_LIMIT_S:.0f} s",
        log=process.log,
    )
