"""The description as YAML with the source of each value, and all facts as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from windtunnel import durable
from windtunnel.cluster.description import Cluster
from windtunnel.cluster.quantity import format_link_rate
from windtunnel.cluster.yamlfile import load_text, validate
from windtunnel.errors import UsageError
from windtunnel.inspection.describe import HostGroup, Inspected, rack_names
from windtunnel.inspection.facts import HostFacts

_KINDS = {"SSD": "ssd", "NVDIMM": "nvme"}
SCHEMA = "windtunnel.inspection/1"


def write(made: Inspected, file: Path) -> tuple[Path, Path]:
    """Write ``FILE`` and ``FILE`` with ``.sources.json``; both complete, or none.

    Raises
    ------
    UsageError
        As :func:`new_files`.
    DescriptionError
        The description is not valid, with line and key: a mistake of the program, or facts that
        contradict each other.
    """
    sources = new_files(file)[1]
    text = to_yaml(made)
    validate(Cluster, load_text(text, str(file)))
    with durable.storage_errors(
        f"{file} cannot be written", remedy="specify a folder with write permission."
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(sources, json.dumps(to_json(made), indent=1) + "\n")
        durable.write_text(file, text)
    return file, sources


def new_files(file: Path) -> tuple[Path, Path]:
    """The paths of the description and of its sources.

    Raises
    ------
    UsageError
        One of them exists already, or the path is that of a folder.
    """
    remedy = "specify another file with --output."
    if file.is_dir():
        raise UsageError(f"{file} is a folder", remedy=remedy)
    both = file, file.with_suffix(".sources.json")
    for one in both:
        if one.exists():
            raise UsageError(f"{one} exists already", remedy=remedy)
    return both


def to_yaml(made: Inspected) -> str:
    """The description; the source of each value is a comment, UNKNOWN where nothing reported it."""
    return "\n".join([*_head(made), *_hosts(made), *_network(made), *_rest(made)]) + "\n"


def _text(value: object) -> str:
    """A scalar in YAML."""
    return json.dumps(str(value), ensure_ascii=False)


def _head(made: Inspected) -> Iterator[str]:
    yield "# Written by 'windtunnel inspect'. The source of each value is in the comment behind it;"
    yield "# UNKNOWN: nothing reported it."
    for line in made.unknown:
        yield f"# UNKNOWN: {_comment(line)}"
    yield f"name: {_text(made.name)}"


def _comment(text: object) -> str:
    return " ".join(str(text).split())


def _hosts(made: Inspected) -> Iterator[str]:
    yield "hosts:"
    for group in made.groups:
        first = group.first
        names = ", ".join(host.name for host in group.hosts[:8])
        more = f" and {len(group.hosts) - 8} more" if len(group.hosts) > 8 else ""
        yield f"  {group.name}:"
        yield f"    count: {len(group.hosts)}  # {_comment(names + more)}"
        source = first.roles[group.roles[0]]
        if _single_roles(group):
            yield f"    roles: [{', '.join(_shared(group))}]  # {_comment(source)}"
            yield "    extra_roles:"
            yield f"      0: [{', '.join(_single_roles(group))}]"
        else:
            yield f"    roles: [{', '.join(group.roles)}]  # {_comment(source)}"
        yield from _processors(group)
        memory = first.facts.get("memory_bytes")
        if memory is None:
            yield "    # memory: UNKNOWN"
        else:
            mib = int(memory.value) >> 20
            yield f"    memory: {mib} MiB  # {_comment(memory.source)}"
        yield from _disks(group)
        yield from _nics(first)
        for name in ("yarn_memory_bytes", "yarn_vcores"):
            fact = first.facts.get(name)
            if fact is not None:
                unit = name.replace("yarn_", "for containers: ").replace("_", " in ")
                yield f"    # {unit}: {fact.value} ({_comment(fact.source)})"
        if first.labels:
            yield f"    # node labels: {_comment(', '.join(first.labels))}"


def _single_roles(group: HostGroup) -> list[str]:
    """Roles that only one host of a class can have."""
    masters = [role for role in group.roles if role in ("namenode", "resourcemanager")]
    return masters if len(group.hosts) > 1 else []


def _shared(group: HostGroup) -> list[str]:
    return [role for role in group.roles if role not in _single_roles(group)]


def _processors(group: HostGroup) -> Iterator[str]:
    cores = group.first.facts.get("cores")
    if cores is None:
        yield "    # cpu: UNKNOWN"
        return
    yield f"    # {cores.value} processors of the operating system ({_comment(cores.source)});"
    yield "    # sockets, cores per socket and threads per core are UNKNOWN: correct them by hand"
    yield f"    cpu: {{sockets: 1, cores_per_socket: {cores.value}, threads_per_core: 1}}"


def _disks(group: HostGroup) -> Iterator[str]:
    volumes = group.first.volumes
    if not volumes:
        if "datanode" in group.roles:
            yield "    # disks: UNKNOWN"
        return
    yield f"    # {_comment(volumes[0].source)}; a folder of data counts as a disk"
    yield "    disks:"
    counts: dict[tuple[str, int], int] = {}
    for one in volumes:
        size = one.size_bytes >> 28
        counts[one.kind, size] = counts.get((one.kind, size), 0) + 1
    for (kind, size), count in counts.items():
        known = f"kind: {_KINDS[kind]}, " if kind in _KINDS else ""
        room = f", size: {size * 256} MiB" if size else ""
        note = "" if known else "  # storage type DISK; kind UNKNOWN"
        yield f"      - {{{known}count: {count}{room}}}{note}"


def _nics(host: HostFacts) -> Iterator[str]:
    if not host.nics_bytes_s:
        yield "    # nics: UNKNOWN"
        return
    yield f"    nics:  # {_comment(host.nics_source)}"
    for rate_bytes_s, count in Counter(host.nics_bytes_s).items():
        more = f", count: {count}" if count > 1 else ""
        yield f"      - {{rate: {format_link_rate(rate_bytes_s)}{more}}}"


def _network(made: Inspected) -> Iterator[str]:
    if not made.racks:
        return
    yield "network:"
    yield "  racks:"
    names = rack_names(made.racks)
    for rack, hosts in made.racks.items():
        yield f"    {names[rack]}:  # {_comment(rack)}"
        yield f"      hosts: [{', '.join(hosts)}]"


def _rest(made: Inspected) -> Iterator[str]:
    facts = made.facts.facts
    sources = {one.name: one.source for one in made.settings}
    yield "storage:"
    yield "  kind: hdfs"
    if made.replication is not None:
        yield f"  replication: {made.replication}  # {_source(sources, 'dfs.replication')}"
    if made.block_bytes is not None:
        yield f"  block_size: {_block(made.block_bytes)}  # {_source(sources, 'dfs.blocksize')}"
    yield "software:"
    hadoop = facts.get("hadoop")
    yield (
        f"  hadoop: {_text(hadoop.value)}  # {_comment(hadoop.source)}"
        if hadoop
        else "  hadoop: unknown  # UNKNOWN"
    )
    yield f"  distribution: {_text(made.layout)}  # the form of the configuration folder"
    workers = made.groups[-1].first.facts
    for name in ("java", "os"):
        fact = workers.get(name)
        yield (
            f"  {name}: {_text(fact.value)}  # {_comment(fact.source)}"
            if fact
            else f"  # {name}: UNKNOWN"
        )
    portable = [
        one
        for one in made.settings
        if one.portable and one.name not in ("dfs.replication", "dfs.blocksize")
    ]
    others = len(made.settings) - len(portable)
    yield f"# {others} other settings that are not Hadoop's default name places, accounts or"
    yield "# secrets, are above, or cannot be used on another testbed: they are in the file of"
    yield "# sources, with the reason."
    for line in made.not_described:
        yield f"# {_comment(line)}"
    if portable:
        yield "settings:"
    for one in portable:
        yield f"  {one.name}: {_text(one.value)}  # {_comment(one.source)}"


def _source(sources: dict[str, str], name: str) -> str:
    return f"{name}, {_comment(sources[name])}" if name in sources else "live DataNodes"


def _block(size_bytes: int) -> str:
    """A block size as a description has it."""
    return f"{size_bytes >> 20} MiB" if size_bytes % (1 << 20) == 0 else f"{size_bytes} B"


def to_json(made: Inspected) -> dict[str, Any]:
    """All facts with their sources, without secrets."""
    facts = made.facts
    return {
        "schema": SCHEMA,
        "name": made.name,
        "layout": made.layout,
        "cluster": {n: {"value": f.value, "source": f.source} for n, f in facts.facts.items()},
        "hosts": [
            {
                "name": host.name,
                "class": group.name,
                "roles": host.roles,
                "labels": list(host.labels),
                "facts": {
                    n: {"value": f.value, "source": f.source} for n, f in sorted(host.facts.items())
                },
                "volumes": [vars(one) for one in host.volumes],
                "nics": {"bytes_s": list(host.nics_bytes_s), "source": host.nics_source},
            }
            for group in made.groups
            for host in group.hosts
        ],
        "queues": facts.queues,
        "settings": [vars(one) for one in made.settings],
        "unknown": made.unknown,
        "read": facts.read,
        "unread": facts.unread,
        "notes": facts.notes,
    }
