"""A cluster description from facts: hosts with equal facts become one class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from windtunnel.cluster.secrets import is_secret, masked
from windtunnel.cluster.settings import hadoop_bytes, non_defaults
from windtunnel.errors import ClusterAccessError
from windtunnel.inspection.facts import UNKNOWN, ClusterFacts, HostFacts
from windtunnel.inspection.portable import PLACE, reason_against
from windtunnel.inspection.site_files import ClientConfiguration, Entry

_ROLES = ("namenode", "resourcemanager", "historyserver", "datanode", "nodemanager")
_KINDS = {"SSD": "ssd", "DISK": "hdd", "NVDIMM": "nvme"}
_STEP_BYTES = 1 << 28  # memory and disks that differ by less are equal: 256 MiB
_SECRET = "a secret"
_NAMED = 3  # settings of a note


@dataclass
class HostGroup:
    """Hosts with equal facts; the first one stands for all."""

    name: str
    hosts: list[HostFacts]
    roles: tuple[str, ...]

    @property
    def first(self) -> HostFacts:
        """The host whose facts are used."""
        return self.hosts[0]


@dataclass
class Setting:
    """A setting that is not Hadoop's default; ``value`` contains no secret.

    If it is not ``portable``, the description does not have it, for a ``reason``.
    """

    name: str
    value: str
    default: str | None
    source: str
    secret: bool
    portable: bool
    reason: str


@dataclass
class Inspected:
    """The content of the description, what is unknown in it, and which settings it lacks."""

    name: str
    layout: str
    groups: list[HostGroup]
    racks: dict[str, list[str]]
    settings: list[Setting]
    facts: ClusterFacts
    replication: int | None
    block_bytes: int | None
    unknown: list[str] = field(default_factory=list)
    not_described: list[str] = field(default_factory=list)


def describe(name: str, conf: ClientConfiguration | None, facts: ClusterFacts) -> Inspected:
    """Group hosts, select settings, and list what is unknown.

    Raises
    ------
    ClusterAccessError
        Neither the NameNode nor a file lists the workers, so that there is nothing to describe.
    """
    add_from_files(conf, facts)
    if not any(facts.with_role("datanode")) or not any(facts.with_role("namenode")):
        reasons = " | ".join(facts.unread) or "no address of a NameNode is known"
        raise ClusterAccessError(
            f"no worker is known, so the cluster cannot be described: {reasons}",
            remedy="make the NameNode's web address reachable, or specify it with --namenode.",
            reason="no workers",
        )
    _whole_yarn(facts)
    groups = list(_groups(facts))
    version = _text(facts, "hadoop")
    settings = _settings(facts, None if version == UNKNOWN else version)
    values = {one.name: one.value for one in settings}
    replication = values.get("dfs.replication")
    holders = sum(len(group.hosts) for group in groups if "datanode" in group.roles)
    made = Inspected(
        name=name,
        layout=conf.layout if conf else UNKNOWN,
        groups=groups,
        racks=_racks(groups),
        settings=settings,
        facts=facts,
        replication=int(replication) if replication and replication.isdigit() else None,
        block_bytes=_block_bytes(values.get("dfs.blocksize"), facts),
    )
    made.not_described = list(_not_described(settings))
    facts.notes += made.not_described
    wanted = made.replication or 3
    if wanted > holders:
        facts.notes.append(
            f"dfs.replication is {wanted}, but only {holders} DataNodes are alive; the description "
            f"has {holders}"
        )
        made.replication = holders
    made.unknown = list(_unknown(made))
    return made


def _block_bytes(value: str | None, facts: ClusterFacts) -> int | None:
    """The block size of HDFS; None and a note if Hadoop cannot read it."""
    if value is None:
        return None
    size = hadoop_bytes(value)
    if size is None or size <= 0:
        facts.notes.append(
            f"dfs.blocksize = '{value}' is no size: the description has no block_size"
        )
        return None
    return int(size)


def add_from_files(conf: ClientConfiguration | None, facts: ClusterFacts) -> None:
    """What the files state: workers and racks where no daemon reported them."""
    if conf is None:
        return
    if not any(facts.with_role("datanode")):
        for worker in conf.workers:
            for role in ("datanode", "nodemanager"):
                facts.host(worker).roles[role] = "file workers"
    for host in facts.hosts.values():
        rack = conf.racks.get(host.name)
        if rack and "rack" not in host.facts:
            host.add("rack", rack, "topology file")


def _whole_yarn(facts: ClusterFacts) -> None:
    """Leave YARN out where its masters or its workers are unknown: a description needs both."""
    for known, needed in (("nodemanager", "resourcemanager"), ("resourcemanager", "nodemanager")):
        if any(facts.with_role(known)) and not any(facts.with_role(needed)):
            for host in list(facts.with_role(known)):
                del host.roles[known]
            facts.notes.append(f"no {needed} is known, so the description has no {known}")


def _text(facts: ClusterFacts, name: str) -> str:
    fact = facts.facts.get(name)
    return UNKNOWN if fact is None else str(fact.value)


def _key(host: HostFacts) -> tuple[object, ...]:
    disks = sorted((one.kind, round(one.size_bytes / _STEP_BYTES)) for one in host.volumes)
    memory = host.value("memory_bytes")
    return (
        tuple(role for role in _ROLES if role in host.roles),
        host.value("cores"),
        None if memory is None else round(float(memory) / _STEP_BYTES),
        tuple(disks),
        host.value("yarn_memory_bytes"),
        host.value("yarn_vcores"),
        host.labels,
        host.nics_bytes_s,
    )


def _groups(facts: ClusterFacts) -> Iterator[HostGroup]:
    """Classes of hosts with equal facts, the workers last, larger classes first."""
    by_key: dict[tuple[object, ...], list[HostFacts]] = {}
    for name in sorted(facts.hosts, key=_natural):
        host = facts.hosts[name]
        if any(role in host.roles for role in _ROLES):
            by_key.setdefault(_key(host), []).append(host)
    used: dict[str, int] = {}
    for hosts in sorted(by_key.values(), key=lambda hosts: (_is_worker(hosts[0]), -len(hosts))):
        base = "worker" if _is_worker(hosts[0]) else "master"
        used[base] = used.get(base, 0) + 1
        name = base if used[base] == 1 else f"{base}-{_letters(used[base] - 1)}"
        yield HostGroup(name, hosts, tuple(role for role in _ROLES if role in hosts[0].roles))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", name)]


def _is_worker(host: HostFacts) -> bool:
    return "datanode" in host.roles or "nodemanager" in host.roles


def _letters(number: int) -> str:
    """b, c, ..., z, ba, bb: a class name must not end with a number."""
    text = ""
    while True:
        text = chr(ord("a") + number % 26) + text
        number //= 26
        if number == 0:
            return text


def _racks(groups: list[HostGroup]) -> dict[str, list[str]]:
    """Rack -> names of hosts in the description; empty if all known ones are in the same rack.

    Hosts whose rack nothing reported are in a rack of their own: a description has all or none.
    """
    found: dict[str, list[str]] = {}
    for group in groups:
        for index, host in enumerate(group.hosts):
            rack = host.value("rack") or UNKNOWN
            name = group.name if len(group.hosts) == 1 else f"{group.name}-{index + 1}"
            found.setdefault(str(rack), []).append(name)
    return found if len(found.keys() - {UNKNOWN}) > 1 else {}


_LONGEST_NAME = 40  # characters, as in the schema of descriptions


def rack_names(racks: Iterable[str]) -> dict[str, str]:
    """Rack -> its name as descriptions allow it: ``/dc1/rack-03`` is ``dc1-rack03``.

    Racks whose names would be the same get letters.
    """
    found: dict[str, str] = {}
    for rack in racks:
        base = name = _rack_name(rack)
        number = 0
        while name in found.values():
            number += 1
            end = f"-{_letters(number)}"
            name = base[: _LONGEST_NAME - len(end)].rstrip("-") + end
        found[rack] = name
    return found


def _rack_name(rack: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", rack.lower()).strip("-") or "rack"
    words = re.sub(r"-(?=\d)", "", words)
    return (words if words[0].isalpha() else f"rack{words}")[:_LONGEST_NAME].rstrip("-")


def _settings(facts: ClusterFacts, version: str | None) -> list[Setting]:
    values = {name: entry.value for name, entry in facts.settings.items()}
    found = []
    for one in non_defaults(values, version):
        entry: Entry = facts.settings[one.name]
        secret = is_secret(one.name, one.value)
        shown = masked(one.name, one.value)
        hidden = secret or shown != one.value
        reason = _SECRET if hidden else reason_against(one.name, one.value)
        found.append(
            Setting(one.name, shown, one.default, entry.source, secret, not reason, reason)
        )
    return found


def _not_described(settings: Iterable[Setting]) -> Iterator[str]:
    """One line for each reason why settings of the behaviour are not in the description."""
    by_reason: dict[str, list[str]] = {}
    for one in settings:
        if one.reason not in ("", _SECRET, PLACE):
            by_reason.setdefault(one.reason, []).append(one.name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"not in the description: {', '.join(names[:_NAMED])}{more}: {reason}"


def _unknown(made: Inspected) -> Iterator[str]:
    """What nothing reported, one line each."""
    for group in made.groups:
        for name, label in (("cores", "processors"), ("memory_bytes", "memory")):
            missing = [host.name for host in group.hosts if name not in host.facts]
            if missing:
                yield f"{group.name}: {label} ({', '.join(missing[:3])})"
        if "datanode" in group.roles and not group.first.volumes:
            yield f"{group.name}: disks"
        yield f"{group.name}: division of processors into sockets, cores and threads; disk rates"
        if not group.first.nics_bytes_s:
            yield f"{group.name}: NICs (no daemon reports them; a Prometheus server can)"
    if not made.racks:
        yield "racks: all hosts are in the same rack, or no script of the topology is in use"
    yield "switches and uplinks"
    for name in ("hadoop",):
        if name not in made.facts.facts:
            yield "version of Hadoop"


def by_source(settings: list[Setting]) -> Mapping[str, int]:
    """Number of settings by source."""
    counts: dict[str, int] = {}
    for one in settings:
        key = one.source.split(":")[0] if "://" not in one.source else one.source
        counts[key] = counts.get(key, 0) + 1
    return counts
