"""The scheduler of YARN: how it rounds the memory of a container, and whether it counts cores.

CapacityScheduler and FifoScheduler round up to multiples of the least container. FairScheduler
rounds up to multiples of an increment, above the least container. FairScheduler always counts
cores, FifoScheduler never, and CapacityScheduler with DominantResourceCalculator.
"""

from __future__ import annotations

import re

from windtunnel.audit.configuration import Configuration
from windtunnel.cluster.setting_values import CALCULATOR, SCHEDULER, counts_vcores

LEAST_MB = "yarn.scheduler.minimum-allocation-mb"
INCREMENT = "yarn.resource-types.memory-mb.increment-allocation"  # replaced the next one
OLD_INCREMENT_MB = "yarn.scheduler.increment-allocation-mb"
_DEFAULT_MB = 1024.0  # of the least container and of the increment
_DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
COUNT_CORES = f"{CALCULATOR} = {_DOMINANT}"
_UNITS = {"": 1.0, "Mi": 1.0, "Gi": 1024.0, "M": 1e6 / 2**20, "G": 1e9 / 2**20}


def _fair(conf: Configuration) -> bool:
    return conf.value(SCHEDULER).endswith(".FairScheduler")


def counts_cores(conf: Configuration) -> bool:
    """Whether the cores of a NodeManager limit its containers, in addition to its memory."""
    return counts_vcores(conf.value(SCHEDULER), conf.value(CALCULATOR))


def rounded_mb(conf: Configuration, wanted: float) -> float:
    """What the scheduler gives for a request of memory, MiB."""
    least = conf.number(LEAST_MB)
    least = _DEFAULT_MB if least is None else least
    step = _increment_mb(conf) if _fair(conf) else least
    if step <= 0:
        return max(wanted, least)
    return -(-max(wanted, least) // step) * step


def step_name(conf: Configuration, wanted: float) -> str:
    """The property that decides how far a request is rounded up."""
    if not _fair(conf) or wanted < (conf.number(LEAST_MB) or 0.0):
        return LEAST_MB
    return INCREMENT if conf.is_set(INCREMENT) else OLD_INCREMENT_MB


def _increment_mb(conf: Configuration) -> float:
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", conf.value(INCREMENT).strip())
    if found and found[2] in _UNITS:
        return float(found[1]) * _UNITS[found[2]]
    return conf.number(OLD_INCREMENT_MB) or _DEFAULT_MB
