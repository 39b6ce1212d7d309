"""The registry of the sources of samples of the hosts; each has options of the same name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.results.sample import Recording
from windtunnel.testbeds.attached import power_samples, prometheus_samples, ssh_samples
from windtunnel.testbeds.attached.host_samples import HostSamples
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.source_options import PowerOptions, PrometheusOptions, SshOptions
from windtunnel.testbeds.attached.web import host_addresses, rest_client

_QUERY_S = 60.0
"""Limit of a query to Prometheus: those of large clusters take long."""


@dataclass(frozen=True)
class Source:
    """One source: what it requests, and how its samples are opened.

    Parameters
    ----------
    footprint:
        What it requests with these options, in words.
    open:
        The samples, from the options of the testbed, those of the source, and the hosts of the
        cluster (name -> whether it is a worker).
    """

    footprint: Callable[[Any], Sequence[str]]
    open: Callable[[AttachedOptions, Any, Mapping[str, bool]], HostSamples]


def _prometheus(
    options: AttachedOptions, given: PrometheusOptions, hosts: Mapping[str, bool]
) -> HostSamples:
    # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest.prometheus import Prometheus

    password = Path(given.password_file).expanduser() if given.password_file else None
    # the user of the cluster is not that of Prometheus
    client = rest_client(options, timeout_s=_QUERY_S, user=given.user, password_file=password)
    server = Prometheus(client, given.url)
    return prometheus_samples.PrometheusSamples(server, given, hosts, host_addresses(options))


def _ssh(options: AttachedOptions, given: SshOptions, hosts: Mapping[str, bool]) -> HostSamples:
    return ssh_samples.SshSamples(given, hosts, host_addresses(options))


def _power(options: AttachedOptions, given: PowerOptions, hosts: Mapping[str, bool]) -> HostSamples:
    return power_samples.open_power(
        given, hosts, host_addresses(options), lambda **access: rest_client(options, **access)
    )


SOURCES = {
    "prometheus": Source(prometheus_samples.footprint, _prometheus),
    "ssh": Source(ssh_samples.footprint, _ssh),
    "power": Source(power_samples.footprint, _power),
}


def footprint(options: AttachedOptions) -> list[str]:
    """What the sources of a study request, in words."""
    return [
        line for name, given in options.sources.items() for line in SOURCES[name].footprint(given)
    ]


def open_samples(options: AttachedOptions, hosts: Mapping[str, bool]) -> HostSamples | None:
    """The samples of all sources of a study; None without a source."""
    with ExitStack() as stack:
        opened = []
        for name, given in options.sources.items():
            opened.append(SOURCES[name].open(options, given, hosts))
            stack.callback(opened[-1].close)
        return _Joined(opened, stack.pop_all()) if opened else None


class _Joined:
    """The samples of several sources, which have different metrics."""

    def __init__(self, sources: Sequence[HostSamples], closing: ExitStack) -> None:
        self._sources = sources
        self._closing = closing

    def start(self) -> None:
        for source in self._sources:
            source.start()

    def close(self) -> None:
        self._closing.close()

    def caveats(self) -> list[str]:
        return [note for source in self._sources for note in source.caveats()]

    def source(self) -> dict[str, Any]:
        return {name: value for one in self._sources for name, value in one.source().items()}

    def facts(self) -> dict[str, dict[str, Any]]:
        return {host: found for one in self._sources for host, found in one.facts().items()}

    def record(self, since_s: float, until_s: float) -> Recording:
        made = [source.record(since_s, until_s) for source in self._sources]
        return Recording(
            [row for one in made for row in one.samples],
            next((one.power_source for one in made if one.power_source), None),
            [problem for one in made for problem in one.problems],
        )
