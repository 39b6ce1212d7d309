"""The hosts of a cluster that a Prometheus server monitors with its node exporter."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from windtunnel.cluster.nic_speed import MBIT_BYTES, known_mbit_s
from windtunnel.errors import ClusterAccessError
from windtunnel.inspection.devices import NOT_DISKS, NOT_NICS, Machine
from windtunnel.inspection.facts import ClusterFacts, HostFacts

if TYPE_CHECKING:  # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest.prometheus import Prometheus, Series

DISKS = f'device!~"{NOT_DISKS}"'
NICS = f'device!~"{NOT_NICS}"'
_RECENT_S = 600
_NAMED = 3  # hosts of a message
_ONE_TARGET = "restrict them with label matchers ('selector'), such as job=\"node\"."
_FACTS = {
    "cpu_threads": 'count by (instance) (node_cpu_seconds_total{mode="idle",SELECTOR})',
    "memory_bytes": "node_memory_MemTotal_bytes{SELECTOR}",
}
_NIC_RATES = f"node_network_speed_bytes{{{NICS},SELECTOR}} > 0"


@dataclass(frozen=True)
class Targets:
    """The targets of Prometheus that are hosts of the cluster.

    ``hosts`` is the host of each instance, ``missing`` the hosts without an instance,
    ``interval_s`` the time between two scrapes, ``ahead_s`` the clock of Prometheus minus that of
    this machine.
    """

    hosts: Mapping[str, str]
    missing: Sequence[str]
    interval_s: float
    ahead_s: float


class MonitoredHosts:
    """The hosts of one cluster, as Prometheus knows them.

    Parameters
    ----------
    names:
        The hosts of the cluster.
    selector:
        Label matchers of the node exporters; empty for all.
    addresses:
        Name of a host -> its address, as far as they are known.
    """

    def __init__(
        self,
        server: Prometheus,
        names: Iterable[str],
        selector: str = "",
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        self.server = server
        self._names = list(dict.fromkeys(names))
        self._selector = selector
        self._addresses = addresses or {}

    @cached_property
    def targets(self) -> Targets:
        """The hosts that Prometheus knows, queried once.

        Raises
        ------
        ClusterAccessError
            If Prometheus does not answer or knows no host of the cluster, or if two of its
            targets are the same host.
        """
        recent = self._raw(time.time(), _RECENT_S)
        reported = {
            series.instance: series.labels.get("nodename", "")
            for series in self.server.instant(self.query("node_uname_info{SELECTOR}"))
        }
        hosts = {
            instance: host
            for instance in dict.fromkeys(series.instance for series in recent)
            if (host := self.host_of(instance, reported.get(instance, ""))) is not None
        }
        scraped = _times(series for series in recent if series.instance in hosts)
        hosts = {instance: host for instance, host in hosts.items() if instance in scraped}
        self._check(hosts, [series.instance for series in recent])
        gaps = [
            after - before for instance in hosts for before, after in pairwise(scraped[instance])
        ]
        missing = [host for host in self._names if host not in hosts.values()]
        return Targets(hosts, missing, median(gaps), self._ahead_s())

    def machines(self) -> dict[str, Machine]:
        """The machine of each host that Prometheus knows. Raises ClusterAccessError."""
        found: dict[str, dict[str, int]] = {host: {} for host in self.targets.hosts.values()}
        for name, text in _FACTS.items():
            for series in self.server.instant(self.query(text)):
                host = self.targets.hosts.get(series.instance)
                if host is not None and series.points:
                    found[host][name] = int(series.points[-1][1])
        nics: dict[str, list[float]] = {}
        for series in self.server.instant(self.query(_NIC_RATES)):
            host = self.targets.hosts.get(series.instance)
            if host is not None and series.points:
                rate = series.points[-1][1]
                if known_mbit_s(rate / MBIT_BYTES):
                    nics.setdefault(host, []).append(rate)
        return {
            host: Machine(**facts, nics_bytes_s=tuple(sorted(nics.get(host, ()), reverse=True)))
            for host, facts in found.items()
        }

    def scrapes(self, until_s: float, before_s: float) -> dict[str, list[float]]:
        """The times of the scrapes of each host by instance, in the seconds before a time.

        Instances with fewer than two scrapes are omitted. Raises ClusterAccessError.
        """
        known = self.targets.hosts
        return _times(one for one in self._raw(until_s, before_s) if one.instance in known)

    def _raw(self, until_s: float, before_s: float) -> list[Series]:
        text = self.query("node_load1{SELECTOR}") + f"[{max(1, round(before_s))}s]"
        return self.server.instant(text, until_s)

    def query(self, text: str, interval_s: float = 0.0) -> str:
        """A query with ``SELECTOR`` replaced, and ``RANGE`` by at least two scrapes."""
        text = text.replace("RANGE", f"{max(1, round(5 * interval_s))}s")
        lead = f",{self._selector}" if self._selector else ""
        return text.replace(",SELECTOR", lead).replace("{SELECTOR", f"{{{self._selector}")

    def _ahead_s(self) -> float:
        began = time.time()
        answer = self.server.instant("vector(time())")
        ended = time.time()
        known = [series.points[-1][1] for series in answer if series.points]
        return known[0] - (began + ended) / 2 if known else 0.0

    def host_of(self, instance: str, reported: str = "") -> str | None:
        """The host of the cluster that an instance is, by its name, address or short name.

        ``reported`` is the name that the host reports. Short names are compared only if one of
        the two names is short: hosts of two domains can have the same one.
        """
        for name in filter(None, (_host_part(instance).casefold(), reported.casefold())):
            same = [h for h in self._names if name in (h.casefold(), self._addresses.get(h))]
            if not same and not _is_address(name):
                same = [h for h in self._names if _same_short(h.casefold(), name)]
            if len(same) == 1:
                return same[0]
        return None

    def _check(self, hosts: Mapping[str, str], instances: Sequence[str]) -> None:
        if not hosts:
            seen = named(list(dict.fromkeys(instances))) or "none"
            wanted = named(self._names)
            raise ClusterAccessError(
                f"Prometheus at {self.server.url} has no node exporter of a host of the cluster "
                f"(its instances: {seen}; hosts of the cluster: {wanted})",
                remedy="correct the label matchers ('selector'); a target is identified by the "
                "name, the short name or the known address of its host.",
                reason="no host",
            )
        twice = [host for host, count in Counter(hosts.values()).items() if count > 1]
        if twice:
            same = ", ".join(one for one, host in hosts.items() if host == twice[0])
            raise ClusterAccessError(
                f"several targets of Prometheus are the host {twice[0]}: {same}",
                remedy=_ONE_TARGET,
                reason="ambiguous",
            )


def read_monitored(server: Prometheus, selector: str, into: ClusterFacts) -> None:
    """Add the machines of the known hosts; if that fails, the reason is listed in ``unread``."""
    source = f"{server.url} (Prometheus, node exporter)"
    try:
        hosts = MonitoredHosts(server, into.hosts, selector)
        machines = hosts.machines()
    except ClusterAccessError as error:
        into.unread.append(f"{error.message}; {error.remedy}")
        return
    into.read.append(f"{server.url}/api/v1/query")
    if hosts.targets.missing:
        into.notes.append(f"Prometheus does not know {named(hosts.targets.missing)}")
    for name, machine in machines.items():
        add_machine(into.host(name), machine, source)


def add_machine(host: HostFacts, machine: Machine, source: str) -> None:
    """Add what a host reports of itself to its facts."""
    host.add("cores", machine.cpu_threads, source)
    host.add("memory_bytes", machine.memory_bytes, source)
    host.nics_bytes_s, host.nics_source = machine.nics_bytes_s, source


def counted(hosts: Sequence[str]) -> str:
    """``2 hosts: a, b``."""
    return f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}: {named(hosts)}"


def named(hosts: Sequence[str]) -> str:
    """The first of several hosts, for messages."""
    return ", ".join(hosts[:_NAMED]) + (", ..." if hosts[_NAMED:] else "")


def _host_part(instance: str) -> str:
    """The host of ``HOST:PORT``, without the brackets of an IPv6 address."""
    with_port = ":" in instance and not _is_address(instance)
    return (instance.rpartition(":")[0] if with_port else instance).strip("[]")


def _same_short(host: str, name: str) -> bool:
    return ("." not in host or "." not in name) and host.partition(".")[0] == name.partition(".")[0]


def _times(found: Iterable[Series]) -> dict[str, list[float]]:
    """The times of all points by instance; those with fewer than two are omitted.

    A target whose labels have changed has several series, one after the other.
    """
    parts: dict[str, list[list[float]]] = {}
    for series in found:
        if series.points:
            parts.setdefault(series.instance, []).append([t for t, _ in series.points])
    for instance, several in parts.items():
        several.sort()
        if any(after[0] <= before[-1] for before, after in pairwise(several)):
            raise ClusterAccessError(
                f"Prometheus has {len(several)} targets with the instance {instance}",
                remedy=_ONE_TARGET,
                reason="ambiguous",
            )
    times = {instance: [t for one in several for t in one] for instance, several in parts.items()}
    return {instance: all_of for instance, all_of in times.items() if len(all_of) > 1}


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
