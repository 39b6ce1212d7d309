"""High availability of the NameNode: a standby, JournalNodes, ZooKeeper, failover controllers.

The two NameNodes and the JournalNodes are roles of the description. Each host with a JournalNode
also runs a ZooKeeper server, each host with a NameNode a failover controller
(``DFSZKFailoverController``). The JournalNodes accept the edits of one NameNode only, so no other
fencing is configured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from windtunnel.cluster import Cluster
from windtunnel.hosts.base import Host

Ports = Mapping[tuple[str, str], int]
"""Host and purpose (a key of ``USUAL_PORTS``) -> port."""

HOST_ROLES: Final = ("namenode", "journalnode")
"""Roles that several hosts have."""
NAMESERVICE: Final = "windtunnel"
USUAL_PORTS: Final = {"client": 2181, "peer": 2888, "election": 3888, "controller": 8019}
RPC, WEB = "dfs.namenode.rpc-address", "dfs.namenode.http-address"
JOURNAL: Final = "dfs.journalnode.rpc-address"
ID: Final = "dfs.ha.namenode.id"
CONTROLLER_PORT: Final = "dfs.ha.zkfc.port"
_PROCESS_MB: Final = 160
# of the properties below, those with addresses, which differ between starts
ADDRESS_NAMES: Final = (f"{RPC}.", f"{WEB}.", "dfs.namenode.shared.edits.dir", "ha.zookeeper.")


def problems(cluster: Cluster) -> list[str]:
    """The reasons why a description with ``storage.ha`` cannot be started."""
    roles, found = cluster.role_counts(), []
    if roles["namenode"] != 2:
        found.append(
            f"storage.ha: two hosts must have the role namenode, found: {roles['namenode']}"
        )
    if roles["journalnode"] < 3 or roles["journalnode"] % 2 == 0:
        found.append(
            "storage.ha: three hosts, or a greater odd number, must have the role journalnode, "
            f"found: {roles['journalnode']}"
        )
    if cluster.software.task_start == "warm":
        found.append("software.task_start: warm starts are not tested with storage.ha")
    return found


def memory_bytes(cluster: Cluster) -> int:
    """Memory of the standby, the ZooKeeper servers and the failover controllers."""
    count = 1 + cluster.role_counts()["journalnode"] + cluster.role_counts()["namenode"]
    return count * _PROCESS_MB << 20


def nameservice(
    per_host: Mapping[str, dict[str, str]],
    namenodes: Sequence[Host],
    journals: Sequence[Host],
    ports: Ports,
) -> dict[str, str]:
    """The properties of the nameservice; adds those of single hosts to ``per_host``.

    Parameters
    ----------
    per_host:
        Host -> its properties, with the addresses of its roles.
    """
    ids = {host.name: f"nn{number}" for number, host in enumerate(namenodes, 1)}
    edits = [per_host[host.name][JOURNAL] for host in journals]
    quorum = [f"{host.name}:{ports[host.name, 'client']}" for host in journals]
    found = {
        "fs.defaultFS": f"hdfs://{NAMESERVICE}",
        "dfs.nameservices": NAMESERVICE,
        f"dfs.ha.namenodes.{NAMESERVICE}": ",".join(ids.values()),
        f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
            "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        ),
        "dfs.namenode.shared.edits.dir": f"qjournal://{';'.join(edits)}/{NAMESERVICE}",
        "dfs.ha.automatic-failover.enabled": "true",
        "dfs.ha.fencing.methods": "shell(true)",
        "ha.zookeeper.quorum": ",".join(quorum),
    }
    for host_name, id_ in ids.items():
        own = per_host[host_name]
        for prop in (RPC, WEB):
            found[f"{prop}.{NAMESERVICE}.{id_}"] = own[prop]
        own[ID] = id_
        own[CONTROLLER_PORT] = str(ports[host_name, "controller"])
    return found


def active(states: Mapping[str, str], hosts: Sequence[Host]) -> Host | None:
    """The host of the active NameNode, by the states that they report; None: there is none."""
    return next((host for host in hosts if states.get(host.name) == "active"), None)
