"""Modelled power: a straight line from idle to peak watts against the CPU utilisation.

Fan, Weber & Barroso (2007), Power provisioning for a warehouse-sized computer, ISCA: the line
agrees with measured servers within about 10 %. It excludes disks, fans and turbo, so it is
never mixed with measured power (rule of trust 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.cluster import Cluster

FORMULA = "idle + (peak - idle) x CPU use"


def host_watts(idle: float, peak: float, use: NDArray[np.float64]) -> NDArray[np.float64]:
    """Watts of one host at each ``use`` (utilisation of its CPU, 0 to 1)."""
    return idle + (peak - idle) * np.clip(use, 0.0, 1.0)


def described(cluster: Cluster) -> dict[str, tuple[float, float]]:
    """(idle, peak) watts by host name, for hosts for which the description has both."""
    return {
        host_class.host_name(name, index): (host_class.power.idle, host_class.power.peak)
        for name, host_class in cluster.hosts.items()
        if host_class.power is not None
        and host_class.power.idle is not None
        and host_class.power.peak is not None
        for index in range(host_class.count)
    }


def idle_watts(cluster: Cluster) -> float | None:
    """Idle watts of all hosts together; None if one class does not state them."""
    total = 0.0
    for host_class in cluster.hosts.values():
        if host_class.power is None or host_class.power.idle is None:
            return None
        total += host_class.count * host_class.power.idle
    return total
