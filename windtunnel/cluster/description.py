"""The cluster description: hosts, network, storage, software, settings.

A description is data and never a running system. Together with workload parameters it is a
treatment, so everything that a study can vary (VMs per host, external storage, a shaped
network, a degraded disk, a Hadoop setting) is part of it and can be overridden by path.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from windtunnel.cluster.hosts import Count, Guest, HostClass, Name, Part
from windtunnel.cluster.quantity import Duration, LinkRate
from windtunnel.cluster.roles import ROLES, Role
from windtunnel.cluster.schema_paths import suggest
from windtunnel.cluster.storage import Storage
from windtunnel.cluster.validation_messages import blame

DEFAULT_REPLICATION = 3  # of HDFS, hdfs-default.xml


def _version(value: object) -> object:
    """Refuse a number: YAML parses 3.10 as the number 3.1."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(f"a version is a text, not a number: write it in quotes, '{value}'")
    return value


def _setting(value: object) -> object:
    """Accept only plain values: a nested mapping means that a dotted name was split."""
    if not isinstance(value, (str, int, float, bool)):
        raise ValueError(
            "a setting is a text, a number, true or false under its complete dotted name, "
            "such as 'mapreduce.task.io.sort.mb: 512'"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a setting must be a finite number")
    return value


Version = Annotated[str, BeforeValidator(_version), Field(min_length=1)]
Setting = Annotated[str | int | float | bool, BeforeValidator(_setting)]
Settings = dict[str, Setting]


class Switch(Part):
    """A network switch."""

    model: str | None = Field(None, description="Name of the model; not used in computations.")
    ports: Count | None = Field(None, description="Number of ports; not used in computations.")
    port_rate: LinkRate | None = Field(
        None,
        description="Rate of one port, an upper limit of the NICs; predictions do not use it.",
    )
    total_rate: LinkRate | None = Field(
        None,
        description="Limit of all ports together. Only predictions use it, and only that of "
        "`network.switch`.",
    )


class Rack(Part):
    """Hosts behind one switch."""

    hosts: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="Classes of hosts, or single hosts (`worker-2`)."
    )
    switch: Switch | None = Field(None, description="Switch of the rack.")
    uplink: LinkRate | None = Field(None, description="Rate of the link to the other racks.")
    oversubscription: Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)] | None = (
        Field(
            None,
            description="Rates of all NICs of the rack divided by the uplink; instead of `uplink`. "
            "Only scale models use it.",
        )
    )


class Network(Part):
    """Racks by name, or ``spread_over`` equal racks, and the switches between hosts."""

    switch: Switch | None = Field(None, description="Switch of all hosts; a rack can have its own.")
    racks: dict[Name, Rack] = Field(default_factory=dict, description="Racks by name.")
    spread_over: Count | None = Field(
        None,
        description="Number of equal racks, with the hosts assigned in turn; instead of `racks`.",
    )
    uplink: LinkRate | None = Field(None, description="Uplink of racks that do not have their own.")
    oversubscription: Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)] | None = (
        Field(None, description="Oversubscription of racks that do not have their own.")
    )
    latency: Duration | None = Field(
        None, description="One-way latency between two hosts of a rack."
    )

    @model_validator(mode="after")
    def _one_rule(self) -> Network:
        if self.racks and self.spread_over is not None:
            remedy = "keep 'racks' or 'spread_over'"
            raise blame(
                "'racks' and 'spread_over' exclude each other", "spread_over", remedy=remedy
            )
        return self


class Software(Part):
    """Versions, and how the JVMs of MapReduce start."""

    hadoop: Version = Field(
        "3.5", description="Release line (`3.5`), exact version (`3.5.0`), or `unknown`."
    )
    distribution: Version | None = Field(
        None,
        description="Distribution of the described cluster; the physics model uses the default "
        "scheduler of CDH, and nothing else uses it.",
    )
    java: Version | None = Field(
        None, description="Java of the described cluster; not used in computations."
    )
    os: Version | None = Field(
        None, description="Operating system of the described cluster; not used in computations."
    )
    hypervisor: Version | None = Field(
        None, description="Hypervisor of the described cluster; not used in computations."
    )
    engines: dict[str, Version] = Field(
        default_factory=dict, description="Versions of other engines, by name."
    )
    task_start: Literal["stock", "warm"] = Field(
        "stock", description="How the JVMs of MapReduce start: `stock`, or `warm` before the phase."
    )
    warm_jvms: Count | None = Field(
        None,
        description="Number of JVMs that wait for tasks on each worker; default: those of one "
        "wave of maps and the worker's part of the reduces.",
    )

    @model_validator(mode="after")
    def _only_warm(self) -> Software:
        if self.warm_jvms and self.task_start == "stock":
            raise blame(
                "'warm_jvms' needs 'task_start: warm'",
                "warm_jvms",
                remedy="set 'software.task_start: warm', or remove 'warm_jvms'.",
            )
        return self

    @model_serializer(mode="wrap")
    def _without_default(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Plain data; existing fingerprints contain none of the options of warm starts."""
        found: dict[str, Any] = serialise(self)
        if self.task_start == "stock":
            found.pop("task_start", None)
        if self.warm_jvms is None:
            found.pop("warm_jvms", None)
        return found


@dataclass(frozen=True)
class Node:
    """One operating system with roles: a host, or a virtual machine of a host."""

    name: str
    host: str
    class_name: str
    index: int
    roles: tuple[Role, ...]
    guest: Guest | None = None


class Cluster(Part):
    """A cluster: its hosts, network, storage, software and settings of Hadoop."""

    name: Annotated[str, Field(min_length=1)] = Field(description="Name of the cluster.")
    note: str | None = Field(None, description="Any text; not used in computations.")
    hosts: Annotated[dict[Name, HostClass], Field(min_length=1)] = Field(
        description="Hosts by class, such as `master` and `worker`."
    )
    network: Network | None = Field(None, description="Racks and switches.")
    storage: Storage = Field(Storage(), description="Storage of the workloads' data.")
    software: Software = Field(Software(), description="Versions, and how JVMs start.")
    settings: Settings = Field(
        default_factory=dict, description="Properties of Hadoop by their full names."
    )

    def nodes(self) -> Iterator[Node]:
        """Every host, or its virtual machines if it has any, in the order of the file."""
        for class_name, host_class in self.hosts.items():
            for index in range(host_class.count):
                yield from _nodes_of(class_name, host_class, index)

    def nodes_with(self, role: Role) -> list[Node]:
        """The nodes with ``role``."""
        name = ROLES.canonical(role)
        return [node for node in self.nodes() if name in node.roles]

    def role_counts(self) -> Counter[str]:
        """Number of nodes with each role."""
        counts: Counter[str] = Counter()
        for host_class in self.hosts.values():
            counts.update(host_class.role_counts())
        return counts

    @property
    def replication(self) -> int:
        """Replicas of each block: as given, else HDFS's default of 3, at most one per data node."""
        given = self.storage.replication or self.settings.get("dfs.replication")
        if given is not None and str(given).isdigit():
            return int(given)
        return max(1, min(DEFAULT_REPLICATION, self.holders))

    @property
    def holders(self) -> int:
        """Number of nodes that hold the data of the storage."""
        holder = ROLES.holder(self.storage.kind)
        return self.role_counts()[holder] if holder else 1

    @property
    def stored_per_byte(self) -> float:
        """Bytes that are stored for each byte of data: of the replicas, or of the erasure code."""
        code = self.storage.code
        return code.stored_per_byte if code else float(self.replication)

    def rack_of(self, class_name: str, index: int) -> str | None:
        """The rack of a host (by class and index from 0); None if there are no racks."""
        network = self.network
        if network is None:
            return None
        if network.spread_over is not None:
            before = [name for name in self.hosts if name != class_name]
            offset = sum(self.hosts[n].count for n in before[: list(self.hosts).index(class_name)])
            return f"rack-{(offset + index) % network.spread_over + 1}"
        host = self.hosts[class_name].host_name(class_name, index)
        named = (n for n, rack in network.racks.items() if {class_name, host} & {*rack.hosts})
        return next(named, None)

    def plain(self) -> dict[str, Any]:
        """The description as plain data with units, without unknown values; parses back equal."""
        data: dict[str, Any] = _without_empty(self.model_dump(mode="json", exclude_none=True))
        return data

    def fingerprint(self) -> str:
        """SHA-256 of the description: equal clusters have equal fingerprints."""
        text = json.dumps(self.plain(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @model_validator(mode="after")
    def _consistent(self) -> Cluster:
        _check_roles(self)
        _check_storage(self)
        _check_racks(self)
        return self


def _without_empty(data: Any) -> Any:
    """``data`` without empty mappings and lists below mappings."""
    if isinstance(data, dict):
        pairs = ((key, _without_empty(value)) for key, value in data.items())
        return {key: value for key, value in pairs if value not in ({}, [])}
    return [_without_empty(item) for item in data] if isinstance(data, list) else data


def _nodes_of(class_name: str, host_class: HostClass, index: int) -> Iterator[Node]:
    """The node or nodes of one host; the first VM has the host's extra roles."""
    host = host_class.host_name(class_name, index)
    if not host_class.vms:
        yield Node(host, host, class_name, index, host_class.roles_of(index))
    extra = host_class.extra_roles.get(index, ())
    for guest in host_class.vms:
        for number in range(guest.count):
            own = host_class.roles if guest.roles is None else guest.roles
            roles = tuple(dict.fromkeys((*own, *extra)))
            extra = ()
            yield Node(f"{host}-{guest.name}-{number + 1}", host, class_name, index, roles, guest)


def _check_roles(cluster: Cluster) -> None:
    """Check that every role that another role requires exists."""
    counts = cluster.role_counts()
    kind = cluster.storage.kind
    needed = [(role.name, f"storage of kind {kind}") for role in ROLES if kind in role.storage]
    needed += [
        (need, f"a {role.name}") for role in ROLES if counts[role.name] for need in role.needs
    ]
    for role, by in needed:
        if not counts[role]:
            raise blame(
                f"no host has the role '{role}', which {by} requires",
                "hosts",
                remedy=f"add '{role}' to the roles of a host class",
            )


def _check_storage(cluster: Cluster) -> None:
    """Check that the data hosts can hold all replicas, and that no values contradict each other."""
    storage, settings = cluster.storage, cluster.settings
    for position, name in enumerate(storage.external):
        if name not in cluster.hosts:
            raise blame(
                f"unknown host class '{name}'",
                "storage",
                "external",
                position,
                remedy=suggest(name, cluster.hosts, "host class"),
            )
    for key, property_name, value in (
        ("replication", "dfs.replication", storage.replication),
        ("block_size", "dfs.blocksize", storage.block_size),
    ):
        given = settings.get(property_name)
        if value is not None and given is not None and str(given) != str(value):
            raise blame(
                f"'{property_name}' is {given} here, but 'storage.{key}' is {value}",
                "settings",
                property_name,
                remedy=f"set it once, as storage.{key}",
            )
    holder = ROLES.holder(storage.kind)
    held = cluster.role_counts()[holder] if holder else 0
    if storage.external and holder:
        _check_external(cluster, holder)
    code = storage.code
    if holder and code and code.hosts > held:
        raise blame(
            f"the erasure code {code.name} requires {code.hosts} nodes with the role '{holder}'; "
            f"there {'is' if held == 1 else 'are'} {held}",
            "storage",
            "erasure_code",
            remedy="add hosts, or use a code with fewer cells",
        )
    if holder and cluster.replication > held:
        in_settings = storage.replication is None
        loc = ("settings", "dfs.replication") if in_settings else ("storage", "replication")
        raise blame(
            f"replication {cluster.replication} requires {cluster.replication} nodes with the "
            f"role '{holder}'; there {'is' if held == 1 else 'are'} {held}",
            *loc,
            remedy=f"lower the replication to {held} or add hosts",
        )


def _check_external(cluster: Cluster, holder: str) -> None:
    """Check that all data is on the storage hosts, and that no task runs on them."""
    for name, host_class in cluster.hosts.items():
        roles, external = host_class.role_counts(), name in cluster.storage.external
        wrong = "nodemanager" if external else holder
        if roles[wrong]:
            kind = "a storage host" if external else "not in 'storage.external'"
            raise blame(
                f"the class '{name}' is {kind}, but has the role '{wrong}'",
                "hosts",
                name,
                "roles",
                remedy=f"remove '{wrong}' from its roles, or change 'storage.external'",
            )


def _check_racks(cluster: Cluster) -> None:
    """Check that every host is in exactly one rack, if racks are named."""
    if cluster.network is None or not cluster.network.racks:
        return
    hosts = {
        name: [host_class.host_name(name, i) for i in range(host_class.count)]
        for name, host_class in cluster.hosts.items()
    }
    known = list(dict.fromkeys([*hosts, *(host for one in hosts.values() for host in one)]))
    known_set = set(known)
    placed: dict[str, str] = {}
    for rack_name, rack in cluster.network.racks.items():
        for position, entry in enumerate(rack.hosts):
            loc = ("network", "racks", rack_name, "hosts", position)
            if entry not in known_set:
                remedy = suggest(entry, known[:50], "host")
                raise blame(f"unknown host or host class '{entry}'", *loc, remedy=remedy)
            for host in hosts.get(entry, [entry]):
                if host in placed:
                    raise blame(f"host '{host}' is already in rack '{placed[host]}'", *loc)
                placed[host] = rack_name
    for names in hosts.values():
        for host in names:
            if host not in placed:
                remedy = "add every host or its class to one of the racks"
                raise blame(f"host '{host}' is in no rack", "network", "racks", remedy=remedy)
