"""A running cluster: whether its files are in force, and whether its daemons agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from windtunnel.audit.configuration import redacted
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.in_force import Difference, LiveCluster, differences
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.hosts.daemon import Daemon

_SHOWN = 3
_NOT_READ = "the daemons were not read (--live)"


def _live(evidence: Evidence) -> LiveCluster | None:
    found: LiveCluster | None = evidence.live.get("in_force", {}).get(evidence.conf.name)
    return found


def in_force(evidence: Evidence) -> Iterator[Outcome]:
    """Properties of the files whose value a daemon does not have."""
    live = _live(evidence)
    if live is None:
        yield not_applicable(_NOT_READ)
        return
    for why in live.unread:
        yield unknown(why)
    for daemon in live.daemons:
        if daemon.unread:
            yield unknown(f"{daemon.name}: {daemon.unread}", daemon.name)
    bad = False
    for one in differences(live):
        bad = True
        yield _difference(one)
    read = sum(not daemon.unread for daemon in live.daemons)
    if not bad and read:
        yield passed(f"{read} daemons have the values of the files")


def _difference(one: Difference) -> Outcome:
    said = [
        f"{'not set' if value is None else redacted(one.name, value)} on {_names(daemons)}"
        for value, daemons in one.found.items()
    ]
    text = f"{one.name} = {redacted(one.name, one.value)}, but in force: {'; '.join(said)}"
    daemons = [daemon for group in one.found.values() for daemon in group]
    remedy = f"restart {_names(daemons)}, or correct the file there: it is read at the start"
    return failed(text, remedy, about=one.name, place=one.entry.place)


def _names(daemons: list[Daemon] | tuple[Daemon, ...]) -> str:
    shown = ", ".join(daemon.name for daemon in daemons[:_SHOWN])
    more = len(daemons) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def one_version(evidence: Evidence) -> Iterator[Outcome]:
    """Versions of the daemons."""
    live = _live(evidence)
    if live is None:
        yield not_applicable(_NOT_READ)
        return
    found: dict[str, list[Daemon]] = defaultdict(list)
    for daemon in live.daemons:
        if daemon.version:
            found[daemon.version].append(daemon)
    if not found:
        yield unknown("no daemon states its version")
        return
    order = sorted(found, key=lambda version: -len(found[version]))
    if len(order) == 1:
        yield passed(f"{order[0]} on {len(found[order[0]])} daemons")
    for version in order[1:]:
        names = _names(found[version])
        text = f"{names}: {version}; {len(found[order[0]])} daemons: {order[0]}"
        yield failed(text, f"complete the upgrade of {names} to {order[0]}", about=version)


RULES = {"in_force": in_force, "one_version": one_version}
