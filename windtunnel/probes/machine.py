"""Facts about this machine: hardware and software (provenance), and its state before a trial."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from windtunnel import __version__
from windtunnel.results.record import Before, CacheState

_IDLE_WINDOW_S = 0.5


def before_trial(cache_state: CacheState) -> Before:
    """Current load, free memory, page cache, and idle CPU fraction over half a second."""
    memory = psutil.virtual_memory()
    idle = psutil.cpu_times_percent(interval=_IDLE_WINDOW_S).idle / 100.0
    return Before(
        load_1min=psutil.getloadavg()[0],
        memory_available_bytes=memory.available,
        page_cache_bytes=getattr(memory, "cached", 0),
        cpu_idle_share=min(1.0, max(0.0, idle)),
        cache_state=cache_state,
    )


def machine_facts() -> dict[str, Any]:
    """Kernel, CPU, memory, Python, and version and commit of Windtunnel."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpu_threads": psutil.cpu_count(),
        "cpu_cores": psutil.cpu_count(logical=False),
        "memory_bytes": psutil.virtual_memory().total,
        "python": sys.version.split()[0],
        "windtunnel": __version__,
        "windtunnel_commit": own_commit(),
        "clock": "time.time() of the measuring program and of the daemons, same machine",
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        return _first_line(["sysctl", "-n", "machdep.cpu.brand_string"])
    return platform.processor() or "unknown"


@functools.cache
def own_commit() -> str:
    """Commit of the checkout of this program, with ``+`` if it was changed.

    The result is cached: the running code is that of the start of the program.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return "unknown (not a checkout)"
    commit = _first_line(["git", "-C", str(root), "rev-parse", "HEAD"])
    changed = _first_line(["git", "-C", str(root), "status", "--porcelain", "-uno"])
    return commit + ("+" if changed not in ("", "unknown") else "")


def _first_line(argv: list[str]) -> str:
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=5, check=True, env=dict(os.environ)
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip().split("\n")[0]
