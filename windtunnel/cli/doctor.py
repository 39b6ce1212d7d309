"""The checks of ``doctor``: each reports yes, no or a note, with a remedy."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from windtunnel import plugins
from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.hadoop.releases import LINES
from windtunnel.engines.java import find_java
from windtunnel.engines.storage_systems import STORAGE_SYSTEMS, storage_system
from windtunnel.errors import SetupError
from windtunnel.hosts.isolation.policy import isolation
from windtunnel.hosts.leftovers import registered, state_root
from windtunnel.hosts.local import DROP_CACHES
from windtunnel.plugins import Registry
from windtunnel.testbeds import TESTBEDS
from windtunnel.testbeds.base import Testbed

_NEEDED_MEMORY_BYTES = 5 << 30
_NEEDED_DISK_BYTES = 3 << 30


@dataclass(frozen=True)
class Finding:
    """The result of one check; ``good`` is None for a note, which does not prevent studies."""

    what: str
    good: bool | None
    detail: str
    remedy: str = ""


Check = Callable[[], list[Finding]]


def checkup() -> list[Finding]:
    """All findings about this machine."""
    plugged = CHECKS.plugged()
    return [
        finding
        for name, check in CHECKS.items()
        for finding in (_guarded(name, check) if name in plugged else check())
    ]


def _guarded(name: str, check: Check) -> list[Finding]:
    """The findings of a plug-in's check; if the check fails, a note that states this."""
    try:
        found = list(check())
        if all(isinstance(finding, Finding) for finding in found):
            return found
        said = "it gives no findings of windtunnel.cli.doctor.Finding"
    # whatever its code raises: the other checks continue
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return [Finding(CHECKS.describe(name), None, f"failed: {said}", "update the plug-in.")]


def _system() -> list[Finding]:
    good = sys.platform in ("linux", "darwin")
    remedy = "" if good else "use Linux or macOS."
    return [Finding("operating system", good, sys.platform, remedy)]


def _java() -> list[Finding]:
    found = []
    for name, line in LINES.items():
        what = f"Java for Hadoop {name}"
        try:
            java = find_java(line.java_minimum, line.java_maximum, needed_by=f"Hadoop {name}")
            found.append(Finding(what, True, f"{java.version} ({java.source}, {java.home})"))
        except SetupError as error:
            # Hadoop 3.4 is optional, so a missing Java for it is only a note.
            good = None if name != next(iter(LINES)) else False
            found.append(Finding(what, good, error.message, error.remedy))
    return found


def _memory() -> list[Finding]:
    free = psutil.virtual_memory().available
    good = free >= _NEEDED_MEMORY_BYTES
    remedy = "" if good else "end other programs, or use the cluster local-1 (one worker)."
    detail = f"{free / 2**30:.1f} GiB free; three workers with tasks need about 5 GiB"
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
    remedy = "" if can else "run as root to use 'cache: drop'; 'cache: warm' needs no root."
    detail = "the page cache can be dropped" if can else "the page cache cannot be dropped"
    return [Finding("protocol 'cache: drop'", True if can else None, detail, remedy)]


def _bash() -> list[Finding]:
    path = shutil.which("bash")
    remedy = "" if path else "install bash: YARN starts containers with it."
    return [Finding("bash", path is not None, path or "not found", remedy)]


def _remains() -> list[Finding]:
    dead = [entry.id for entry in registered() if not entry.owner_alive()]
    if not dead:
        return [Finding("remains of crashed runs", True, "none")]
    remedy = "run windtunnel clean to remove them."
    return [Finding("remains of crashed runs", None, ", ".join(dead), remedy)]


def _load() -> list[Finding]:
    load, cores = psutil.getloadavg()[0], psutil.cpu_count() or 1
    quiet = load < 0.5 * cores
    remedy = "" if quiet else "measure when the machine is idle: other load changes the results."
    return [Finding("load", True if quiet else None, f"{load:.1f} on {cores} CPUs", remedy)]


def _testbeds() -> list[Finding]:
    return [finding for name, kind in TESTBEDS.items() for finding in _testbed(name, kind)]


def _testbed(name: str, kind: type[Testbed]) -> list[Finding]:
    what, lacks = f"testbed '{name}'", kind.lacks()
    fatal = [Finding(what, None, f"lacks {lack.what}", lack.remedy) for lack in lacks if lack.fatal]
    without = [Finding(what, None, f"works without {lack.what}", lack.remedy) for lack in lacks]
    return fatal or [Finding(what, True, kind.about), *without]


def _isolation() -> list[Finding]:
    what = "isolation from other accounts"
    try:
        found = isolation([state_root()])
    except SetupError as error:
        return [Finding(what, False, error.message, error.remedy)]
    if found.caveat:
        detail = found.caveat.removeprefix("isolation: ")
        return [Finding(what, None, detail, found.remedy or "see SECURITY.md.")]
    return [Finding(what, True, f"clusters run in a network namespace: {found.network}")]


def _storage() -> list[Finding]:
    """What the storage systems that need other programs lack; all of them are optional."""
    found = []
    for kind in STORAGE_SYSTEMS:
        what = f"storage '{kind}'"
        system = storage_system(kind)
        try:
            if system is not None:
                system.check_machine()
            found.append(Finding(what, True, "its programs are installed"))
        except SetupError as error:
            found.append(Finding(what, None, error.message, error.remedy))
    return found


def _openscap() -> list[Finding]:
    """What 'audit --openscap' needs; it is optional."""
    from windtunnel.audit import openscap

    missing = openscap.lacks()
    if not missing:
        return [Finding("audit --openscap", True, "its packages are installed")]
    remedy = f"apt-get install {' '.join(missing)}"
    return [Finding("audit --openscap", None, f"lacks {', '.join(missing)}", remedy)]


def _plugins() -> list[Finding]:
    """Every plug-in, all of its parts loaded."""
    from windtunnel.analysis.warnings import RULES
    from windtunnel.engines.registry import ENGINES
    from windtunnel.probes.registry import PROBES
    from windtunnel.report.sections import SECTIONS
    from windtunnel.workloads import WORKLOADS

    broken: dict[str, list[str]] = {}
    for registry in (WORKLOADS, ENGINES, TESTBEDS, PROBES, SECTIONS, CHECKS, RULES):
        for name, problem in registry.problems():
            broken.setdefault(name, []).append(problem)
    remedy = f"update or uninstall it, or switch plug-ins off with {plugins.SWITCH}=0."
    return [
        Finding(f"plug-in {plugin.name}", None, "; ".join(broken[plugin.name]), remedy)
        if plugin.name in broken
        else Finding(f"plug-in {plugin.name}", True, plugin.version)
        for plugin in plugins.installed()
    ]


def _admit(name: str, check: object) -> None:
    """Refuse an object that is not a check."""
    if not callable(check):
        raise ValueError("it is no function that gives findings")


CHECKS: Registry[Check] = Registry(
    "checks",
    "check",
    {
        "system": _system,
        "java": _java,
        "bash": _bash,
        "memory": _memory,
        "disk": _disk,
        "caches": _caches,
        "load": _load,
        "storage": _storage,
        "openscap": _openscap,
        "remains": _remains,
        "isolation": _isolation,
        "testbeds": _testbeds,
        "plugins": _plugins,
    },
    _admit,
)
