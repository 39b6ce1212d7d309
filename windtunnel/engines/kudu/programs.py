"""Kudu's own programs: unpack them once next to their jar, and check that they run here.

The project publishes them for tests, built for Linux on x86_64 with most of the libraries that
they load; glibc, libstdc++, libcom_err, libkeyutils, libselinux and libcrypt.so.1 come from the
machine. Their licence is in the same folder (LICENSE.txt, NOTICE.txt).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.errors import SetupError

JAR = "org.apache.kudu:kudu-binary:linux-x86_64"
_MADE_FOR = ("Linux", "x86_64")
_OLDEST_GLIBC = (2, 27)  # the newest symbol version that its programs and libraries require
_WANTED = re.compile(r"[^/]+/(bin/kudu|lib/.+|LICENSE\.txt|NOTICE\.txt)")
_LIBRARIES = (
    "install the named library; the programs need glibc, libstdc++, libcom_err, libkeyutils, "
    "libselinux, libcrypt.so.1, and a cache on a disk without 'noexec'."
)
_LIMIT_S = 30


@dataclass(frozen=True)
class Programs:
    """The folder of Kudu's unpacked programs."""

    root: Path

    def command(self, *words: str) -> list[str]:
        """Command line of ``kudu``, with the paths of its libraries.

        The paths are not in the environment of the process that starts it: a process that enters
        a virtual host must load the machine's own libraries.
        """
        lib = self.root / "lib"
        own = [f"LD_LIBRARY_PATH={lib}", f"SASL_PATH={lib / 'sasl2'}"]
        return ["/usr/bin/env", *own, str(self.root / "bin" / "kudu"), *words]


def check_machine() -> None:
    """Raise SetupError on a machine that the programs do not support."""
    here = platform.system(), platform.machine()
    if here != _MADE_FOR:
        raise SetupError(
            f"Kudu runs on {' '.join(_MADE_FOR)} only, but this machine is {' '.join(here)}: the "
            "Kudu project publishes no programs for other machines",
            remedy="use 'store: hbase', or another machine.",
        )
    name, version = platform.libc_ver()
    known = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if name == "glibc" and known and tuple(known) < _OLDEST_GLIBC:
        wanted = ".".join(map(str, _OLDEST_GLIBC))
        raise SetupError(
            f"Kudu needs glibc {wanted} or newer, but this machine has {version}",
            remedy="use 'store: hbase', or another machine.",
        )


def unpack(jars: ArtifactSet) -> Programs:
    """The programs of a set of jars; unpacks them if they are missing or altered.

    Raises
    ------
    SetupError
        If they cannot be written.
    """
    jar = next(jar.path for jar in jars.jars if jar.name == JAR)
    target = jars.root.with_name(f"{jars.root.name}-programs")
    try:
        with zipfile.ZipFile(jar) as packed:
            wanted = [entry for entry in packed.infolist() if _WANTED.fullmatch(entry.filename)]
            wanted = [entry for entry in wanted if not entry.is_dir()]
            if not all(_same(target / _inside(entry), entry) for entry in wanted):
                _unpack(packed, wanted, target)
    except OSError as problem:
        raise SetupError(
            f"Kudu's programs cannot be unpacked into {target}: {problem}",
            remedy="make the cache writable and make sure that 100 MB are free.",
        ) from problem
    return Programs(target)


def _inside(entry: zipfile.ZipInfo) -> str:
    """Path of a file in the target folder: without the first folder, which has the version."""
    return entry.filename.partition("/")[2]


def _same(path: Path, entry: zipfile.ZipInfo) -> bool:
    """Whether a file is already unpacked and unaltered."""
    try:
        return path.stat().st_size == entry.file_size and zlib.crc32(path.read_bytes()) == entry.CRC
    except FileNotFoundError:
        return False


def _unpack(packed: zipfile.ZipFile, wanted: list[zipfile.ZipInfo], target: Path) -> None:
    """Write all files next to the target and rename the folder: it is complete or absent."""
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    for entry in wanted:
        path = part / _inside(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        with packed.open(entry) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    (part / "bin" / "kudu").chmod(0o755)
    if target.exists():  # damaged; another process may be reading it
        target.rename(part / "old")
    try:
        part.rename(target)
    except OSError:
        if not target.is_dir():  # else another process was faster
            raise
        shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(target / "old", ignore_errors=True)


def try_out(programs: Programs) -> None:
    """Raise SetupError if ``kudu`` does not start, for example because a library is missing."""
    argv = programs.command("--version")
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_LIMIT_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise SetupError(
            f"Kudu's programs do not start on this machine: {problem}", remedy=_LIBRARIES
        ) from problem
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[0]
        raise SetupError(
            f"Kudu's programs do not start on this machine: {output}",
            remedy=_LIBRARIES,
        )
