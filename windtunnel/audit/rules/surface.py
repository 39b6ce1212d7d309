"""The attack surface: listening ports by purpose, open services, old software."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import Any

from windtunnel.audit.catalogue import EndOfLife, Port, end_of_life_sources, ends_of_life, ports
from windtunnel.audit.check import in_range
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.facts import HostFacts, is_loopback
from windtunnel.audit.result import Outcome, failed, passed, unknown
from windtunnel.audit.rules.secure import kerberos

# builds of vendors, who correct faults in lines that the project has ended: 3.1.1.7.1.7.0-551
_OF_A_VENDOR = re.compile(r"cdh|amzn|mapr|eep|redhat|rhlw|tuxcare|^\d+(\.\d+){3,}")


def purpose(port: int, process: str | None = None) -> Port | None:
    """The catalogue's entry of a port; None if it has none.

    A process that is known and of another service rules an entry out.
    """
    found = [one for one in ports() if one.port == port]
    if process and found:
        name = process.lower()
        own = [one for one in found if one.service.lower().replace(" ", "") in name]
        found = own or [one for one in found if not name.startswith(("org.apache", "com."))]
    return found[0] if found else None


def reachable(row: dict[str, Any]) -> bool:
    """Whether other hosts reach a listening socket; one without an address counts as reachable."""
    address = row.get("address")
    if address is None:
        return True
    try:
        return not is_loopback(str(address))
    except ValueError:
        return True


def listening(host: HostFacts) -> list[dict[str, Any]]:
    """Listening sockets with port, once for each port and address."""
    return [row for row in host.table("listening") if isinstance(row.get("port"), int)]


def open_services(evidence: Evidence) -> Iterator[Outcome]:
    """Reachable ports of services that admit everybody with their default settings."""
    secure = kerberos(evidence) if evidence.conf.entries else False
    seen, found = set(), 0
    for row in listening(evidence.one):
        entry = purpose(row["port"], row.get("process"))
        if row["port"] in seen or entry is None or not entry.open or not reachable(row):
            continue
        seen.add(row["port"])
        if secure and entry.service in ("HDFS", "YARN", "MapReduce"):
            yield unknown(
                f"port {row['port']}: Kerberos is on; probe it with --probe", str(row["port"])
            )
            continue
        found += 1
        where = row.get("address") or "interface not stated"
        text = f"port {row['port']} ({entry.purpose}, {where}): {entry.open}"
        yield failed(text, entry.remedy, about=str(row["port"]), severity=entry.severity)
    if not seen:
        yield passed("no port of a service that is open by default")


def unknown_ports(evidence: Evidence) -> Iterator[Outcome]:
    """Reachable ports whose purpose and process nobody knows."""
    found = False
    for row in listening(evidence.one):
        if row.get("protocol") != "TCP" or not reachable(row):
            continue
        if row.get("process") or purpose(row["port"]) is not None:
            continue
        found = True
        where = row.get("address") or "interface not stated"
        text = f"port {row['port']} ({where}): in no catalogue, process not known"
        yield unknown(text, str(row["port"]))
    if not found:
        yield passed("each reachable port has a known purpose or process")


def jmx(evidence: Evidence) -> Iterator[Outcome]:
    """Ports of remote JMX, which runs code for everybody without authentication."""
    rows = [
        row
        for row in listening(evidence.one)
        if (entry := purpose(row["port"])) is not None and "JMX" in entry.purpose and reachable(row)
    ]
    for row in rows:
        entry = purpose(row["port"])
        assert entry is not None
        yield failed(f"port {row['port']}: {entry.purpose}", about=str(row["port"]))
    if not rows:
        yield passed("no port of remote JMX is reachable")


def end_of_life(evidence: Evidence) -> Iterator[Outcome]:
    """Software on the host, by the jars of its JVMs and its system, past its end of life."""
    today = dt.datetime.now(dt.UTC).date()
    versions: set[tuple[str, str]] = set()  # of one software, JVMs can have several
    hidden = 0
    for row in evidence.one.facts.get("jvms", {}).get("value") or []:
        jars = row.get("jars")
        hidden += jars is None
        versions |= {(str(name), str(version)) for name, version in (jars or {}).items()}
    system = evidence.one.facts.get("os", {}).get("value") or {}
    if system.get("id"):
        versions.add((str(system["id"]), str(system.get("version", ""))))
    if hidden:
        yield unknown(f"JVMs without a readable class path: {hidden}; collect the facts as root")
    elif not versions:
        yield unknown("neither the system nor a JVM could be read")
    if not versions:
        return
    looked_up, _ = end_of_life_sources()
    bad = False
    for one, version in _known(versions):
        if one.until > today or not in_range(version, one.versions):
            continue
        bad = True
        text = f"{one.software} {version}: not maintained since {one.until}; {one.faults}"
        if _OF_A_VENDOR.search(version):
            yield unknown(f"{text}; a build of a vendor can have the corrections", one.software)
        else:
            yield failed(text, one.remedy, about=one.software, severity=one.severity)
    if not bad:
        said = ", ".join(f"{name} {version}" for name, version in sorted(versions))
        yield passed(f"{said} (by the dates known on {looked_up})")


def _known(versions: Iterable[tuple[str, str]]) -> Iterator[tuple[EndOfLife, str]]:
    """The entries of the catalogue for some software, with its version."""
    for name, version in sorted(versions):
        yield from ((one, version) for one in ends_of_life() if one.software == name)


RULES = {
    "open_services": open_services,
    "unknown_ports": unknown_ports,
    "jmx": jmx,
    "end_of_life": end_of_life,
}
