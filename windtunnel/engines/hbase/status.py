"""The status that HBase reports: the beans of its master and its RegionServers."""

from __future__ import annotations

from typing import Any

from windtunnel.engines.hbase.site import MASTER, Site
from windtunnel.engines.web import WebPages
from windtunnel.engines.ycsb.store import Cache


class Status(WebPages):
    """Queries the web servers of HBase's daemons."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.hosts[MASTER][0].open_socket)
        self._site = site

    def missing(self) -> list[str]:
        """What is still missing before HBase serves; empty if it is ready.

        The master reports the end of its initialisation, which includes the assignment of meta,
        the number of live RegionServers, and the number of regions in transition.
        """
        masters = [self._bean(MASTER, h, "Master,sub=Server") for h in self._site.hosts[MASTER]]
        active = next((m for m in masters if m.get("tag.isActiveMaster") == "true"), None)
        if active is None:
            return ["an active master"]
        if not active.get("masterFinishedInitializationTime"):
            return ["the master's initialisation"]
        found = []
        wanted = len(self._site.hosts["regionserver"])
        live = int(active.get("numRegionServers", 0))
        if live < wanted:
            found.append(f"{wanted - live} regionservers")
        for host in self._site.hosts[MASTER]:
            moving = self._bean(MASTER, host, "Master,sub=AssignmentManager").get("ritCount", 0)
            if moving:
                found.append(f"{moving} regions in transition")
        return found

    def cache(self) -> Cache | None:
        """The block caches; None if a RegionServer does not answer."""
        hosts = self._site.hosts["regionserver"]
        beans = [self._bean("regionserver", host, "RegionServer,sub=Server") for host in hosts]
        if not all("blockCacheSize" in bean for bean in beans):
            return None
        return Cache(
            capacity=sum(b["blockCacheSize"] + b["blockCacheFreeSize"] for b in beans),
            hits=sum(b["blockCacheHitCount"] for b in beans),
            misses=sum(b["blockCacheMissCount"] for b in beans),
        )

    def stored(self, table: str) -> float | None:
        """Bytes of a table's files, one replica; None if no RegionServer reports them.

        Clients receive the size of each region in MiB only: too coarse for small regions.
        """
        metric = f"Namespace_default_table_{table}_metric_storeFileSize"
        hosts = self._site.hosts["regionserver"]
        beans = [self._bean("regionserver", host, "RegionServer,sub=Tables") for host in hosts]
        sizes = [bean[metric] for bean in beans if metric in bean]
        return float(sum(sizes)) if sizes else None

    def _bean(self, role: str, host: Any, name: str) -> dict[str, Any]:
        return self._bean_at(self._site.web(role, host), "HBase", name)
