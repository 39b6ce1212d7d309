"""The end of a run on an existing cluster: its applications are ended, its folder is removed."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from windtunnel.errors import DeploymentError, WindtunnelError
from windtunnel.hosts.base import Host
from windtunnel.hosts.leftovers import Registration
from windtunnel.testbeds.attached.access import ClusterAccess, access_from

_END_LIMIT_S = 60.0
_STEP_S = 0.5


def end_and_remove(access: ClusterAccess, entry: Registration) -> list[str]:
    """End the applications of a run and remove its folder; returns what is left, in words."""
    facts = entry.facts()["attached"]
    try:
        access.renew()
        identity = access.status.identity()
        if identity.cluster != facts["cluster_id"]:
            return [
                f"the configuration is now that of the cluster {identity.cluster}; the run was on "
                f"{facts['cluster_id']}"
            ]
        if access.client.edge is not None:
            access.client.edge.end_clients()
        _end(access, entry.id)
        # requests need only the account of a host
        host = cast(Host, SimpleNamespace(open_socket=None, account=access.options.account))
        folder = access.own_folder(identity, host, entry.id)
        folder.remove(with_parent=bool(facts["new_parent"]))
        if access.client.edge is not None:
            access.client.edge.remove()
        return _left(access, folder.path, entry.id, folder.owned())
    except WindtunnelError as error:
        return [error.message]


def _end(access: ClusterAccess, tag: str) -> None:
    """End all applications with a tag; raises DeploymentError if one is left."""
    running = access.status.unfinished(tag)
    if not running:
        return
    access.client.kill(running)
    deadline = time.monotonic() + _END_LIMIT_S
    while time.monotonic() < deadline:
        if not access.status.unfinished(tag):
            return
        time.sleep(_STEP_S)
    raise DeploymentError(
        f"applications with the tag {tag} are still running: "
        f"{', '.join(access.status.unfinished(tag))}",
        remedy="end them with 'yarn application -kill ID'.",
    )


def _left(access: ClusterAccess, path: str, tag: str, there: bool) -> list[str]:
    """The final check: nothing of the run may be left."""
    left = [f"application {one}" for one in access.status.unfinished(tag)]
    return [*left, *([f"folder {path}"] if there else [])]


def clean_entry(entry: Registration) -> list[str]:
    """Remove what a dead run left on its cluster; returns a line for each problem."""
    facts: dict[str, Any] | None = entry.facts().get("attached")
    if not facts:
        return []
    with tempfile.TemporaryDirectory(prefix="windtunnel-") as private:
        try:
            access = access_from(facts, Path(private), entry.id)
        except WindtunnelError as error:
            return [error.message]
        try:
            return end_and_remove(access, entry)
        finally:
            access.close()
