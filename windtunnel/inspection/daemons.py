"""The settings in force of every daemon of a cluster: ``/conf`` of its web server, read only.

Source: ``ConfServlet`` of Hadoop: each property with its value, variables replaced, and the
resource from which it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.daemon import Daemon
from windtunnel.hosts.rest import RestClient
from windtunnel.inspection.endpoints import Endpoints
from windtunnel.inspection.facts import ClusterFacts

_PARALLEL = 8
REDACTED = "<redacted>"  # what daemons print instead of passwords


def planned(where: Endpoints) -> list[str]:
    """The requests to the masters in words; those to workers follow from the answers."""
    pages = (
        (where.namenodes, "/jmx", "/conf"),
        (where.resourcemanagers, "/ws/v1/cluster/...", "/jmx", "/conf"),
        (where.history, "/ws/v1/history/info", "/jmx", "/conf"),
    )
    found = [f"GET {url}{page}" for urls, *paths in pages for url in urls for page in paths]
    return [*found, "GET /jmx and /conf of each DataNode and NodeManager that these list"]


def read_daemons(client: RestClient, where: Endpoints, facts: ClusterFacts) -> list[Daemon]:
    """The settings in force of all daemons that ``facts`` and the addresses name.

    A daemon that does not answer has no values, and the reason in ``unread``.
    """
    with ThreadPoolExecutor(_PARALLEL) as pool:
        return list(pool.map(lambda one: _read(client, facts, *one), _addresses(where, facts)))


def _addresses(where: Endpoints, facts: ClusterFacts) -> Iterator[tuple[str, str, str]]:
    """Role, host and URL of each daemon; the URL is empty if nothing states it."""
    masters = (
        ("namenode", where.namenodes),
        ("resourcemanager", where.resourcemanagers),
        ("historyserver", where.history),
    )
    for role, urls in masters:
        for url in urls:
            yield role, str(urlsplit(url).hostname), url
    for role in ("datanode", "nodemanager"):
        for host in facts.with_role(role):
            yield role, host.name, str(host.value(f"{role}_url") or "")


def _read(client: RestClient, facts: ClusterFacts, role: str, host: str, url: str) -> Daemon:
    known = facts.hosts.get(host)
    version = str((known and known.value(f"{role}_version")) or "")
    if not url:
        return Daemon(role, host, url, version, unread="its web address is not known")
    try:
        found = client.get_json(f"{url}/conf", {"format": "json"}).get("properties")
    except ClusterAccessError as error:
        return Daemon(role, host, url, version, unread=error.message)
    if not isinstance(found, list):
        return Daemon(role, host, url, version, unread=f"{url}/conf lists no properties")
    facts.read.append(f"{url}/conf")
    values = {
        str(one["key"]): (str(one["value"]), str(one.get("resource") or ""))
        for one in found
        if isinstance(one, dict) and "key" in one and one.get("value") not in (None, REDACTED)
    }
    return Daemon(role, host, url, version, values)
