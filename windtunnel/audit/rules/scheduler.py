"""The scheduler of YARN: how it rounds the memory of a container, and whether it counts cores.

CapacityScheduler and FifoScheduler round up to multiples of the least container. FairScheduler
rounds up to multiples of an increment, above the least container. FairScheduler always counts
cores, FifoScheduler never, and CapacityScheduler with DominantResourceCalculator.
"""

from __future__ import annotations

from windtunnel.audit.configuration import Configuration
from windtunnel.cluster.setting_values import (
    CALCULATOR,
    INCREMENT,
    LEAST_MB,
    OLD_INCREMENT_MB,
    SCHEDULER,
    counts_vcores,
    granted_mib,
    is_fair,
)

_DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
COUNT_CORES = f"{CALCULATOR} = {_DOMINANT}"


def counts_cores(conf: Configuration) -> bool:
    """Whether the cores of a NodeManager limit its containers, in addition to its memory."""
    return counts_vcores(conf.value(SCHEDULER), conf.value(CALCULATOR))


def rounded_mb(conf: Configuration, wanted: float) -> float:
    """What the scheduler gives for a request of memory, MiB."""
    return granted_mib(wanted, conf.value)


def step_name(conf: Configuration, wanted: float) -> str:
    """The property that decides how far a request is rounded up."""
    if not is_fair(conf.value(SCHEDULER)) or wanted < (conf.number(LEAST_MB) or 0.0):
        return LEAST_MB
    return INCREMENT if conf.is_set(INCREMENT) else OLD_INCREMENT_MB
