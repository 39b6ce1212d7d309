"""The active server of a pair: NameNode, ResourceManager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest.client import RestClient


def active_resourcemanager(client: RestClient, urls: Sequence[str]) -> str:
    """The base URL of the active ResourceManager.

    Raises
    ------
    ClusterAccessError
        None is active; with the reason of each.
    """
    return _active(client, urls, "ResourceManager", _rm_state)


def active_namenode(client: RestClient, urls: Sequence[str]) -> str:
    """The base URL of the active NameNode. Raises ClusterAccessError if none is active."""
    return _active(client, urls, "NameNode", _nn_state)


def bean(client: RestClient, url: str, name: str) -> dict[str, Any]:
    """A bean of a daemon's ``/jmx``, by its name; empty if the daemon has none."""
    beans = client.get_json(f"{url.rstrip('/')}/jmx", {"qry": name}).get("beans")
    return dict(beans[0]) if isinstance(beans, list) and beans else {}


def _rm_state(client: RestClient, url: str) -> str:
    # its servlet of information answers on a standby server too; all others redirect
    info = client.get_json(f"{url.rstrip('/')}/ws/v1/cluster/info").get("clusterInfo")
    if not isinstance(info, dict) or "haState" not in info:
        raise _other(url, "ResourceManager")
    return str(info["haState"])


def _nn_state(client: RestClient, url: str) -> str:
    found = bean(client, url, "Hadoop:service=NameNode,name=NameNodeStatus")
    if "State" not in found:
        raise _other(url, "NameNode")
    return str(found["State"])


def _other(url: str, daemon: str) -> ClusterAccessError:
    return ClusterAccessError(
        f"{url} is not a {daemon}",
        remedy=f"specify the web address of the {daemon}.",
        reason="other daemon",
    )


def _active(
    client: RestClient,
    urls: Sequence[str],
    daemon: str,
    state_of: Callable[[RestClient, str], str],
) -> str:
    """The first URL whose state is active; one that does not answer is passed over."""
    problems: list[ClusterAccessError] = []
    states: list[str] = []
    for url in urls:
        try:
            state = state_of(client, url)
        except ClusterAccessError as error:
            problems.append(error)
            continue
        if state.lower() == "active":
            return url.rstrip("/")
        states.append(f"{url} is in state {state.lower()}")
    if len(urls) == 1 and problems:
        raise problems[0]
    reasons = "; ".join([*states, *(error.message for error in problems)])
    raise ClusterAccessError(
        f"no {daemon} is active: {reasons or 'no address is known'}",
        remedy=problems[0].remedy
        if problems and not states
        else "wait for the failover to end, or specify the address of the other server; "
        "'yarn rmadmin -getAllServiceState' and 'hdfs haadmin -getAllServiceState' print states.",
        reason="standby" if states else problems[0].reason if problems else "no address",
    )
