"""Build ``loopback.jar`` from its Java sources (windtunnel/engines/hadoop/loopback).

    python tools/build_loopback.py           writes it next to its sources
    python tools/build_loopback.py FOLDER    writes it into a folder

Needs the ``javac`` of a JDK 17 or newer, in JAVA_HOME or on PATH. The jar targets Java 17
and runs on later versions. It contains a hash of the sources; the tests compare it with the
sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

HOME = Path(__file__).resolve().parents[1] / "windtunnel" / "engines" / "hadoop" / "loopback"
JAR = "loopback.jar"
SOURCES = HOME / "java"
PROVIDER = "io/windtunnel/LoopbackSelectorProvider"
CHANNEL = "sun/nio/ch/LoopbackServerSocketChannel"
# The provider defines this class itself; a class loader must not find it.
CHANNEL_BYTES = "io/windtunnel/LoopbackServerSocketChannel.bytes"
HASH = "io/windtunnel/sources.sha256"
_PACKAGE = "sun.nio.ch"


def javac() -> str | None:
    """The Java compiler, if there is one."""
    home = os.environ.get("JAVA_HOME", "").strip()
    inside = shutil.which("javac", path=f"{home}/bin") if home else None
    return inside or shutil.which("javac")


def source_hash() -> str:
    """SHA-256 of both sources."""
    texts = [(SOURCES / f"{name}.java").read_bytes() for name in (PROVIDER, CHANNEL)]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def build(compiler: str, folder: Path) -> Path:
    """Compile the sources and write the jar to ``folder``."""
    with tempfile.TemporaryDirectory() as work:
        # not --release, which hides the package that both sources use
        common = [compiler, "-nowarn", "-proc:none", "-g:source,lines", "-d", work]
        # the default concatenation of strings uses classes of Java that use channels themselves
        common += ["-source", "17", "-target", "17", "-XDstringConcat=inline"]
        for name, access in (
            (PROVIDER, ["--add-exports", f"java.base/{_PACKAGE}=ALL-UNNAMED"]),
            (CHANNEL, ["--patch-module", f"java.base={SOURCES}"]),
        ):
            done = subprocess.run(
                [*common, *access, str(SOURCES / f"{name}.java")],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                sys.exit(done.stdout + done.stderr)
        entries = {
            HASH: source_hash().encode(),
            f"{PROVIDER}.class": (Path(work) / f"{PROVIDER}.class").read_bytes(),
            CHANNEL_BYTES: (Path(work) / f"{CHANNEL}.class").read_bytes(),
        }
    return write_jar(folder / JAR, entries)


def write_jar(target: Path, entries: Mapping[str, bytes], compression: int = 0) -> Path:
    """Write a jar whose bytes depend only on its entries."""
    with zipfile.ZipFile(target, "w", compression) as jar:
        for name, data in entries.items():
            jar.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return target


def needed_javac() -> str:
    """The Java compiler; exits if there is none."""
    compiler = javac()
    if compiler is None:
        sys.exit("no javac in JAVA_HOME or on PATH: install a JDK 17 or newer")
    return compiler


def main() -> None:
    """Build the jar in the folder of the command line."""
    print(build(needed_javac(), Path(sys.argv[1]) if len(sys.argv) > 1 else HOME))


if __name__ == "__main__":
    main()
