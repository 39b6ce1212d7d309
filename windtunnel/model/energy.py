"""Energy from the power of hosts at idle and at peak, and the use of their processors.

The power of a host grows linearly with the use of its processors (Fan, Weber and Barroso, Power
provisioning for a warehouse-sized computer, ISCA 2007).
"""

from __future__ import annotations

from windtunnel.cluster import Cluster
from windtunnel.cluster.host_counts import compute_classes
from windtunnel.model.hardware import Hardware


def energy_j(cluster: Cluster, elapsed_s: float, cpu_s: float, capacity: Hardware) -> float | None:
    """Energy of all hosts in J; None unless the description has idle and peak power of each.

    Parameters
    ----------
    cpu_s:
        CPU time of all tasks; the hosts that run tasks are used by that much.
    """
    total_w = 0.0
    threads = capacity.hosts * capacity.cores * capacity.threads_per_core
    used = min(1.0, cpu_s / (threads * elapsed_s)) if elapsed_s > 0 else 0.0
    working = {name: count for name, _, count in compute_classes(cluster)}
    for name, host in cluster.hosts.items():
        watts = host.power
        if watts is None or watts.idle is None or watts.peak is None:
            return None
        busy = used * working.get(name, 0)
        total_w += host.count * float(watts.idle) + busy * float(watts.peak - watts.idle)
    return total_w * elapsed_s
