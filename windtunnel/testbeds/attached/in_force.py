"""The described settings of daemons, compared with the values that the daemons report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from windtunnel.audit.in_force import MASTERS, equal, readers_of
from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import affects, engine_of, text_of
from windtunnel.errors import ClusterAccessError
from windtunnel.testbeds.attached.access import ClusterAccess
from windtunnel.testbeds.attached.by_hand import TITLES
from windtunnel.testbeds.attached.status import Identity, Status

# the daemons of settings whose readers are not known exactly
_MASTERS = {"hdfs": ("namenode",), "yarn": ("resourcemanager",), "all": ("namenode",)}


class ComparedSetting(NamedTuple):
    """A setting: its described value, and the value that a daemon reports (None: not compared)."""

    name: str
    described: str
    daemon: str
    found: str | None


def compared_settings(
    access: ClusterAccess, identity: Identity, cluster: Cluster, by_hand: Collection[str]
) -> Iterator[ComparedSetting]:
    """Settings of daemons, as described and as the daemons report them.

    Of several workers, the first is queried. There is no value of a worker that does not answer, of
    a file that only its daemon reads, such as capacity-scheduler.xml, and for a described value
    with variables.

    Parameters
    ----------
    by_hand:
        Settings that an operator changes during the study, which are not compared here.

    Raises
    ------
    ClusterAccessError
        If a master does not answer.
    """
    urls: dict[str, str | None] = {
        "namenode": identity.namenode,
        "resourcemanager": identity.resourcemanager,
    }
    for name, value in cluster.settings.items():
        who = affects(name)
        if who == "client" or engine_of(name) or name in by_hand:
            continue
        for role in readers_of(name) or _MASTERS[who]:
            if role not in urls:
                urls[role] = next(iter(access.status.daemons(role).values()), None)
            text, url = text_of(value), urls[role]
            found = None if url is None or "${" in text else _value(access.status, role, url, name)
            yield ComparedSetting(name, text, TITLES[role], found)


def different(settings: Sequence[ComparedSetting]) -> Iterator[str]:
    """Settings whose described value differs from the value in force on the cluster."""
    for one in settings:
        if one.found is not None and not equal(one.described, one.found):
            state = f"{one.described} is described, the {one.daemon} has {one.found}"
            yield f"settings.{one.name}: {state}"


def not_compared(settings: Sequence[ComparedSetting]) -> list[str]:
    """Settings for which a daemon reports no value, in words."""
    return [
        f"settings.{one.name}: not compared with the {one.daemon}, which does not report it, or "
        "its value has variables"
        for one in settings
        if one.found is None
    ]


def _value(status: Status, role: str, url: str, name: str) -> str | None:
    """The value that a daemon reports; a worker may not be reachable from here."""
    try:
        return status.in_force(url, name)
    except ClusterAccessError:
        if role in MASTERS:
            raise
        return None
