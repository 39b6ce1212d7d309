"""Hadoop's topology script, which reports the rack of each host to the NameNode.

With ``storage.topology: host``, each physical host is a rack, so that the virtual machines of one
host never store all replicas of a block (as in VMware's study of 2011).
"""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.cluster import Cluster

DEFAULT_RACK = "/default-rack"  # NetworkTopology.DEFAULT_RACK of Hadoop

_SCRIPT = """\
#!/bin/sh
for name in "$@"; do
  case "$name" in
{cases}
    *) echo {default} ;;
  esac
done
"""


def racks(cluster: Cluster) -> dict[str, str]:
    """The rack of each node by its name; empty for a flat topology.

    The default topology is by physical host if there are virtual machines, otherwise by rack if
    there are racks.
    """
    virtual = any(host.vms for host in cluster.hosts.values())
    racked = cluster.network is not None and bool(
        cluster.network.racks or cluster.network.spread_over
    )
    kind = cluster.storage.topology or ("host" if virtual else "rack" if racked else "flat")
    if kind == "flat":
        return {}
    if kind == "host":
        return {node.name: f"/{node.host}" for node in cluster.nodes()}
    known = {node.name: cluster.rack_of(node.class_name, node.index) for node in cluster.nodes()}
    return {name: f"/{rack}" for name, rack in known.items() if rack is not None}


def script(rack_of: Mapping[str, str], addresses: Mapping[str, str]) -> str:
    """The script, which prints the rack of each host name or address among its arguments."""
    cases = "\n".join(
        f"    {name}|{addresses[name]}) echo {rack} ;;" for name, rack in rack_of.items()
    )
    return _SCRIPT.format(cases=cases, default=DEFAULT_RACK)
