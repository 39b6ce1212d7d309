"""What ``doctor`` looks at: each check says yes, no or a note, and how to mend it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.hadoop.lines import LINES
from windtunnel.engines.java import find_java
from windtunnel.errors import SetupError
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.hosts.isolation.policy import isolation
from windtunnel.hosts.local import DROP_CACHES
from windtunnel.hosts.remains import registered, state_root

_NEEDED_MEMORY_BYTES = 5 << 30
_NEEDED_DISK_BYTES = 3 << 30


@dataclass(frozen=True)
class Finding:
    """One answer: ``good`` is None for a note that stops nothing."""

    what: str
    good: bool | None
    detail: str
    remedy: str = ""


def checkup() -> list[Finding]:
    """All findings about this machine."""
    return [finding for check in CHECKS for finding in check()]


def _system() -> list[Finding]:
    good = sys.platform in ("linux", "darwin")
    remedy = "" if good else "use Linux or macOS."
    return [Finding("testbed 'local': operating system", good, sys.platform, remedy)]


def _java() -> list[Finding]:
    found = []
    for name, line in LINES.items():
        what = f"Java for Hadoop {name}"
        try:
            java = find_java(line.java_minimum, line.java_maximum, needed_by=f"Hadoop {name}")
            found.append(Finding(what, True, f"{java.version} ({java.source}, {java.home})"))
        except SetupError as error:
            # Hadoop 3.4 is a second line: lacking it stops nothing.
            good = None if name != next(iter(LINES)) else False
            found.append(Finding(what, good, error.message, error.remedy))
    return found


def _memory() -> list[Finding]:
    free = psutil.virtual_memory().available
    good = free >= _NEEDED_MEMORY_BYTES
    remedy = "" if good else "end other programs, or take the cluster local-1 (one worker)."
    detail = f"{free / 2**30:.1f} GiB free; three workers with tasks need about 5"
    return [Finding("memory", good, detail, remedy)]


def _disk() -> list[Finding]:
    found = []
    for what, folder in (("cache of jars", cache_root()), ("daemons' data", state_root())):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(there).free
        writable = os.access(there, os.W_OK)
        good = writable and free >= _NEEDED_DISK_BYTES
        variable = "WINDTUNNEL_CACHE" if what.startswith("cache") else "WINDTUNNEL_STATE"
        remedy = "" if good else f"free some space, or set {variable} to another folder."
        detail = f"{folder}, {free / 2**30:.1f} GiB free{'' if writable else ', not writable'}"
        found.append(Finding(what, good, detail, remedy))
    return found


def _caches() -> list[Finding]:
    can = os.access(DROP_CACHES, os.W_OK)
    remedy = "" if can else "run as root for 'cache: drop'; 'cache: warm' works as it is."
    detail = "the page cache can be dropped" if can else "the page cache cannot be dropped"
    return [Finding("protocol 'cache: drop'", True if can else None, detail, remedy)]


def _bash() -> list[Finding]:
    path = shutil.which("bash")
    remedy = "" if path else "install bash: YARN starts its containers with it."
    return [Finding("bash", path is not None, path or "not found", remedy)]


def _remains() -> list[Finding]:
    dead = [entry.id for entry in registered() if not entry.owner_alive()]
    if not dead:
        return [Finding("remains of earlier runs", True, "none")]
    return [
        Finding("remains of earlier runs", None, ", ".join(dead), "windtunnel clean removes them.")
    ]


def _load() -> list[Finding]:
    load, cores = psutil.getloadavg()[0], psutil.cpu_count() or 1
    quiet = load < 0.5 * cores
    remedy = "" if quiet else "measure when the machine is quiet: its load ends up in the results."
    return [Finding("load", True if quiet else None, f"{load:.1f} on {cores} cores", remedy)]


def _scaled() -> list[Finding]:
    what, lacks = "testbed 'scaled'", capabilities()
    fatal = [Finding(what, None, f"lacks {lack.what}", lack.remedy) for lack in lacks if lack.fatal]
    without = [Finding(what, None, f"without {lack.what}", lack.remedy) for lack in lacks]
    return fatal or [Finding(what, True, "virtual hosts can be built here"), *without]


def _isolation() -> list[Finding]:
    what = "isolation from other accounts"
    try:
        found = isolation([state_root()])
    except SetupError as error:
        return [Finding(what, False, error.message, error.remedy)]
    if found.caveat:
        detail = found.caveat.removeprefix("isolation: ")
        return [Finding(what, None, detail, found.remedy or "see SECURITY.md.")]
    return [Finding(what, True, f"clusters get a network namespace: {found.network}")]


def _others() -> list[Finding]:
    later = "not in this version: the testbeds attached and modelled"
    return [Finding("other testbeds", None, later)]


CHECKS: list[Callable[[], list[Finding]]] = [
    _system,
    _java,
    _bash,
    _memory,
    _disk,
    _caches,
    _load,
    _remains,
    _isolation,
    _scaled,
    _others,
]
