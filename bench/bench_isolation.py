"""The cost of isolation: the same cluster with and without it, alternately.

Run: ``python -m bench isolation [TIMES]`` with a warm cache, as root or as an ordinary user.
Without isolation, the daemons use the network of the machine and, for root, run as root.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from windtunnel.cluster import Cluster, load_cluster
from windtunnel.hosts.isolation.policy import Isolation
from windtunnel.probes.sampler import Sampler
from windtunnel.testbeds.local import LocalTestbed
from windtunnel.workloads.base import Execution
from windtunnel.workloads.terasort.terasort import TeraSort, TeraSortParameters

ROWS = 640_000  # 64 MB


class Unisolated(LocalTestbed):
    """The testbed without isolation."""

    def isolation(self, cluster: Cluster) -> Isolation:
        """No isolation, neither of the network nor of the account."""
        return Isolation("the machine's", open_because="a bench", root_because="a bench")


def measure(testbed: LocalTestbed, cluster: Cluster) -> dict[str, float]:
    """Seconds of the start, of each phase of TeraSort and of the stop; the cost of the sampler."""
    workload = TeraSort(
        TeraSortParameters(rows=ROWS, maps=2, reduces=1, input_replication=1, output_replication=1)
    )
    began = time.perf_counter()
    with testbed.deploy(cluster) as deployment:
        found = {"ready, s": time.perf_counter() - began}
        here = Execution("/bench", "/shared", time.monotonic() + 600)
        own = deployment.network_bytes
        with Sampler(deployment.processes, network_bytes=own) as sampler:
            workload.prepare(deployment, here)
            for phase in workload.phases():
                here.runs[phase] = workload.run_phase(phase, deployment, here)
                found[f"{phase}, s"] = here.runs[phase].phase.elapsed_s
        assert workload.verify(deployment, here).valid
        found["sampler, % of a core"] = 100 * sampler.cost
        began = time.perf_counter()
    found["down, s"] = time.perf_counter() - began
    return found


def main() -> None:
    """Measure alternately, and print medians and the ratio of each pair."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cluster = load_cluster("local-3")
    with tempfile.TemporaryDirectory() as logs:
        kinds = [kind(Path(logs), lambda text: None) for kind in (LocalTestbed, Unisolated)]
        kinds[1].permit_open()
        pairs = [[measure(testbed, cluster) for testbed in kinds] for _ in range(times)]
    for name in pairs[0][0]:
        values = [[pair[side][name] for pair in pairs] for side in (0, 1)]
        ratios = [a / b for a, b in zip(*values, strict=True) if b]
        with_, without = (
            f"{statistics.median(v):7.2f} ({min(v):.2f} to {max(v):.2f})" for v in values
        )
        ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"{name:22} with {with_}  without {without}  ratio {ratio}", flush=True)


if __name__ == "__main__":
    main()
