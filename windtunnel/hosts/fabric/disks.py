"""Disks of virtual hosts: an image, a loop device with direct I/O, a file system, a mount.

A rule of the kernel's block throttling on the loop device sets the rate. The page cache could
absorb writes faster: the device's dirty pages are limited to about one second of writes, and at
least 8 MiB (``strict_limit`` and ``max_bytes`` of its backing device; docs/decisions/0096).
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.errors import NotRealisableError
from windtunnel.hosts import syscalls
from windtunnel.hosts.fabric.groups import Group, Trees
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.fabric.plan import DiskPlan, HostPlan

# numbers far from those that losetup assigns (it starts at 0), to avoid conflicts
_FIRST_LOOP, _LOOPS = 10_000, 50_000
_DIRTY_S = 1.0  # the page cache may hold writes of this time for a disk
_LEAST_DIRTY_BYTES = 8 << 20  # with less, the kernel's large writes leave the disk idle in between
_COPY_BYTES = 4 << 20
_CONTROLLER_SPARE = 1.03  # space for the outer file system itself, as a factor and in bytes
_CONTROLLER_SPARE_BYTES = 96 << 20
_THREADS = 8

_MAKE = {  # few inodes and a small journal: Hadoop's files are few and large
    "ext4": "mkfs.ext4 -q -F -m 0 -i 65536 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0",
    "xfs": "mkfs.xfs -q -f",
}
_MOUNT_OPTIONS = {"ext4": "", "xfs": "nouuid"}  # all disks are copies of one file system
_V1_FILES = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}


@dataclass
class Disk:
    """A mounted disk: its loop device, image, mount point and present plan."""

    host: str
    plan: DiskPlan
    index: int
    image: Path
    mount: Path

    @property
    def device(self) -> str:
        """ "MAJOR:MINOR"."""
        return syscalls.device_number(self.index)

    def counters(self) -> tuple[int, int]:
        """Bytes read and written since the disk was built (512 per sector, as in the kernel)."""
        fields = Path(f"/sys/block/loop{self.index}/stat").read_text().split()
        return int(fields[2]) * 512, int(fields[6]) * 512


class Disks:
    """All disks of a fabric.

    Parameters
    ----------
    folder:
        The deployment's scratch folder: images are in ``images``, host H's disk D is mounted
        on ``H/disks/D``.
    trees, groups:
        Control groups; in version 2 the group of a host holds the rules of its disks.
    ledger:
        Records every change before it is made.
    """

    def __init__(
        self, folder: Path, trees: Trees, groups: Callable[[str], Group], ledger: Ledger
    ) -> None:
        self.notes: list[str] = []
        self._folder = folder
        self._images = folder / "images"
        self._trees = trees
        self._groups = groups
        self._ledger = ledger
        self._disks: dict[tuple[str, str], Disk] = {}
        self._controllers: dict[str, Disk] = {}
        self._templates: dict[int, Path] = {}
        self._loops: set[int] = set()  # chosen numbers; their devices are created later

    def build(self, hosts: tuple[HostPlan, ...], file_system: str) -> None:
        """Create and mount all disks. Raises OSError, NotRealisableError."""
        self._images.mkdir(parents=True, exist_ok=True)
        outer = [_controller(host) for host in hosts if host.controller_bytes_s and host.disks]
        self._controllers = {host: self._plan(host, plan) for host, plan in outer}
        self._set_up(list(self._controllers.values()), file_system)
        for host in hosts:
            for plan in host.disks:
                self._disks[host.name, plan.name] = self._plan(host.name, plan)
        self._set_up(list(self._disks.values()), file_system)
        for template in self._templates.values():
            template.unlink()
        if not all(syscalls.loop_fact(disk.index, "dio") == "1" for disk in self._disks.values()):
            self.notes.append(
                f"the file system of {self._folder} has no direct I/O: the machine's page cache "
                "also holds the disks' data, so repeated reads may be faster than the set rate"
            )

    def of(self, host: str) -> dict[str, Disk]:
        """The disks of a host by name."""
        return {name: disk for (owner, name), disk in self._disks.items() if owner == host}

    def set_rate(self, host: str, disk: str, plan: DiskPlan) -> None:
        """Set the rates of a disk to those of a plan (not its size or name), live.

        Raises OSError.
        """
        found = self._disks[host, disk]
        found.plan = replace(plan, name=disk, size_bytes=found.plan.size_bytes)
        self._limit(found)

    def set_controller_rate(self, host: str, rate_bytes_s: float | None) -> None:
        """Set the common limit of a host's disks, per direction, live. Raises OSError."""
        outer = self._controllers.get(host)
        if outer is None:
            raise NotRealisableError(
                f"host {host} was built without a controller limit, which cannot be added now",
                remedy="build the cluster again, with a controller limit from the start.",
            )
        outer.plan = replace(outer.plan, read_bytes_s=rate_bytes_s, write_bytes_s=rate_bytes_s)
        self._limit(outer)

    def _plan(self, host: str, plan: DiskPlan) -> Disk:
        outer = self._controllers.get(host)
        image = outer.mount / plan.name if outer else self._images / f"{host}-{plan.name}"
        index = _free_loop(self._loops)
        self._loops.add(index)
        return Disk(host, plan, index, image, self._folder / host / "disks" / plan.name)

    def _set_up(self, disks: list[Disk], file_system: str) -> None:
        """Create, mount and limit several disks in parallel."""
        if not disks:
            return
        for size in {disk.plan.size_bytes for disk in disks} - self._templates.keys():
            self._templates[size] = make_template(self._images, size, file_system)
        self._ledger.note(*(record for disk in disks for record in _records(disk)))
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda disk: self._set_up_one(disk, file_system), disks))
        self._ledger.note(*(record for disk in disks for record in self._rules(disk)))
        for disk in disks:
            self._limit(disk)

    def _set_up_one(self, disk: Disk, file_system: str) -> None:
        copy_sparse(self._templates[disk.plan.size_bytes], disk.image)
        syscalls.loop_add(disk.index)
        syscalls.loop_attach(disk.index, disk.image)
        disk.mount.mkdir(parents=True, exist_ok=True)
        device = str(syscalls.loop_device(disk.index))
        options = _MOUNT_OPTIONS[file_system]
        syscalls.mount(device, disk.mount, file_system, syscalls.MS_NOATIME, options)

    def _rules(self, disk: Disk) -> list[dict[str, str]]:
        """Undo records of a disk's limits, except those in its host's group, which is removed."""
        backing = Path("/sys/class/bdi", disk.device)
        records = [
            {"kind": "value", "path": str(file), "text": file.read_text().strip()}
            for name in ("strict_limit", "max_ratio_fine")
            if (file := backing / name).exists()
        ]
        none = f"{disk.device} 0"
        files = self._v1_files().values()
        return records + [{"kind": "value", "path": str(file), "text": none} for file in files]

    def _v1_files(self) -> dict[str, Path]:
        root = self._trees.v1.get("blkio")
        if root is None:
            return {}
        return {key: root / f"blkio.throttle.{name}_device" for key, name in _V1_FILES.items()}

    def _limit(self, disk: Disk) -> None:
        plan, device = disk.plan, disk.device
        rules: dict[str, float | None] = {"rbps": plan.read_bytes_s, "wbps": plan.write_bytes_s}
        rules |= {"riops": plan.read_iops, "wiops": plan.write_iops}
        files = self._v1_files()
        if not files:
            self._groups(disk.host).set_disk_rules(device, rules)
        for key, file in files.items():
            file.write_text(f"{device} {int(rules[key] or 0)}")
        backing = Path("/sys/class/bdi", device)
        if not (backing / "strict_limit").exists():
            return
        if plan.write_bytes_s is None:
            (backing / "strict_limit").write_text("0")
            (backing / "max_ratio").write_text("100")
        else:
            dirty = max(int(plan.write_bytes_s * _DIRTY_S), _LEAST_DIRTY_BYTES)
            (backing / "strict_limit").write_text("1")
            (backing / "max_bytes").write_text(str(dirty))


def _controller(host: HostPlan) -> tuple[str, DiskPlan]:
    """The device that holds the images of a host's disks and has their common limit."""
    inner = sum(disk.size_bytes for disk in host.disks)
    size = int(inner * _CONTROLLER_SPARE) + _CONTROLLER_SPARE_BYTES
    size -= size % 4096
    rate = host.controller_bytes_s
    return host.name, DiskPlan(".controller", size, read_bytes_s=rate, write_bytes_s=rate)


def _records(disk: Disk) -> list[dict[str, object]]:
    return [
        {"kind": "loop", "index": disk.index, "image": str(disk.image)},
        {"kind": "mount", "path": str(disk.mount)},
    ]


def _free_loop(chosen: Collection[int]) -> int:
    """Random number of a loop device that does not exist; random, to avoid conflicts.

    ``chosen`` are numbers of devices that will be created. Raises OSError if none is found.
    """
    for _ in range(100):
        index = _FIRST_LOOP + secrets.randbelow(_LOOPS)
        if index not in chosen and not Path(f"/sys/block/loop{index}").exists():
            return index
    raise OSError(errno.EBUSY, "no free loop device was found")


def make_template(folder: Path, size_bytes: int, file_system: str) -> Path:
    """A sparse image with an empty file system. Raises NotRealisableError."""
    image = folder / f"template-{size_bytes}"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    command = [*_MAKE[file_system].split(), str(image)]
    program = shutil.which(command[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        raise NotRealisableError(
            f"{command[0]}, which creates the disks' file systems, is not installed",
            remedy="install e2fsprogs (ext4) or xfsprogs (xfs), or use the other file system.",
        )
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotRealisableError(
            f"a disk of {size_bytes} bytes cannot be formatted: {done.stderr.strip()}",
            remedy="make the disks larger; they need at least a few hundred MB.",
        )
    return image


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a sparse file and keep its holes. Raises OSError."""
    with source.open("rb") as old, target.open("xb") as new:
        size = os.fstat(old.fileno()).st_size
        os.truncate(new.fileno(), size)
        place = 0
        while place < size:
            try:
                begin = os.lseek(old.fileno(), place, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return  # the rest of the file is a hole
                raise
            place = os.lseek(old.fileno(), begin, os.SEEK_HOLE)
            for part in range(begin, place, _COPY_BYTES):
                data = os.pread(old.fileno(), min(_COPY_BYTES, place - part), part)
                os.pwrite(new.fileno(), data, part)
