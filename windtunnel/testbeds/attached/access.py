"""The connections to an existing cluster, built from the options of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hadoop import releases
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.java import Java
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.base import Host
from windtunnel.testbeds.attached.client import Client
from windtunnel.testbeds.attached.edge import Edge
from windtunnel.testbeds.attached.host_samples import HostSamples
from windtunnel.testbeds.attached.host_sources import open_samples
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.own_client import settings_for
from windtunnel.testbeds.attached.own_folder import OwnFolder
from windtunnel.testbeds.attached.site import Site, read_site
from windtunnel.testbeds.attached.status import Identity, Status
from windtunnel.testbeds.attached.tickets import Tickets, tickets_of
from windtunnel.testbeds.attached.web import Web, host_addresses

if TYPE_CHECKING:
    from windtunnel.hosts.rest import RestClient

_FAILOVER_S = 60.0
"""How long a request to HDFS is repeated while no NameNode of a pair is active."""


class ActiveNameNode:
    """The web address of the active NameNode, which changes with a failover.

    While none is active, it is the last one that was: requests to it fail and are repeated.
    """

    def __init__(self, client: RestClient, urls: Sequence[str], first: str) -> None:
        self._client = client
        self._urls = urls
        self._last = first

    def __call__(self) -> str:
        """The address; a single NameNode is not queried."""
        if len(self._urls) > 1:
            # httpx is slow to import, and 'plan' needs none
            from windtunnel.hosts.rest.active import active_namenode

            with suppress(ClusterAccessError):
                others = [url for url in self._urls if url != self._last]
                self._last = active_namenode(self._client, [self._last, *others])
        return self._last


@dataclass
class ClusterAccess:
    """Configuration, requests, and clients of one cluster."""

    options: AttachedOptions
    site: Site
    web: Web
    status: Status
    tickets: Tickets | None
    clients: Client | None

    @property
    def client(self) -> Client:
        """The clients; only if the access was opened with their software."""
        assert self.clients is not None, "opened for requests only"
        return self.clients

    def webhdfs(self, namenode: str, host: Host) -> WebHdfs:
        """The file system of the cluster; ``namenode`` is the NameNode that is active now."""
        urls = self.site.namenodes
        active = ActiveNameNode(self.web.client, urls, namenode)
        failover_s = _FAILOVER_S if len(urls) > 1 else 0.0
        return WebHdfs(active, {}, host, failover_s, http=self.web.http)

    def own_folder(self, namenode: str, host: Host, id_: str) -> OwnFolder:
        """The folder of a run, which may not exist yet."""
        return OwnFolder(self.webhdfs(namenode, host), self.options.parent, id_)

    def host_samples(self) -> HostSamples | None:
        """The samples of the cluster's hosts; None without a source of them.

        Raises ClusterAccessError if the cluster does not list its hosts.
        """
        if not self.options.sources:
            return None
        return open_samples(self.options, self.status.hosts())

    def renew(self) -> str:
        """Renew the tickets, if a keytab is given; see ``Tickets.renew``."""
        return "" if self.tickets is None else self.tickets.renew()

    def close(self) -> None:
        """Close the connections."""
        self.web.close()


def open_access(
    options: AttachedOptions,
    folder: Path,
    software: tuple[Software, ArtifactSet, Java] | None,
    run: str = "",
) -> ClusterAccess:
    """Access to the cluster of the options; ``folder`` is private, for tickets.

    Without ``software``, the access can only send requests. ``run`` is the id of the run.

    Raises
    ------
    DescriptionError
        If the configuration cannot be used.
    """
    site = read_site(options.conf_folder)
    tickets = tickets_of(options, folder)
    if tickets is not None:
        tickets.renew()
    cache = None if tickets is None else tickets.file
    web = Web(options, secure=site.secure, tickets=None if cache is None else f"FILE:{cache}")
    clients = None
    if software is not None:
        own = settings_for(site) if options.own_jars else {}
        node = edge_of(options, run)
        clients = Client(options, software[0], tickets=cache, own=own, edge=node)
    return ClusterAccess(options, site, web, Status(site, web), tickets, clients)


def edge_of(options: AttachedOptions, run: str) -> Edge | None:
    """The edge node of a run; None if its clients run on this machine."""
    return None if options.edge is None else Edge(options.edge, host_addresses(options), run)


def access_from(facts: Mapping[str, Any], folder: Path, run: str) -> ClusterAccess:
    """The access that a run registered (``facts``), for the removal of what the run left.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the facts are damaged or those of another version of Windtunnel.
    DescriptionError
        If the configuration cannot be used.
    """
    if "cluster_id" not in facts:
        raise KeyError("cluster_id")
    options = AttachedOptions.model_validate(facts["options"])
    return open_access(options, folder, releases.load(facts["hadoop"]), run)


def identify(access: ClusterAccess) -> Identity:
    """The identity of a cluster; raises ClusterAccessError with the remedy."""
    try:
        return access.status.identity()
    except ClusterAccessError as error:
        raise ClusterAccessError(
            f"the cluster of {access.site.folder}: {error.message}",
            remedy=error.remedy,
            reason=error.reason,
        ) from error
