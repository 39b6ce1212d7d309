"""The status that Trino reports: which servers have started, which workers are active."""

from __future__ import annotations

from windtunnel.engines.trino import query
from windtunnel.engines.trino.site import WORKER, Site
from windtunnel.engines.web import WebPages, url_opener

_ACTIVE = "SELECT node_id FROM system.runtime.nodes WHERE NOT coordinator AND state = 'active'"


class Status(WebPages):
    """Queries the web interfaces of all servers."""

    def __init__(self, site: Site) -> None:
        open_socket = site.hosts[WORKER][0].open_socket
        super().__init__(open_socket)
        self._opener = url_opener(open_socket)
        self._site = site

    def missing(self) -> list[str]:
        """What is still missing; empty if Trino serves with all workers."""
        found = [
            f"the {role} on {host.name}"
            for role, hosts in self._site.hosts.items()
            for host in hosts
            if self._object(f"{self._site.url(role, host)}/v1/info").get("starting") is not False
        ]
        return found or self._absent()

    def _absent(self) -> list[str]:
        """Workers that the coordinator does not report as active."""
        try:
            rows, _ = query.run(self._site.coordinator, _ACTIVE, opener=self._opener)
        except query.RefusedError:
            return ["the coordinator"]
        absent = len(self._site.hosts[WORKER]) - len(rows)
        return [f"{absent} workers"] if absent > 0 else []
