"""CPUs, mounts, NICs, limits, names and start-up files of a host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from windtunnel.audit.evidence import Evidence
from windtunnel.audit.facts import AbsentFactError, HostFacts, UnreadableError, is_loopback
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.cluster.nic_speed import known_mbit_s

_LATENCY_US = 100
_OPEN_FILES = 32768
_PROCESSES = 16384
_FAST_MBIT_S = 10_000
_SYSTEM_MOUNTS = re.compile(r"/(boot(/.*)?|snap/.*|run/.*|var/lib/docker/.*|sys/.*|proc/.*|dev/.*)")
_HADOOP = re.compile(
    r"org\.apache\.(hadoop|hbase|zookeeper|hive|spark|oozie)\.(?!.*(YarnChild|MRAppMaster|TestDFSIO))"
)


def governors(evidence: Evidence) -> Iterator[Outcome]:
    """The governors of all CPUs."""
    found = evidence.one.mapping("governors")
    slow = {name: count for name, count in found.items() if name != "performance"}
    text = ", ".join(f"{count} CPUs {name}" for name, count in sorted(found.items()))
    yield failed(text) if slow else passed(text)


def idle_states(evidence: Evidence) -> Iterator[Outcome]:
    """Idle states with a long exit latency that are on."""
    deep = [
        f"{row.get('name')} ({row.get('latency_us')} us)"
        for row in evidence.one.table("idle_states")
        if not row.get("disabled") and float(row.get("latency_us") or 0) > _LATENCY_US
    ]
    yield failed(f"on: {', '.join(deep)}") if deep else passed("no deep idle state is on")


def _data_mounts(host: HostFacts) -> list[dict[str, Any]]:
    rows = host.table("mounts")
    return [
        row
        for row in rows
        if str(row.get("type")) in ("ext3", "ext4", "xfs", "btrfs")
        and not _SYSTEM_MOUNTS.fullmatch(str(row.get("point")))
    ]


def mount_atime(evidence: Evidence) -> Iterator[Outcome]:
    """Access times of each file system."""
    for row in _data_mounts(evidence.one):
        options, point = row.get("options") or [], str(row.get("point"))
        good = {"noatime", "relatime"} & set(options)
        text = f"{point} ({row.get('type')}): {','.join(map(str, options))}"
        yield passed(text, point) if good else failed(text, about=point)


def mount_sync(evidence: Evidence) -> Iterator[Outcome]:
    """Synchronous file systems."""
    for row in _data_mounts(evidence.one):
        options, point = set(map(str, row.get("options") or [])), str(row.get("point"))
        bad = sorted(options & {"sync", "data=journal"})
        yield failed(f"{point}: {', '.join(bad)}", about=point) if bad else passed(point, point)


def rings(evidence: Evidence) -> Iterator[Outcome]:
    """The receive ring of each physical NIC against its maximum."""
    found = False
    for row in evidence.one.table("nics"):
        sizes, name = row.get("rings"), str(row.get("name"))
        if not row.get("physical") or row.get("state") != "up":
            continue
        found = True
        if not isinstance(sizes, dict) or not sizes.get("rx_max"):
            yield unknown("the driver does not report its rings", name)
            continue
        now, most = int(sizes.get("rx") or 0), int(sizes["rx_max"])
        text = f"{name}: receive ring {now} of at most {most}"
        remedy = f"ethtool -G {name} rx {most}"
        yield failed(text, remedy, about=name) if now < most else passed(text, name)
    if not found:
        yield not_applicable("no physical NIC is up")


def fast_nic(evidence: Evidence) -> Iterator[Outcome]:
    """Whether a NIC has 10 Gb/s or more: a condition of other checks."""
    speeds = [known_mbit_s(row.get("speed_mbit_s")) or 0 for row in evidence.one.table("nics")]
    fast = any(speed >= _FAST_MBIT_S for speed in speeds)
    yield passed("fast" if fast else "slow or unknown")


def _limit(evidence: Evidence, key: str, item: str, least: int) -> Iterator[Outcome]:
    host = evidence.one
    jvms = [row for row in host.table("jvms") if _HADOOP.match(str(row.get("main", "")))]
    found: dict[tuple[str, str], Any] = {}
    for row in jvms:
        name, user = str(row["main"]).rpartition(".")[2], str(row.get("user"))
        known = [value for value in (found.get((name, user)), row.get(key)) if value is not None]
        found[name, user] = min(known, key=_finite, default=None)
    for (name, user), value in sorted(found.items()):
        about = f"{name} of {user}"
        if not isinstance(value, int):
            yield unknown(f"the limit of {name} was not collected", about)
            continue
        text = f"{name} (user {user}): {'unlimited' if value < 0 else value}"
        yield passed(text, about) if _finite(value) >= least else failed(text, about=about)
    if not jvms:
        yield from _files_limit(host, item, least)


def _finite(value: Any) -> float:
    """A limit as a number; -1 is unlimited."""
    return float("inf") if value < 0 else float(value)


def _files_limit(host: HostFacts, item: str, least: int) -> Iterator[Outcome]:
    """Without daemons: the files of pam_limits for the accounts of Hadoop."""
    accounts = ("hdfs", "yarn", "mapred", "hadoop", "@hadoop", "*", "hbase")
    rows = [
        row
        for row in host.table("limits")
        if row.get("item") == item and row.get("domain") in accounts
    ]
    if not rows:
        yield not_applicable("no Hadoop daemon runs, and no file of limits names its accounts")
    for row in rows:
        text, about = str(row.get("value")), f"{row.get('domain')} {row.get('type')}"
        good = text in ("unlimited", "infinity", "-1") or (text.isdigit() and int(text) >= least)
        where = f"{row.get('file')}:{row.get('line')}: {about} {item} {text}"
        yield passed(where, about) if good else failed(where, about=about)


def open_files(evidence: Evidence) -> Iterator[Outcome]:
    """The limit of open files of each daemon."""
    yield from _limit(evidence, "open_files", "nofile", _OPEN_FILES)


def processes(evidence: Evidence) -> Iterator[Outcome]:
    """The limit of processes and threads of each daemon."""
    yield from _limit(evidence, "processes", "nproc", _PROCESSES)


def names(evidence: Evidence) -> Iterator[Outcome]:
    """Forward and reverse resolution of the host's own name."""
    found = evidence.one.mapping("names")
    own, error = str(found.get("name", "")), found.get("error")
    if error:
        yield failed(f"{own} does not resolve: {error}")
        return
    addresses = [str(one) for one in found.get("addresses") or []]
    outside = [one for one in addresses if not is_loopback(one)]
    if not outside:
        yield failed(f"{own} resolves to {', '.join(addresses) or 'nothing'} only")
        return
    reverse = found.get("reverse") or {}
    wrong = [
        f"{address} resolves back to {reverse.get(address) or 'nothing'}"
        for address in outside
        if str(reverse.get(address) or "").split(".")[0] != own.split(".")[0]
    ]
    yield failed("; ".join(wrong)) if wrong else passed(f"{own}: {', '.join(outside)}")


def boot_in_force(evidence: Evidence) -> Iterator[Outcome]:
    """Values that start-up files set, against the values in force."""
    host = evidence.one
    compared = 0
    for row in host.table("boot"):
        text, place = str(row.get("text", "")), f"{row.get('file')}:{row.get('line')}"
        for pattern, read in _BOOT:
            match = re.search(pattern, text)
            if not match:
                continue
            try:
                now = read(host, match)
            except (UnreadableError, AbsentFactError) as error:
                yield unknown(f"{text}: {error}", text)
                break
            compared += 1
            if now != match["value"]:
                yield failed(f"{place}: {text}; in force: {now}", about=text, place=place)
            else:
                yield passed(f"{place}: {text}", text)
            break
    if not compared:
        yield not_applicable("no start-up file sets a value that can be compared")


def _governor(host: HostFacts, _: re.Match[str]) -> str:
    return ",".join(sorted(host.mapping("governors")))


def _huge(host: HostFacts, match: re.Match[str]) -> str:
    return str(host.get(f"thp_{match['part']}"))


def _nic(key: str) -> Callable[[HostFacts, re.Match[str]], str]:
    def read(host: HostFacts, match: re.Match[str]) -> str:
        rows = [row for row in host.table("nics") if row.get("name") == match["nic"]]
        if not rows:
            raise UnreadableError(f"no NIC {match['nic']} was collected")
        return str(rows[0].get(key))

    return read


_BOOT: tuple[tuple[str, Callable[[HostFacts, re.Match[str]], str]], ...] = (
    (r"(?P<value>\w+)\s*>\s*\S*scaling_governor", _governor),
    (r"(?P<value>\w+)\s*>\s*\S*transparent_hugepage/(?P<part>enabled|defrag)", _huge),
    (r"(ifconfig|ip link set)\s+(dev\s+)?(?P<nic>\S+)\s.*?mtu\s+(?P<value>\d+)", _nic("mtu")),
    (
        r"(ifconfig|ip link set)\s+(dev\s+)?(?P<nic>\S+)\s.*?txqueuelen\s+(?P<value>\d+)",
        _nic("txqueuelen"),
    ),
)

RULES = {
    "governors": governors,
    "idle_states": idle_states,
    "mount_atime": mount_atime,
    "mount_sync": mount_sync,
    "rings": rings,
    "fast_nic": fast_nic,
    "open_files": open_files,
    "processes": processes,
    "names": names,
    "boot_in_force": boot_in_force,
}
