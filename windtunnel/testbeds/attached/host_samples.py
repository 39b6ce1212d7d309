"""Samples of the hosts of an existing cluster: what each source of them provides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from windtunnel.inspection.devices import Machine
from windtunnel.results.sample import Recording

HALF_S = 0.5
"""Samples of probes are means over one second. A mean over an interval gets a time half a second
after its middle, so that it counts for the same phase."""
_FEWEST_POWER_SAMPLES = 10


class HostSamples(Protocol):
    """A source of samples of the hosts of one cluster. The metrics are those of the probes."""

    def start(self) -> None:
        """Begin to sample, if the source does not sample by itself."""

    def caveats(self) -> list[str]:
        """What the samples do not cover, in words; raises ClusterAccessError."""

    def source(self) -> dict[str, Any]:
        """The source and the interval of the samples, for the provenance.

        Raises ClusterAccessError.
        """

    def facts(self) -> dict[str, dict[str, Any]]:
        """The facts of :func:`facts_of` for each host that answers; raises ClusterAccessError."""

    def record(self, since_s: float, until_s: float) -> Recording:
        """The samples between two times (epoch seconds). What is missing is listed as problems."""

    def close(self) -> None:
        """Stop to sample and close all connections."""


def facts_of(
    machines: Mapping[str, Machine], workers: Mapping[str, bool]
) -> dict[str, dict[str, Any]]:
    """Threads, memory and rate of the NICs of each host, and whether it is a worker."""
    return {
        host: {
            "worker": workers[host],
            "cpu_threads": machine.cpu_threads,
            # without the few MiB by which a kernel differs from another
            "memory_bytes": machine.memory_bytes and machine.memory_bytes >> 28 << 28,
            "network_bytes_s": sum(machine.nics_bytes_s) or None,
        }
        for host, machine in machines.items()
    }


def interval_caveat(source: str, interval_s: float) -> str:
    """A remark on phases that are short relative to the interval of the samples."""
    return (
        f"hosts: {source} has a sample every {interval_s:.3g} s; a phase of less than "
        f"{3 * interval_s:.3g} s has fewer than three"
    )


def power_problem(since_s: float, until_s: float, interval_s: float) -> str:
    """The reason why the power between two times is not recorded; empty if it is.

    A meter has means over an interval of its own, so that few readings say little.
    """
    if until_s - since_s >= _FEWEST_POWER_SAMPLES * interval_s:
        return ""
    least = f"{_FEWEST_POWER_SAMPLES} intervals of the meters ({interval_s:.0f} s each)"
    return f"power is not recorded: the trial is shorter than {least}"
