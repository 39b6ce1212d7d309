"""What ``audit`` reads: every target of the command line."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.audit.audit import Subject
    from windtunnel.audit.configuration import Configuration
    from windtunnel.audit.facts import HostFacts
    from windtunnel.audit.hardware import Hardware
    from windtunnel.audit.result import Result
    from windtunnel.cli.audit_live import Live

COLLECT, RUNNING, HERE = "collect", "running", "this-machine"


@dataclass
class Wanted:
    """The words of the command line that decide what is audited."""

    words: Sequence[str]
    hadoop: str | None
    cluster: str | None
    files: str | None
    exceptions: Path | None
    probes: Sequence[str]
    profile: str | None
    live: Live | None = None
    facts: list[HostFacts] = field(default_factory=list)
    confs: list[Configuration] = field(default_factory=list)
    scans: list[Any] = field(default_factory=list)
    failures: list[Result] = field(default_factory=list)


def subject_of(wanted: Wanted) -> Subject:
    """Read every target."""
    from dataclasses import replace

    from windtunnel.audit.audit import Subject
    from windtunnel.audit.facts import this_machine
    from windtunnel.audit.hardware import of_facts, with_live

    shared = 1
    words = list(wanted.words)
    if not words and not wanted.probes and not wanted.profile is not None:
        words = [HERE]
    remote = [word for word in words if word.startswith("ssh://")]
    if remote:
        from windtunnel.audit.over_ssh import ssh_facts

        answers = ssh_facts(remote)
        wanted.facts += answers.hosts
        wanted.failures += answers.failures
    for word in words:
        if word in remote:
            continue
        if word == HERE:
            wanted.facts.append(this_machine())
        elif word == RUNNING:
            shared = _running(wanted)
        else:
            _path(Path(word), wanted)
    version = wanted.hadoop or _version(wanted.facts)
    confs = [replace(conf, version=conf.version or version) for conf in wanted.confs]
    hardware, files, live = of_facts(wanted.facts), _number(wanted.files), wanted.live
    around: dict[str, Any] = {"here": live is None}
    if live is not None:
        if live.hardware is not None:
            hardware = with_live(hardware, live.hardware) if wanted.facts else live.hardware
        files = live.files if files is None else files
        around["in_force"] = live.in_force
    if wanted.cluster is not None:
        from windtunnel.audit.hardware import of_cluster
        from windtunnel.cluster import load_cluster

        hardware = of_cluster(load_cluster(wanted.cluster))
    hosts = [*_with_paths(wanted), *(live.hosts if live is not None else ())]
    return Subject(hosts, confs, _shared(hardware, shared), files, around)


def _with_paths(wanted: Wanted) -> Sequence[HostFacts]:
    """The facts of all hosts, with the paths from this machine to the hosts that are probed."""
    from windtunnel.audit.facts import with_paths
    from windtunnel.audit.path_mtu import hosts_of, path_mtus
    from windtunnel.audit.probes import planned

    planned(wanted.probes)  # refuses what is no host, before anything is sent
    named = hosts_of(wanted.probes)
    return with_paths(wanted.facts, path_mtus(named)) if named else wanted.facts


def _shared(hardware: Hardware, workers: int) -> Hardware:
    from dataclasses import replace

    if workers <= 1:
        return hardware
    return replace(hardware, shared_by=workers, workers=workers, datanodes=workers, mixed=False)


def _path(path: Path, wanted: Wanted) -> None:
    from windtunnel.audit.configuration import read_configuration
    from windtunnel.audit.facts import read_facts
    from windtunnel.audit.openscap import parse

    if path.is_dir():
        conf = read_configuration(path, wanted.hadoop or "")
        if wanted.live is not None:
            from windtunnel.cli.audit_live import read_live

            conf = read_live(path, conf, wanted.live)
        wanted.confs.append(conf)
    elif path.suffix == ".csv":
        from windtunnel.audit.tables import read_table

        hosts, confs = read_table(path)
        wanted.facts += hosts
        wanted.confs += confs
    elif path.suffix == ".xml":
        wanted.scans.append(parse(path))
    elif path.suffix == ".json" or path.is_file():
        wanted.facts.append(read_facts(path))
    else:
        raise UsageError(
            f"{path}: no such file or directory",
            remedy=f"give '{HERE}', '{RUNNING}', a configuration directory, a host (ssh://HOST), "
            "facts (*.json), tables of facts (*.csv), results of OpenSCAP (*.xml), or 'collect'.",
        )


def _running(wanted: Wanted) -> int:
    """Facts and settings of the local cluster that is up; the number of its workers."""
    from windtunnel.audit.configuration import combined, read_configuration
    from windtunnel.audit.facts import this_machine
    from windtunnel.cli.interactive import chosen

    entry = chosen(None, "end the others with 'windtunnel down --id ID'.")
    facts = entry.facts()
    folder = Path(facts["client"]["conf"])
    own = sorted(folder.parent.parent.glob("*/conf"))
    parts = [read_configuration(path) for path in (*own, folder)]
    wanted.confs.append(combined(parts, f"{facts.get('cluster')} ({entry.id})"))
    if HERE not in wanted.words:
        wanted.facts.append(this_machine())
    if wanted.hadoop is None:
        jars = facts["client"].get("software") or {}
        wanted.hadoop = str(jars.get("version") or "") or None
    names = [str(name) for name in facts.get("pids") or {}]
    return max(1, sum(name.startswith("nodemanager@") for name in names))


def _version(facts: Sequence[HostFacts]) -> str:
    """The version of Hadoop, from the jars of the JVMs; empty if these differ or none runs."""
    found = {
        str(row["jars"]["hadoop-common"])
        for one in facts
        for row in one.facts.get("jvms", {}).get("value") or []
        if isinstance(row, dict) and (row.get("jars") or {}).get("hadoop-common")
    }
    return found.pop() if len(found) == 1 else ""


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    units = {"k": 1e3, "M": 1e6, "G": 1e9}
    try:
        return float(text.rstrip("kMG")) * units.get(text[-1:], 1.0)
    except ValueError:
        raise UsageError(f"--files {text}: not a number", remedy="write --files 50M.") from None
