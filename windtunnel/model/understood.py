"""Values of a description that the model reads: those that it cannot use are errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from windtunnel.cluster import Cluster
from windtunnel.cluster.setting_values import LEAST_MB, OLD_INCREMENT_MB

GBIT_S = 8e-9  # of one byte per second
LEAST_MERGE = 2.0  # streams: a merge of one stream does not end


def _number(value: object) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        return math.nan


def _at_least(least: float) -> Callable[[object], str]:
    def check(value: object) -> str:
        found = _number(value)
        return "" if least <= found < math.inf else f"must be a number of at least {least:g}"

    return check


def _default_or_more(value: object) -> str:
    """-1 means in Hadoop that the value follows from others."""
    found = _number(value)
    fits = found == -1.0 or 0.0 < found < math.inf
    return "" if fits else "must be a number of more than 0, or -1"


def _boolean(value: object) -> str:
    return "" if str(value).strip().lower() in ("true", "false") else "must be true or false"


# Settings of Hadoop that the equations use (``jobs.py``, ``hardware.py``), except those that
# ``refused.py`` checks.
SETTINGS: Mapping[str, Callable[[object], str]] = {
    "mapreduce.job.maps": _at_least(1.0),
    "mapreduce.job.reduces": _at_least(0.0),
    "mapreduce.map.memory.mb": _default_or_more,
    "mapreduce.map.output.compress": _boolean,
    "mapreduce.reduce.memory.mb": _default_or_more,
    "mapreduce.task.io.sort.factor": _at_least(LEAST_MERGE),
    "mapreduce.terasort.output.replication": _at_least(1.0),
    "yarn.app.mapreduce.am.resource.mb": _default_or_more,
    "yarn.nodemanager.resource.cpu-vcores": _default_or_more,
    "yarn.nodemanager.resource.memory-mb": _default_or_more,
    LEAST_MB: _default_or_more,
    OLD_INCREMENT_MB: _default_or_more,
}


def misunderstood(cluster: Cluster) -> dict[str, str]:
    """Path -> why the model cannot use the value at the path; empty if it can use all."""
    found = {}
    for name, value in cluster.settings.items():
        why = SETTINGS[name](value) if name in SETTINGS else ""
        if why:
            found[f"settings.{name}"] = f"{why}, not {_shown(value)}"
    return found | _rates(cluster)


def _rates(cluster: Cluster) -> dict[str, str]:
    """Measured rates of ports that are higher than the nominal rate."""
    found = {}
    for name, host in cluster.hosts.items():
        for place, port in enumerate(host.nics or ()):
            if port.rate and port.measured_rate and port.measured_rate > port.rate:
                path = f"hosts.{name}.nics.{place}.measured_rate"
                found[path] = (
                    f"must be at most the rate of the port, {float(port.rate) * GBIT_S:g} Gb/s, "
                    f"not {float(port.measured_rate) * GBIT_S:g} Gb/s"
                )
    return found


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()
