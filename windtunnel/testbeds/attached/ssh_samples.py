"""Samples of the hosts of an existing cluster, from their files in /proc by SSH.

On each host, one small program of ``sh`` waits for requests and prints counters. This machine sends
the requests, so that the times of the samples are those of its clock. The program ends with its
connection, and nothing is installed.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.cluster.quantity import format_duration
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.ssh import SshAccess, SshHosts
from windtunnel.inspection.devices import Machine
from windtunnel.inspection.monitored import counted
from windtunnel.inspection.over_ssh import in_sh, machines
from windtunnel.results.sample import Recording, Sample
from windtunnel.testbeds.attached.clocks import last_wait
from windtunnel.testbeds.attached.host_samples import facts_of, interval_caveat
from windtunnel.testbeds.attached.proc_counters import (
    END,
    SAMPLER,
    Counters,
    parse_counters,
    samples,
)
from windtunnel.testbeds.attached.source_options import SshOptions

if TYPE_CHECKING:  # asyncssh is slow to import, and 'plan' needs none
    from asyncssh import SSHClientProcess

_AGAIN_S = 30.0  # until a lost host is connected again
_ANSWER_S = 10.0
_START_S = 60.0
_MOST_READINGS = 50_000  # of a host: about three days with the default interval
_STEP_S = 0.05


def footprint(options: SshOptions) -> list[str]:
    """The logins of :class:`SshSamples`, for lists."""
    return [
        "SSH: one connection to each host for the time of the study; 'sh' reads /proc/uptime, "
        "loadavg, stat, meminfo, net/dev and diskstats every "
        f"{format_duration(options.interval)}; once, the number of CPUs and the rates of the NICs"
    ]


class SshSamples:
    """The samples of the hosts of one cluster; see :class:`~.host_samples.HostSamples`.

    Parameters
    ----------
    workers:
        Name of each host of the cluster -> whether it is a worker.
    addresses:
        Name of a host -> its address, as far as they are known.
    """

    def __init__(
        self, options: SshOptions, workers: Mapping[str, bool], addresses: Mapping[str, str]
    ) -> None:
        self._interval_s = options.interval
        self._workers = workers
        self._hosts = SshHosts(access_of(options), addresses)
        self._machines: dict[str, Machine | ClusterAccessError] = {}
        self._readings: dict[str, deque[Counters]] = {
            host: deque(maxlen=_MOST_READINGS) for host in workers
        }
        self._lost: dict[str, str] = {}  # host -> the reason, while it is not sampled

    def start(self) -> None:
        """Begin to sample all hosts, and wait for the first reading of each.

        A host that does not answer is tried again every 30 s.
        """
        for host in self._workers:
            self._hosts.start(self._follow(host))
        until_s = time.monotonic() + _START_S
        while time.monotonic() < until_s and any(
            not readings and host not in self._lost for host, readings in self._readings.items()
        ):
            time.sleep(_STEP_S)

    def close(self) -> None:
        """End the programs on the hosts and close the connections."""
        self._hosts.close()

    def caveats(self) -> list[str]:
        """What the samples do not cover, in words.

        Raises
        ------
        ClusterAccessError
            If no host can be sampled.
        """
        self.facts()
        notes = [interval_caveat("the sampler", self._interval_s)]
        failed = {
            host: found
            for host, found in self._machines.items()
            if isinstance(found, ClusterAccessError)
        }
        if failed:
            first = next(iter(failed.values()))
            notes.append(f"hosts: no SSH login to {counted(list(failed))} ({first.message})")
        return notes

    def source(self) -> dict[str, Any]:
        """The source of the samples and their interval, for the provenance."""
        return {"source": "SSH, /proc", "interval_s": round(self._interval_s, 1)}

    def facts(self) -> dict[str, dict[str, Any]]:
        """Threads, memory and rate of the NICs of each host that answers.

        Raises ClusterAccessError if no host answers.
        """
        if not self._machines:
            self._machines = machines(self._hosts, list(self._workers))
        known = {host: one for host, one in self._machines.items() if isinstance(one, Machine)}
        failed = [one for one in self._machines.values() if isinstance(one, ClusterAccessError)]
        if failed and not known:
            raise failed[0]
        return facts_of(known, self._workers)

    def record(self, since_s: float, until_s: float) -> Recording:
        """The samples between two times, with one reading before and one after them.

        It waits for the reading after the end, for at most two intervals. Earlier readings are
        dropped.
        """
        limit_s = last_wait(until_s, self._interval_s)
        while time.monotonic() <= limit_s and any(
            host not in self._lost and not (readings and readings[-1].time_s >= until_s)
            for host, readings in self._readings.items()
        ):
            time.sleep(_STEP_S)
        rows: list[Sample] = []
        without: list[str] = []
        for host, readings in self._readings.items():
            found = _between(list(readings), since_s, until_s)
            rows += (row for a, b in pairwise(found) for row in samples(host, a, b))
            if len(found) < 2 or found[0].time_s > since_s or found[-1].time_s < until_s:
                without.append(host)
            while readings and readings[0].time_s < since_s:
                readings.popleft()
        problems = []
        if without:
            reasons = dict.fromkeys(self._lost[host] for host in without if host in self._lost)
            why = f" ({', '.join(reasons)})" if reasons else ""
            problems.append(f"samples are missing of {counted(without)}{why}")
        return Recording(rows, None, problems)

    async def _follow(self, host: str) -> None:
        """Sample a host until the task is cancelled."""
        import asyncssh

        while True:
            try:
                connection = await self._hosts.connection(host)
                async with connection.create_process(in_sh(SAMPLER)) as process:
                    await self._read(host, process)
            except ClusterAccessError as error:
                self._lost[host] = error.reason
            except ValueError:
                self._lost[host] = "no counters in /proc"
            except (asyncssh.Error, OSError, TimeoutError, EOFError):
                self._lost[host] = "connection lost"
                self._hosts.drop(host)
            await asyncio.sleep(_AGAIN_S)

    async def _read(self, host: str, process: SSHClientProcess[str]) -> None:
        """Read the counters at multiples of the interval, at the same time on all hosts."""
        while True:
            began_s = time.time()
            process.stdin.write("\n")
            answer = process.stdout.readuntil(f"\n{END}\n")
            text = await asyncio.wait_for(answer, _ANSWER_S)
            middle_s = (began_s + time.time()) / 2
            self._readings[host].append(parse_counters(text, middle_s))
            self._lost.pop(host, None)
            await asyncio.sleep(self._interval_s - time.time() % self._interval_s)


def access_of(options: SshOptions) -> SshAccess:
    """How the hosts are logged in to."""
    paths = {name: file and Path(file).expanduser() for name, file in options.files().items()}
    return SshAccess(
        user=options.user,
        port=options.port,
        key=paths["key"] or None,
        config=paths["config"] or None,
        known_hosts=paths["known_hosts"] or None,
        jump=options.jump,
    )


def _between(readings: list[Counters], since_s: float, until_s: float) -> list[Counters]:
    """The readings between two times, with the last one before and the first one after them."""
    times = [one.time_s for one in readings]
    first = max(0, bisect_left(times, since_s) - 1)
    return readings[first : bisect_left(times, until_s) + 1]
