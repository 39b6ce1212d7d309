"""The status that Kudu reports: the metrics of its tablet servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.engines.kudu.site import TSERVER, Site
from windtunnel.engines.web import WebPages
from windtunnel.engines.ycsb.store import Cache
from windtunnel.hosts.base import Host

_HITS, _MISSES = "block_cache_hits_caching", "block_cache_misses_caching"
_STARTING = ("tablets_num_not_initialized", "tablets_num_initialized", "tablets_num_bootstrapping")
_MEMORY = "memrowset_size"
_EMPTY_BYTES = 4096  # without rows its size is 265 bytes; the first row adds hundreds of thousands
_DATA = "on_disk_data_size"
_AT_WORK = (
    "flush_mrs_running",
    "flush_dms_running",
    "compact_rs_running",
    "delta_minor_compact_rs_running",
    "delta_major_compact_rs_running",
)


@dataclass(frozen=True)
class TableState:
    """The state of a table on its servers.

    ``in_memory`` is the size of inserted rows that are not flushed yet, all replicas, ``at_work``
    the number of running flushes and compactions, ``stored`` the size of the data files, one
    replica; sizes are in bytes.
    """

    in_memory: float
    at_work: float
    stored: float


class Status(WebPages):
    """Queries the web servers of the tablet servers."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.hosts[TSERVER][0].open_socket)
        self._site = site

    def missing(self) -> list[str]:
        """What is still missing; empty if all tablet servers have opened their tablets."""
        found = []
        for host in self._site.hosts[TSERVER]:
            counts = self._server(host, _STARTING)
            if not counts:
                found.append(f"the tablet server on {host.name}")
            elif starting := sum(counts.values()):
                found.append(f"{starting:.0f} tablets on {host.name}")
        return found

    def cache(self, capacity_each: float) -> Cache | None:
        """The block caches of this capacity each; None if a server does not answer."""
        hosts = self._site.hosts[TSERVER]
        found = [self._server(host, [_HITS, _MISSES]) for host in hosts]
        if not all(_HITS in one and _MISSES in one for one in found):
            return None
        return Cache(
            capacity=capacity_each * len(hosts),
            hits=sum(one[_HITS] for one in found),
            misses=sum(one[_MISSES] for one in found),
        )

    def table_state(self, table: str) -> TableState | None:
        """The state of a table; None if a server does not answer or no server has a part of it."""
        names = [_MEMORY, *_AT_WORK, _DATA]
        memory = work = 0.0
        sizes: dict[str, list[float]] = {}
        for host in self._site.hosts[TSERVER]:
            entities = self._metrics(host, names)
            if entities is None:
                return None
            for entity in entities:
                if entity.get("attributes", {}).get("table_name") != table:
                    continue
                values = _values(entity)
                if not all(name in values for name in names):
                    return None
                memory += values[_MEMORY] if values[_MEMORY] > _EMPTY_BYTES else 0
                work += sum(values[name] for name in _AT_WORK)
                sizes.setdefault(str(entity["id"]), []).append(values[_DATA])
        if not sizes:
            return None
        return TableState(memory, work, sum(sum(one) / len(one) for one in sizes.values()))

    def _server(self, host: Host, names: Sequence[str]) -> dict[str, float]:
        """A tablet server's own metrics by name; empty if it does not answer."""
        for entity in self._metrics(host, names) or []:
            if entity.get("type") == "server":
                return {name: v for name, v in _values(entity).items() if name in names}
        return {}

    def _metrics(self, host: Host, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """The entities with metrics whose names contain one of ``names``; None: no answer."""
        address = self._site.web(host)
        answer = self._get(f"http://{address}/metrics?metrics={','.join(names)}")
        try:
            found = answer.json() if answer is not None else None
        except ValueError:
            return None
        return found if isinstance(found, list) else None


def _values(entity: Mapping[str, Any]) -> dict[str, float]:
    return dict(_pairs(entity))


def _pairs(entity: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for metric in entity.get("metrics", ()):
        if isinstance(metric.get("value"), int | float):
            yield str(metric["name"]), float(metric["value"])
