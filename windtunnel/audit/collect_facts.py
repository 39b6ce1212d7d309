#!/usr/bin/env python3
"""Collect the facts of this host as JSON: one file, standard library only, Python 3.6 or newer.

    python3 collect_facts.py > facts.json

It reads files below /proc, /sys and /etc and changes nothing. Each fact is one of
``{"value": ...}``, ``{"absent": REASON}`` (the host does not have it) and
``{"unreadable": REASON}``. Command lines, environments and contents of key files are not recorded.
"""

# This file is copied to hosts whose Python is older than that of Windtunnel: no newer syntax.
import array
import collections
import ctypes
import fcntl
import glob
import json
import os
import pwd
import re
import socket
import stat
import struct
import sys
import time
from typing import Any, Callable, Dict, List, Optional

SCHEMA = 1
KIND = "windtunnel-facts"
MAX_FILE_BYTES = 1 << 20
MAX_PROCESSES = 20000
MAX_NAMESPACES = 256
_ETHTOOL = 0x8946  # SIOCETHTOOL of linux/sockios.h
_RINGS = 0x10  # ETHTOOL_GRINGPARAM of linux/ethtool.h
_UNSYNCHRONISED = 0x40  # STA_UNSYNC of linux/timex.h
_LISTEN = "0A"  # TCP_LISTEN of linux/tcp.h as /proc/net/tcp prints it
_SYSCTL_FILES = (
    "usr/lib/sysctl.d/*.conf",
    "run/sysctl.d/*.conf",
    "etc/sysctl.d/*.conf",
    "etc/sysctl.conf",
)
_BOOT_FILES = (
    "etc/rc.local",
    "etc/rc.d/rc.local",
    "etc/rc.d/init.d/onBoot*",
    "etc/init.d/onBoot*",
    "etc/cron.d/*",
    "etc/udev/rules.d/*.rules",
    "etc/tuned/active_profile",
)
_KEYTABS = (
    "etc/krb5.keytab",
    "etc/security/keytabs/*",
    "etc/hadoop*/*.keytab",
    "etc/hadoop*/*/*.keytab",
    "var/run/cloudera-scm-agent/process/*/*.keytab",
)
_TUNES = re.compile(
    r"/sys/|/proc/sys|\b(sysctl|ifconfig|ethtool|blockdev|cpupower|setpci|tuned-adm|hdparm)\b"
    r"|\bip\s+link\b|scaling_governor|transparent_hugepage|ATTR\{queue"
)
# as windtunnel/cluster/secrets.py hides them, which is not on the host
_SECRET = re.compile(
    r"(?i)(pass(?:word|wd|phrase)?|pwd|secret|token|credential|signature"
    r"|(?:api|access|account|auth|encryption|private|shared)[-_.]?key)\s*[=:]?\s*\S+"
)
_USERINFO = re.compile(r"(://[^/\s:@]*):[^@\s]+@")
_THP = "sys/kernel/mm/transparent_hugepage/"
_NO_THP = "the kernel has no transparent huge pages"
_CLOCK_DAEMONS = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "openntpd")
_JAR = re.compile(
    r"(?:^|[/:])((?:hadoop-common|hbase-server|hive-exec|zookeeper|spark-core_[\d.]+"
    r"|kafka_[\d.]+|log4j(?!-1\.2-api)|log4j-core|oozie-core|hue))-(\d+(?:\.\d+)+[\w.-]*?)\.jar"
)
_SWAPPED = {ord("/"): ".", ord("."): "/"}
_MAIN = re.compile(r"[a-z][\w]*(\.[a-z_][\w]*)+\.[A-Z]\w*$")

Fact = Dict[str, Any]


class AbsentError(Exception):
    """The host does not have what a fact describes."""


class Reader:
    """Files of a host below a root folder (``/``, or a copy in a test)."""

    def __init__(self, root: str = "/") -> None:
        self.root = root

    def path(self, name: str) -> str:
        """The full path of a file of the host."""
        return os.path.join(self.root, name.lstrip("/"))

    def text(self, name: str) -> str:
        """The content of a file without white space at its ends; raises OSError."""
        with open(self.path(name), "rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace").strip()

    def found(self, pattern: str) -> List[str]:
        """Sorted names that match a pattern, relative to the root."""
        names = glob.glob(self.path(pattern))
        return sorted(os.path.relpath(name, self.root) for name in names)

    def present(self, name: str, why: str) -> str:
        """The content of a file; raises AbsentError if the file does not exist."""
        try:
            return self.text(name)
        except FileNotFoundError:
            raise AbsentError(why)


def collect(root: str = "/") -> Dict[str, Any]:
    """All facts of the host."""
    reader = Reader(root)
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "host": _host(reader),
        "collected_epoch_s": int(time.time()),
        "as_root": os.geteuid() == 0,
        "facts": {name: _fact(read, reader) for name, read in sorted(FACTS.items())},
    }


def _host(reader: Reader) -> str:
    try:
        return reader.text("proc/sys/kernel/hostname")
    except OSError:
        return socket.gethostname()


def _fact(read: Callable[[Reader], Any], reader: Reader) -> Fact:
    """What a function reads, as a fact; nothing that it raises ends the collection."""
    try:
        return {"value": read(reader)}
    except AbsentError as error:
        return {"absent": str(error)}
    except OSError as error:
        return {"unreadable": "%s: %s" % (error.filename or "", error.strerror or error)}
    except Exception as error:  # an unexpected form of a file of this kernel
        return {"unreadable": "%s: %s" % (type(error).__name__, error)}


# --- operating system and hardware ------------------------------------------------------------


def _os(reader: Reader) -> Any:
    lines = reader.present("etc/os-release", "no /etc/os-release").splitlines()
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    kept = {key: pairs.get(key, "").strip('"') for key in ("ID", "VERSION_ID", "PRETTY_NAME")}
    return {"id": kept["ID"], "version": kept["VERSION_ID"], "name": kept["PRETTY_NAME"]}


def _content(
    name: str, absent: str = "", change: Callable[[str], str] = str
) -> Callable[[Reader], Any]:
    """The content of a file as a fact; ``absent`` is the reason if the host may lack the file."""
    return lambda reader: change(reader.present(name, absent) if absent else reader.text(name))


def _cpu(reader: Reader) -> Any:
    blocks = reader.text("proc/cpuinfo").split("\n\n")
    entries = [dict(re.findall(r"^(.*?)\s*:\s*(.*?)\s*$", block, re.M)) for block in blocks]
    cpus = [entry for entry in entries if "processor" in entry]
    sockets = {entry.get("physical id", "0") for entry in cpus}
    cores = {(e.get("physical id", "0"), e.get("core id", e["processor"])) for e in cpus}
    model = cpus[0].get("model name", "") if cpus else ""
    return {
        "model": model,
        "sockets": len(sockets),
        "cores": len(cores),
        "threads": len(cpus),
        "virtual": "hypervisor" in (cpus[0].get("flags", "") if cpus else ""),
    }


def _governors(reader: Reader) -> Any:
    names = reader.found("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    if not names:
        raise AbsentError("the kernel offers no frequency scaling (no cpufreq), as in most guests")
    return dict(collections.Counter(map(reader.text, names)))


def _idle(reader: Reader) -> Any:
    states = reader.found("sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*")
    if not states:
        raise AbsentError("the kernel offers no idle states (no cpuidle), as in most guests")
    return [
        {
            "name": reader.text(state + "/name"),
            "latency_us": int(reader.text(state + "/latency")),
            "disabled": reader.text(state + "/disable") == "1",
        }
        for state in states
    ]


def _memory(reader: Reader) -> Any:
    lines = [line.split() for line in reader.text("proc/meminfo").splitlines()]
    sizes = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}
    return {
        "total_bytes": sizes["MemTotal"],
        "available_bytes": sizes.get("MemAvailable"),
        "swap_bytes": sizes.get("SwapTotal", 0),
        "swap_used_bytes": sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0),
    }


def _chosen(text: str) -> str:
    match = re.search(r"\[([\w+-]+)\]", text)
    return match.group(1) if match else text


def _numa(reader: Reader) -> Any:
    return {"nodes": max(1, len(reader.found("sys/devices/system/node/node[0-9]*")))}


# --- kernel parameters --------------------------------------------------------------------------


def _sysctl_values(reader: Reader) -> Any:
    """Values in force of every readable parameter with one line of text."""
    top = reader.path("proc/sys")
    values = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, top)
            if re.match(r"fs/binfmt_misc/|kernel/random/|net/ipv[46]/(neigh|conf)/[^ad]", key):
                continue
            if re.search(r"(stable_secret|tcp_fastopen_key)$", key):
                continue
            try:
                with open(path, "rb") as file:
                    text = file.read(512).decode("utf-8", "replace").strip()
            except OSError:
                continue  # some can only be written
            # the slashes of a path are the points of a name, and the points (VLANs) its slashes
            values[key.translate(_SWAPPED)] = " ".join(text.split())
    if not values:
        raise OSError(2, "no parameter can be read", top)
    return values


def _sysctl_files(reader: Reader) -> Any:
    """The settings in the host's own files, in the order in which they are applied."""
    settings = []
    names = {}  # type: Dict[str, str]
    for pattern in _SYSCTL_FILES:
        for name in reader.found(pattern):
            # a file in /etc replaces one with the same name in /usr/lib
            names[name if pattern.endswith("sysctl.conf") else os.path.basename(name)] = name
    unreadable = []
    order = sorted(names, key=lambda one: (one.startswith("etc/"), one))
    for base in order:
        name = names[base]
        try:
            lines = reader.text(name).splitlines()
        except OSError as error:
            unreadable.append("/%s: %s" % (name, error.strerror))
            continue
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line[0] in "#;" or "=" not in line:
                continue
            key, value = line.split("=", 1)
            key, value = _parameter(key.strip().lstrip("-")), " ".join(value.split())
            settings.append({"file": "/" + name, "line": number, "key": key, "value": value})
    return {"settings": settings, "unreadable": unreadable}


def _parameter(name: str) -> str:
    """The name of a parameter, whose first separator decides which one is used (sysctl.d(5))."""
    first = re.search("[/.]", name)
    return name.translate(_SWAPPED) if first and first.group() == "/" else name


def _boot(reader: Reader) -> Any:
    """The lines of start-up files that set kernel, CPU, disk or network values."""
    found = []
    for pattern in _BOOT_FILES:
        for name in reader.found(pattern):
            try:
                lines = reader.text(name).splitlines()
            except OSError:
                continue
            for number, line in enumerate(lines, 1):
                if _TUNES.search(line) and not line.lstrip().startswith("#"):
                    row = {"file": "/" + name, "line": number, "text": _hidden(line.strip()[:300])}
                    found.append(row)
    return found


def _hidden(text: str) -> str:
    return _USERINFO.sub(r"\1:(hidden)@", _SECRET.sub(r"\1=(hidden)", text))


# --- disks and network --------------------------------------------------------------------------


def _mounts(reader: Reader) -> Any:
    kept = []
    for line in reader.text("proc/mounts").splitlines():
        device, point, kind, options = line.split()[:4]
        if device.startswith("/dev/") or kind in ("nfs", "nfs4", "xfs", "ext4", "btrfs"):
            options = re.sub(r"(username|password|credentials)=[^,]*", r"\1=(hidden)", options)
            row = {"device": device, "point": point, "type": kind, "options": options.split(",")}
            kept.append(row)
    return kept


def _disks(reader: Reader) -> Any:
    found = []
    for name in reader.found("sys/block/*"):
        disk = os.path.basename(name)
        if re.match(r"(loop|ram|zram|dm-|md|sr|fd|nbd)", disk):
            continue
        found.append(
            {
                "name": disk,
                "size_bytes": int(reader.text(name + "/size")) * 512,
                "rotational": reader.text(name + "/queue/rotational") == "1",
                "read_ahead_kb": int(reader.text(name + "/queue/read_ahead_kb")),
                "scheduler": _chosen(reader.text(name + "/queue/scheduler")),
                "nr_requests": int(reader.text(name + "/queue/nr_requests")),
                "virtual": disk.startswith(("vd", "xvd")),
            }
        )
    if not found:
        raise AbsentError("no disk in /sys/block")
    return found


def _nics(reader: Reader) -> Any:
    found = []
    for name in reader.found("sys/class/net/*"):
        nic = os.path.basename(name)
        if nic == "lo" or not os.path.isdir(reader.path(name)):
            continue
        row = {
            "name": nic,
            "mtu": int(reader.text(name + "/mtu")),
            "txqueuelen": int(reader.text(name + "/tx_queue_len")),
            "state": reader.text(name + "/operstate"),
            "physical": os.path.exists(reader.path(name + "/device")),
            "receive_queues": len(reader.found(name + "/queues/rx-*")),
        }
        try:
            row["speed_mbit_s"] = int(reader.text(name + "/speed"))
        except (OSError, ValueError):
            row["speed_mbit_s"] = None  # a link that is down, or a virtual one
        row["rings"] = _rings(nic) if reader.root == "/" else None
        found.append(row)
    if not found:
        raise AbsentError("no NIC except loopback")
    return found


def _rings(nic: str) -> Optional[Dict[str, int]]:
    """Sizes of the ring buffers; None if the driver does not report them."""
    data = array.array("B", struct.pack("I8I", _RINGS, *([0] * 8)))
    request = struct.pack("16sP", nic.encode()[:15], data.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock.fileno(), _ETHTOOL, request)
    except OSError:
        return None
    _, rx_max, _, _, tx_max, rx, _, _, tx = struct.unpack("I8I", data.tobytes())
    return {"rx": rx, "rx_max": rx_max, "tx": tx, "tx_max": tx_max}


def _listening(reader: Reader) -> Any:
    """Sockets that accept connections, with the process and its user where they can be read.

    Sockets of other network namespaces (containers) have the name of their namespace.
    """
    owners = _socket_owners(reader)
    found = []
    for namespace, folder in _namespaces(reader):
        for name, protocol in (("tcp", "TCP"), ("tcp6", "TCP"), ("udp", "UDP"), ("udp6", "UDP")):
            try:
                lines = reader.text(folder + name).splitlines()[1:]
            except OSError:
                if not namespace and name == "tcp":
                    raise
                continue  # without IPv6, or a process that has just ended
            rows = (_socket(line.split(), protocol) for line in lines)
            for row in rows:
                if row is not None:
                    inode = row.pop("inode")
                    row.update(owners.get(inode, {"pid": None, "process": None}))
                    row["namespace"] = namespace
                    found.append(row)
    return sorted(found, key=lambda r: (r["namespace"], r["protocol"], r["port"], r["address"]))


def _socket(words: List[str], protocol: str) -> Optional[Dict[str, Any]]:
    """One line of /proc/net; None if the socket does not wait for connections."""
    if protocol == "TCP" and words[3] != _LISTEN:
        return None
    if protocol == "UDP" and words[2].split(":")[1] != "0000":
        return None
    address, port = words[1].split(":")
    return {
        "protocol": protocol,
        "address": _address(address),
        "port": int(port, 16),
        "user": _user(int(words[7])),
        "inode": words[9],
    }


def _namespaces(reader: Reader) -> List[Any]:
    """(name, folder) of the network namespaces: that of this process has no name."""
    found = [("", "proc/net/")]
    try:
        seen = {os.readlink(reader.path("proc/self/ns/net"))}
    except OSError:
        return found
    for pid in _pids(reader):
        try:
            name = os.readlink(reader.path("proc/%s/ns/net" % pid))
        except OSError:
            continue
        if name not in seen and len(seen) < MAX_NAMESPACES:
            seen.add(name)
            found.append((name, "proc/%s/net/" % pid))
    return found


def _address(text: str) -> str:
    raw = bytes.fromhex(text)
    words = [raw[i : i + 4][::-1] for i in range(0, len(raw), 4)]
    data = b"".join(words)
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def _socket_owners(reader: Reader) -> Dict[str, Dict[str, Any]]:
    owners = {}  # type: Dict[str, Dict[str, Any]]
    for pid in _pids(reader):
        try:
            links = os.listdir(reader.path("proc/%s/fd" % pid))
        except OSError:
            continue  # of another user, or just ended
        for link in links:
            try:
                target = os.readlink(reader.path("proc/%s/fd/%s" % (pid, link)))
            except OSError:
                continue
            if target.startswith("socket:["):
                owners[target[8:-1]] = {"pid": int(pid), "process": _name(reader, pid)}
    return owners


def _pids(reader: Reader) -> List[str]:
    names = os.listdir(reader.path("proc"))
    return sorted((name for name in names if name.isdigit()), key=int)[:MAX_PROCESSES]


def _words(reader: Reader, pid: str) -> List[str]:
    return reader.text("proc/%s/cmdline" % pid).split("\0")


def _name(reader: Reader, pid: str) -> str:
    """The name of a process; of a JVM, its main class. Its arguments are not recorded."""
    try:
        name = reader.text("proc/%s/comm" % pid)
        if name != "java":
            return name
        return next((w for w in _words(reader, pid)[1:] if _MAIN.match(w)), name)
    except OSError:
        return "unknown"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


# --- processes, limits, clock, names, files -------------------------------------------------------


def _jvms(reader: Reader) -> Any:
    """The JVMs on the host: main class, user, limits, versions of well-known jars."""
    found = []
    for pid in _pids(reader):
        try:
            if reader.text("proc/%s/comm" % pid) != "java":
                continue
            words = _words(reader, pid)
            status = reader.text("proc/%s/status" % pid)
            limits = reader.text("proc/%s/limits" % pid)
        except OSError:
            continue
        uid = re.search(r"^Uid:\s+(\d+)", status, re.M)
        found.append(
            {
                "pid": int(pid),
                "main": next((w for w in words[1:] if _MAIN.match(w)), "unknown"),
                "user": _user(int(uid.group(1))) if uid else "unknown",
                "open_files": _limit(limits, "Max open files"),
                "processes": _limit(limits, "Max processes"),
                "heap_bytes": _heap(words),
                "jars": _jars(reader, pid, words),
            }
        )
    return found


def _heap(words: List[str]) -> Optional[int]:
    """The largest heap that a command line states, in bytes; the last statement counts."""
    for word in reversed(words):
        match = re.match(r"-Xmx(\d+)([kKmMgG]?)$", word)
        if match:
            power = {"": 0, "k": 1, "m": 2, "g": 3}[match.group(2).lower()]
            return int(match.group(1)) << (10 * power)
    return None


def _jars(reader: Reader, pid: str, words: List[str]) -> Optional[Dict[str, str]]:
    """Versions of the well-known jars of a class path, its folders included.

    None if no jar at all is known: the class path may be that of another user's environment.
    """
    paths = []  # type: List[str]
    for word in [*words, _class_path(reader, pid)]:
        for part in word.split(":"):
            if part.endswith(".jar"):
                paths.append(part)
            elif part.endswith("/*"):
                paths += glob.glob(reader.path(part + ".jar"))
    if not paths:
        return None
    return {match.group(1): match.group(2) for match in map(_JAR.search, paths) if match}


def _class_path(reader: Reader, pid: str) -> str:
    """The class path in the environment of a process, as Hadoop's scripts set it."""
    try:
        variables = reader.text("proc/%s/environ" % pid).split("\0")
    except OSError:
        return ""  # of another user
    return next((one[10:] for one in variables if one.startswith("CLASSPATH=")), "")


def _limit(text: str, name: str) -> Any:
    match = re.search(r"^" + re.escape(name) + r"\s+(\S+)", text, re.M)
    if not match:
        return None
    return -1 if match.group(1) == "unlimited" else int(match.group(1))


def _limits(reader: Reader) -> Any:
    """The lines of the files of pam_limits, and the limits of this process."""
    lines = []
    for pattern in ("etc/security/limits.conf", "etc/security/limits.d/*.conf"):
        for name in reader.found(pattern):
            for number, line in enumerate(reader.text(name).splitlines(), 1):
                words = line.split("#")[0].split()
                if len(words) == 4:
                    row = dict(zip(("domain", "type", "item", "value"), words))
                    lines.append(dict(row, file="/" + name, line=str(number)))
    return lines


def _clock(reader: Reader) -> Any:
    if reader.root != "/":
        raise AbsentError("the clock of a copied host")
    buffer = ctypes.create_string_buffer(512)  # struct timex of linux/timex.h, 64 bits
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(buffer) < 0:
        raise OSError(ctypes.get_errno(), "adjtimex failed", "clock")
    status = struct.unpack_from("i", buffer.raw, 40)[0]
    running = {_name(reader, pid) for pid in _pids(reader)}
    return {
        "synchronised": not status & _UNSYNCHRONISED,
        "daemons": sorted(running.intersection(_CLOCK_DAEMONS)),
        "source": reader.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }


def _names(reader: Reader) -> Any:
    """The host's own name, its addresses, and the names to which they resolve."""
    if reader.root != "/":
        raise AbsentError("the name resolution of a copied host")
    name = socket.gethostname()
    started = time.time()
    try:
        addresses = sorted({str(row[4][0]) for row in socket.getaddrinfo(name, None)})
    except OSError as error:
        return {"name": name, "full": name, "addresses": [], "reverse": {}, "error": str(error)}
    reverse = {}  # type: Dict[str, Optional[str]]
    for address in addresses[:8]:
        try:
            reverse[address] = socket.gethostbyaddr(address)[0]
        except OSError:
            reverse[address] = None
    return {
        "name": name,
        "full": socket.getfqdn(name),
        "addresses": addresses,
        "reverse": reverse,
        "elapsed_s": round(time.time() - started, 3),
        "error": None,
    }


def _keytabs(reader: Reader) -> Any:
    """Names, owners and permissions of key tables; their contents are not read."""
    found = []
    for pattern in _KEYTABS:
        for name in reader.found(pattern):
            status = os.stat(reader.path(name))
            if stat.S_ISREG(status.st_mode):
                mode = "%04o" % stat.S_IMODE(status.st_mode)
                row = {"path": "/" + name, "mode": mode, "owner": _user(status.st_uid)}
                found.append(row)
    return found


def _exports(reader: Reader) -> Any:
    lines = reader.present("etc/exports", "the host exports nothing over NFS").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip() and line.lstrip()[0] != "#"]


FACTS = {
    "boot": _boot,
    "clock": _clock,
    "cpu": _cpu,
    "disks": _disks,
    "exports": _exports,
    "governors": _governors,
    "idle_states": _idle,
    "jvms": _jvms,
    "kernel": _content("proc/sys/kernel/osrelease"),
    "kernel_command_line": _content("proc/cmdline", change=_hidden),
    "keytabs": _keytabs,
    "limits": _limits,
    "listening": _listening,
    "memory": _memory,
    "mounts": _mounts,
    "names": _names,
    "nics": _nics,
    "numa": _numa,
    "os": _os,
    "smt": _content("sys/devices/system/cpu/smt/control", "no SMT control in this kernel"),
    "sysctl": _sysctl_values,
    "sysctl_files": _sysctl_files,
    "thp_defrag": _content(_THP + "defrag", _NO_THP, _chosen),
    "thp_enabled": _content(_THP + "enabled", _NO_THP, _chosen),
}  # type: Dict[str, Callable[[Reader], Any]]


if __name__ == "__main__":
    json.dump(collect(), sys.stdout, indent=1, sort_keys=True)
    print()
