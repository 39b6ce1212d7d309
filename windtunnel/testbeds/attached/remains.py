"""The end of a run on an existing cluster: its applications are ended, its folder is removed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from windtunnel.errors import DeploymentError, StudyStoppedError, WindtunnelError
from windtunnel.hosts.base import Host
from windtunnel.hosts.leftovers import Registration, clean
from windtunnel.testbeds.attached.access import ClusterAccess, access_from

_END_LIMIT_S = 60.0
_STEP_S = 0.5


def end_and_remove(access: ClusterAccess, entry: Registration) -> list[str]:
    """End the applications of a run and remove its folder; returns what is left, in words.

    Applications need only the ResourceManager, the folder only the NameNode: each is done if
    the other one fails.
    """
    facts = entry.facts()["attached"]
    edge = access.client.edge
    left: list[str] = []
    namenode = ""
    with _noted(left):
        access.renew()
    with _noted(left):
        cluster, namenode = access.status.storage_identity()
        if cluster != facts["cluster_id"]:
            return [
                f"the configuration is now that of the cluster {cluster}; the run was on "
                f"{facts['cluster_id']}"
            ]
    with _noted(left):
        if edge is not None:
            edge.end_clients()
    with _noted(left):
        _end(access, entry.id)
    if namenode:
        with _noted(left):
            left += _remove(access, namenode, entry.id, facts)
    if not left:  # the final check: a client could have submitted a job meanwhile
        with _noted(left):
            left += [f"application {one}" for one in access.status.unfinished(entry.id)]
    if edge is not None and not left:  # clients need its folder for the next attempt
        with _noted(left):
            edge.remove()
    return list(dict.fromkeys(left))


@contextmanager
def _noted(left: list[str]) -> Iterator[None]:
    """Add the message of an error to what is left, and continue."""
    try:
        yield
    except WindtunnelError as error:
        left.append(error.message)


def _remove(access: ClusterAccess, namenode: str, id_: str, facts: Mapping[str, Any]) -> list[str]:
    """Remove the folder of a run; returns it if it is still there."""
    # requests need only the account of a host
    host = cast(Host, SimpleNamespace(open_socket=None, account=access.options.account))
    folder = access.own_folder(namenode, host, id_)
    # entries of earlier versions only state whether the parent was new
    above = folder.parent if facts.get("new_parent") else None
    folder.remove(facts.get("new_ancestor", above))
    return [f"folder {folder.path}"] if folder.owned() else []


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


def clean_entry(entry: Registration) -> list[str]:
    """Remove what a dead run left on its cluster; returns a line for each problem."""
    facts: dict[str, Any] | None = entry.facts().get("attached")
    if not facts:
        return []
    # below the entry: if this process is killed, the next 'clean' removes the tickets
    with tempfile.TemporaryDirectory(prefix="tickets-", dir=entry.folder) as private:
        try:
            access = access_from(facts, Path(private), entry.id)
        except WindtunnelError as error:
            return [error.message]
        except (ValueError, KeyError, TypeError) as error:  # of another version, or damaged
            return [f"the entry cannot be read ({type(error).__name__}: {_one_line(error)})"]
        try:
            return end_and_remove(access, entry)
        finally:
            access.close()


def remove_earlier(cluster_id: str, note: Callable[[str], object]) -> None:
    """Remove what dead runs of this user left on a cluster, and on this machine.

    Their jobs would count as those of other tenants. ``note`` receives what is removed.

    Raises
    ------
    StudyStoppedError
        If something is left on the cluster.
    """
    left: list[str] = []

    def chosen(entry: Registration) -> bool:
        facts = entry.facts().get("attached")
        here = not facts or (isinstance(facts, dict) and facts.get("cluster_id") == cluster_id)
        return here and not entry.elsewhere()

    def elsewhere(entry: Registration) -> list[str]:
        if entry.facts().get("attached"):
            note(f"{entry.id} was killed: its jobs and its folder on the cluster are removed first")
        found = clean_entry(entry)
        left.extend(f"{one} (of {entry.id})" for one in found)
        return found

    for line in clean(elsewhere, chosen):
        note(f"left by a command that was killed: {line}")
    if left:
        raise StudyStoppedError(
            f"an earlier run was killed, and this is left of it: {'; '.join(left)}",
            remedy="run 'windtunnel clean', which tries to remove it again.",
        )


def _one_line(error: Exception) -> str:
    """The message of an error on one line, at most 200 characters."""
    return " ".join(str(error).split())[:200]
