"""Samples of the hosts of an existing cluster, from a Prometheus server and its node exporters."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.errors import ClusterAccessError
from windtunnel.inspection.monitored import DISKS, NICS, MonitoredHosts, Targets, counted
from windtunnel.probes.readings import (
    CPU,
    CPU_STATES,
    DAEMON_CPU,
    DAEMON_RSS,
    DISK_BUSY,
    DISK_READ,
    DISK_WRITE,
    LOAD,
    MEMORY_USED,
    NET_RECEIVED,
    NET_SENT,
    PAGE_CACHE,
    POWER,
)
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Recording, Sample
from windtunnel.testbeds.attached.clocks import last_wait
from windtunnel.testbeds.attached.host_samples import (
    HALF_S,
    facts_of,
    interval_caveat,
    power_problem,
)
from windtunnel.testbeds.attached.source_options import PrometheusOptions

if TYPE_CHECKING:  # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest.prometheus import Prometheus

_CLOCKS_DIFFER_S = 2.0
_ROUNDING_S = 0.0005  # times are in milliseconds
_NO_METER = "power: no series of the query is a host of the cluster"


@dataclass(frozen=True)
class _Query:
    """A metric and the PromQL that gives it; ``choice`` is the label that completes its name."""

    metric: MetricInfo
    text: str
    rate: bool
    choice: str = ""
    name: str = ""


def _counter(metric: MetricInfo, counter: str, devices: str) -> _Query:
    text = f"sum by (instance) (irate({counter}{{{devices},SELECTOR}}[RANGE]))"
    return _Query(metric, text, rate=True)


_QUERIES = (
    _Query(
        CPU,
        "avg by (instance, mode) (irate(node_cpu_seconds_total{SELECTOR}[RANGE]))",
        rate=True,
        choice="mode",
        name="state",
    ),
    _Query(LOAD, "node_load1{SELECTOR}", rate=False),
    _Query(
        MEMORY_USED,
        "node_memory_MemTotal_bytes{SELECTOR} - node_memory_MemAvailable_bytes{SELECTOR}",
        rate=False,
    ),
    _Query(PAGE_CACHE, "node_memory_Cached_bytes{SELECTOR}", rate=False),
    _counter(DISK_READ, "node_disk_read_bytes_total", DISKS),
    _counter(DISK_WRITE, "node_disk_written_bytes_total", DISKS),
    _Query(
        DISK_BUSY,
        f"irate(node_disk_io_time_seconds_total{{{DISKS},SELECTOR}}[RANGE])",
        rate=True,
        choice="device",
        name="disk",
    ),
    _counter(NET_RECEIVED, "node_network_receive_bytes_total", NICS),
    _counter(NET_SENT, "node_network_transmit_bytes_total", NICS),
)


# Metrics that the JMX exporter has in addition to those of JMX, as all clients of Prometheus.
_DAEMON_QUERIES = (
    (DAEMON_CPU, "irate(process_cpu_seconds_total{MATCHERS}[RANGEs])"),
    (DAEMON_RSS, "process_resident_memory_bytes{MATCHERS}"),
)


def footprint(options: PrometheusOptions) -> list[str]:
    """The requests of :class:`PrometheusSamples`, for lists."""
    daemons = "; CPU and memory of daemons" if options.daemons else ""
    return [
        "Prometheus /api/v1/query, /api/v1/query_range (metrics of the node exporter: CPU, load, "
        f"memory, disks, network{daemons}), before the start and after each trial"
    ]


class PrometheusSamples:
    """The samples of the hosts of one cluster; see :class:`~.host_samples.HostSamples`.

    Parameters
    ----------
    workers:
        Name of each host of the cluster -> whether it is a worker.
    addresses:
        Name of a host -> its address, as far as they are known.
    """

    def __init__(
        self,
        server: Prometheus,
        options: PrometheusOptions,
        workers: Mapping[str, bool],
        addresses: Mapping[str, str],
    ) -> None:
        self._hosts = MonitoredHosts(server, workers, options.selector, addresses)
        self._options = options
        self._workers = workers

    def start(self) -> None:
        """Do nothing: Prometheus samples by itself."""

    def close(self) -> None:
        """Close the connections."""
        self._hosts.server.close()

    def caveats(self) -> list[str]:
        """What the samples do not cover, in words.

        Raises
        ------
        ClusterAccessError
            If Prometheus does not answer or knows no host of the cluster, if two of its targets
            are the same host, or if the query for the power has no result for a host.
        """
        found = self._hosts.targets
        notes = [interval_caveat("Prometheus", found.interval_s)]
        if found.missing:
            notes.append(f"hosts: Prometheus has no samples of {counted(found.missing)}")
        if self._options.power is not None:
            meters = self._hosts.server.instant(self._options.power)
            if not any(self._hosts.host_of(one.instance) for one in meters):
                raise ClusterAccessError(
                    f"Prometheus, query {self._options.power}: {_NO_METER}",
                    remedy="correct 'power' of 'prometheus': the label 'instance' of each series "
                    "must be a host of the cluster (see label_replace of PromQL).",
                    reason="no meter",
                )
        for role, matchers in self._options.daemons.items():
            series = self._hosts.server.instant(f"process_cpu_seconds_total{{{matchers}}}")
            if not any(self._hosts.host_of(one.instance) for one in series):
                notes.append(f"daemons: Prometheus has no {role} of the cluster with {matchers}")
        if abs(found.ahead_s) > _CLOCKS_DIFFER_S:
            way = "ahead of" if found.ahead_s > 0 else "behind"
            notes.append(
                f"hosts: the clock of Prometheus is {abs(found.ahead_s):.0f} s {way} that of this "
                "machine, so samples can be counted in the wrong phase"
            )
        return notes

    def source(self) -> dict[str, Any]:
        """The source of the samples and their interval, for the provenance.

        Raises ClusterAccessError.
        """
        interval_s = self._hosts.targets.interval_s
        return {"source": "Prometheus, node exporter", "interval_s": round(interval_s, 1)}

    def facts(self) -> dict[str, dict[str, Any]]:
        """Threads, memory and rate of the NICs of each host, and whether it is a worker.

        Raises ClusterAccessError.
        """
        return facts_of(self._hosts.machines(), self._workers)

    def record(self, since_s: float, until_s: float) -> Recording:
        """The samples between two times (epoch seconds), up to the last scrape after them.

        It waits for that scrape, for at most two intervals. A query that fails is a problem of
        the recording, which has the samples of the others.
        """
        rows: list[Sample] = []
        problems: list[str] = []
        power_source = None
        try:
            targets = self._hosts.targets
            scraped = self._complete(targets, since_s, until_s)
            if absent := sorted(targets.hosts[one] for one in targets.hosts if one not in scraped):
                problems.append(f"no samples of {counted(absent)}")
            for query in _QUERIES:
                rows += self._samples(query, targets, scraped, since_s, until_s)
            for role, matchers in self._options.daemons.items():
                rows += self._daemons(role, matchers, targets, since_s, until_s)
            power, power_source, problem = self._power(targets, since_s, until_s)
            rows += power
            problems += [problem] if problem else []
        except ClusterAccessError as error:
            # without its message: it has the address of the server, and flags are published
            problems.append(f"Prometheus did not answer all queries ({error.reason})")
        return Recording(rows, power_source, problems)

    def _complete(self, targets: Targets, since_s: float, until_s: float) -> dict[str, list[float]]:
        """The times of the scrapes by instance, from one before the start to one after the end."""
        limit_s = last_wait(until_s, targets.interval_s)
        while time.monotonic() <= limit_s:
            last = self._hosts.scrapes(time.time(), 4 * targets.interval_s)
            if all(one in last and last[one][-1] >= until_s for one in targets.hosts):
                break
            time.sleep(min(1.0, targets.interval_s / 4))
        now = time.time()
        return self._hosts.scrapes(now, now - since_s + 2 * targets.interval_s)

    def _samples(
        self,
        query: _Query,
        targets: Targets,
        scraped: Mapping[str, Sequence[float]],
        since_s: float,
        until_s: float,
    ) -> Iterator[Sample]:
        """Half a scrape interval is the step, so that no scrape is missed; each is used once."""
        text = self._hosts.query(query.text, targets.interval_s)
        last_s = max((times[-1] for times in scraped.values()), default=until_s)
        step_s = targets.interval_s / 2
        for series in self._hosts.server.over(text, since_s, last_s + step_s, step_s):
            host, times = targets.hosts.get(series.instance), scraped.get(series.instance, ())
            choice = series.labels.get(query.choice, "")
            if host is None or (query.name == "state" and choice not in CPU_STATES):
                continue
            texts = {query.name: choice} if query.name else {}
            used = 0
            for at, value in series.points:
                last = bisect_right(times, at + _ROUNDING_S) - 1
                if last <= used:
                    continue
                used = last
                middle = (times[last - 1] + times[last]) / 2 if query.rate else times[last]
                known = min(1.0, value) if query.metric.unit == "ratio" else value
                yield Sample(middle + HALF_S, host, *query.metric.reading(known, **texts))

    def _daemons(
        self, role: str, matchers: str, targets: Targets, since_s: float, until_s: float
    ) -> Iterator[Sample]:
        """CPU and memory of the daemons of a role, whose scrapes have times of their own.

        The last scrape before a time is half an interval older on average.
        """
        step_s = targets.interval_s
        for metric, text in _DAEMON_QUERIES:
            query = text.replace("MATCHERS", matchers)
            query = query.replace("RANGE", str(max(1, round(5 * step_s))))
            found: dict[tuple[str, float], float] = {}
            for series in self._hosts.server.over(query, since_s, until_s + step_s, step_s):
                host = self._hosts.host_of(series.instance)
                for t, value in series.points if host is not None else ():
                    found[str(host), t] = found.get((str(host), t), 0.0) + value
            for (host, t), value in found.items():
                reading = metric.reading(value, daemon=f"{role}@{host}")
                yield Sample(t - step_s / 2, host, *reading)

    def _power(
        self, targets: Targets, since_s: float, until_s: float
    ) -> tuple[list[Sample], str | None, str]:
        """Samples of the meters, their source, and what is missing."""
        query = self._options.power
        if query is None:
            return [], None, ""
        step_s = self._options.power_interval or targets.interval_s
        if problem := power_problem(since_s, until_s, step_s):
            return [], None, problem
        watts: dict[tuple[str, float], float] = {}
        for series in self._hosts.server.over(query, since_s - step_s, until_s + step_s, step_s):
            host = self._hosts.host_of(series.instance)
            if host is None:
                continue
            for t, value in series.points:
                watts[host, t] = watts.get((host, t), 0.0) + value  # of all its meters
        hosts = {host for host, _ in watts}
        if not hosts:
            return [], None, _NO_METER
        rows = [Sample(t, host, *POWER.reading(value)) for (host, t), value in watts.items()]
        without = sorted(set(self._workers) - hosts)
        missing = f"power: no meter of {counted(without)}"
        source = f"metered: Prometheus, {query}, {len(hosts)} hosts"
        return rows, source, missing if without else ""
