"""The state of the machine, for a comparison before and after, and what a fabric lacks on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}  # <linux/capability.h>
_MAKERS = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
_SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_BDI = ("strict_limit", "max_ratio_fine", "min_ratio_fine", "max_ratio", "min_ratio")


@dataclass(frozen=True)
class Lack:
    """A feature that the machine lacks; without a ``fatal`` one no fabric can be built."""

    what: str
    remedy: str
    fatal: bool = True


def machine_state() -> dict[str, list[str]]:
    """A list of everything that a fabric changes; Linux only. Raises OSError.

    Links, addresses, routes and qdiscs of the machine's own network namespace, named and
    mounted namespaces, mounts, loop devices, control groups of the first level, settings of
    backing devices, rules of the root blkio group.
    """
    return {
        "links": _links(),
        "namespaces": [*_names(Path("/run/netns")), *_names(Path("/etc/netns"))],
        "mounts": sorted(_fields(Path("/proc/self/mountinfo"))),
        "loops": _loops(),
        "groups": _groups(),
        "bdi": _settings(Path("/sys/class/bdi"), _BDI),
        "blkio rules": _rules(),
    }


def differences(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> list[str]:
    """Added and removed entries between two states, one line each."""
    found = []
    for kind in before:
        old, new = set(before[kind]), set(after[kind])
        found += [f"{kind}: + {line}" for line in sorted(new - old)]
        found += [f"{kind}: - {line}" for line in sorted(old - new)]
    return found


def _links() -> list[str]:
    from pyroute2 import IPRoute

    with IPRoute() as links:
        names = {link["index"]: link.get_attr("IFLA_IFNAME") for link in links.get_links()}
        found = [f"link {name} {index}" for index, name in names.items()]
        found += [
            f"address {names[entry['index']]} {entry.get_attr('IFA_ADDRESS')}"
            for entry in links.get_addr()
        ]
        found += [
            f"route {entry.get_attr('RTA_DST')}/{entry['dst_len']} "
            f"{names.get(entry.get_attr('RTA_OIF'))}"
            for entry in links.get_routes()
        ]
        found += [
            f"qdisc {names.get(entry['index'])} {entry.get_attr('TCA_KIND')} {entry['handle']}"
            for entry in links.get_qdiscs()
        ]
    return sorted(found)


def _names(folder: Path) -> list[str]:
    return sorted(str(entry) for entry in folder.iterdir()) if folder.is_dir() else []


def _fields(mountinfo: Path) -> list[str]:
    """Place, kind and source of each mount, without the numbers that change."""
    found = []
    for line in mountinfo.read_text().splitlines():
        left, right = line.split(" - ", 1)
        found.append(f"{left.split(' ')[4]} {right.split(' ')[0]} {right.split(' ')[1]}")
    return found


def _loops() -> list[str]:
    found = []
    for device in sorted(Path("/sys/block").glob("loop*")):
        image = ""
        with contextlib.suppress(OSError):
            image = (device / "loop/backing_file").read_text().strip()
        found.append(f"{device.name} {image}".strip())
    return found


def _groups() -> list[str]:
    roots = [
        line.split(" ")[1]
        for line in Path("/proc/self/mounts").read_text().splitlines()
        if line.split(" ")[2] in ("cgroup", "cgroup2")
    ]
    return sorted(str(entry) for root in roots for entry in Path(root).iterdir() if entry.is_dir())


def _device(number: str) -> str:
    """A device number, with the image of a loop device, which identifies its owner."""
    with contextlib.suppress(OSError):
        image = Path(f"/sys/dev/block/{number}/loop/backing_file").read_text().strip()
        return f"{number} ({image})"
    return number


def _settings(folder: Path, names: tuple[str, ...]) -> list[str]:
    found = []
    for device in sorted(folder.iterdir()):
        for name in names:
            with contextlib.suppress(OSError):  # removed meanwhile, or not in this kernel
                found.append(f"{_device(device.name)} {name} {(device / name).read_text().strip()}")
    return found


def _rules() -> list[str]:
    from windtunnel.hosts.fabric.groups import find_trees

    root = find_trees().v1.get("blkio")
    files = sorted(root.glob("blkio.throttle.*_device")) if root else []
    rules = [(file.name, *line.split()) for file in files for line in file.read_text().splitlines()]
    return [f"{name} {_device(number)} {rate}" for name, number, rate in rules]


def capabilities(file_system: str = "ext4") -> list[Lack]:
    """What this machine lacks for virtual hosts; they can be built if nothing is fatal.

    ``file_system`` is the file system of the disks, ext4 or xfs.
    """
    if sys.platform != "linux":
        return [Lack("Linux", "use a Linux machine; 'local' and 'modelled' work on this one.")]
    missing = _missing_rights()
    if missing:
        return [Lack(", ".join(missing), "run as root; the testbed 'local' needs no rights.")]
    tools = _missing_tools(file_system)
    return [*tools, *_missing_groups(), *_missing_disks(), *_missing_links()]


def _missing_rights() -> list[str]:
    status = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
    missing = [name for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    return missing if os.geteuid() == 0 else ["root", *missing]


def _missing_tools(file_system: str) -> list[Lack]:
    tool = f"mkfs.{file_system}"
    if shutil.which(tool) or shutil.which(tool, path=_SYSTEM_PATH):
        return []
    other = "xfs" if file_system == "ext4" else "ext4"
    remedy = f"install {_MAKERS[file_system]}, or write 'storage.file_system: {other}'."
    return [Lack(f"the program {tool}", remedy)]


def _missing_groups() -> list[Lack]:
    from windtunnel.hosts.fabric.groups import find_trees

    remedy = "mount the cgroup controllers, or boot a kernel with them."
    return [Lack(f"the cgroup controller {name}", remedy) for name in find_trees().missing()]


def _missing_disks() -> list[Lack]:
    from windtunnel.hosts.syscalls import LOOP_CONTROL

    lacks = []
    if not LOOP_CONTROL.exists():
        lacks.append(Lack("loop devices", "load the kernel module 'loop'."))
    if not any(Path("/sys/class/bdi").glob("*/strict_limit")):
        what = "strict_limit of backing devices (Linux 6.2): the page cache absorbs writes"
        lacks.append(Lack(what, "use a newer kernel.", fatal=False))
    return lacks


def _missing_links() -> list[Lack]:
    try:
        from windtunnel.hosts.fabric.shaping import kernel_kinds

        kinds = kernel_kinds()
    except (OSError, ImportError) as error:
        return [Lack(f"network namespaces ({error})", "run where they can be created.")]
    lacks = [
        Lack(f"links of kind {kind}", f"load the kernel module '{kind}'.")
        for kind in ("bridge", "veth")
        if not kinds[kind]
    ]
    if not kinds["tbf"]:
        lacks.append(Lack("the shaper tbf", "load the kernel module 'sch_tbf'."))
    if not kinds["netem"]:
        remedy = "if latency is a factor, use a kernel with the module 'sch_netem'."
        lacks.append(Lack("netem (added latency)", remedy, fatal=False))
    return lacks
