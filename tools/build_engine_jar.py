"""Build the jar of an engine's own Java sources (windtunnel/engines/ENGINE/java).

    python tools/build_engine_jar.py spark           writes it next to its sources
    python tools/build_engine_jar.py spark FOLDER    writes it into a folder

Other engines are hadoop and ceph.

Needs the ``javac`` of a JDK 17 or newer, in JAVA_HOME or on PATH, and compiles against the jars
that the engine's lock names, and for ceph against Java's binding of CephFS (Debian's package
libcephfs-java) and the client of object stores. The jar targets Java 17 and contains a hash of the
sources; the tests compare it with the sources.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.build_loopback import needed_javac, write_jar  # noqa: E402
from windtunnel.engines.artifacts import ensure_shipped  # noqa: E402
from windtunnel.engines.ceph.programs import LIBRARY  # noqa: E402
from windtunnel.engines.hadoop.releases import LINES  # noqa: E402
from windtunnel.engines.registry import ENGINES  # noqa: E402
from windtunnel.engines.ycsb.stores import STORES  # noqa: E402

HOME = ROOT / "windtunnel" / "engines"
CEPH = "ceph"
HASH = "io/windtunnel/sources.sha256"


def sources(engine: str) -> list[Path]:
    """The Java sources of an engine and their data; key-value stores have common sources."""
    folders = [engine, "ycsb"] if engine in STORES else [engine]
    return [
        path
        for name in folders
        for kind in ("*.java", "*.gz")
        for path in sorted((HOME / name / "java").rglob(kind))
    ]


def source_hash(engine: str) -> str:
    """SHA-256 of all sources."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources(engine))).hexdigest()


def build(compiler: str, engine: str, folder: Path) -> Path:
    """Compile the sources and write the jar to ``folder``."""
    hadoop = ensure_shipped(next(iter(LINES.values())).lock)
    libs = [f"{hadoop.lib}/*", f"{hadoop.client_lib}/*"]
    if engine in ENGINES:
        line = next(iter(ENGINES[engine].lines.values()))
        libs.insert(0, f"{ensure_shipped(line.lock).lib}/*")
    if engine == CEPH:
        if not LIBRARY.exists():
            sys.exit(f"{LIBRARY} is missing; on Debian: apt-get install libcephfs-java")
        libs.append(str(LIBRARY))
        libs += [str(jar.path) for jar in ensure_shipped("s3a-3.5").jars]
    with tempfile.TemporaryDirectory() as work:
        command = [compiler, "-nowarn", "-proc:none", "-g:source,lines", "--release", "17"]
        command += [
            "-d",
            work,
            "-cp",
            ":".join(libs),
            *(str(p) for p in sources(engine) if p.suffix == ".java"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        classes = sorted(Path(work).rglob("*.class"))
        entries = {str(path.relative_to(work)): path.read_bytes() for path in classes}
    entries |= {
        str(path.relative_to(HOME / engine / "java")): path.read_bytes()
        for path in sources(engine)
        if path.suffix == ".gz"
    }
    entries[HASH] = source_hash(engine).encode()
    return write_jar(folder / f"windtunnel-{engine}.jar", entries, zipfile.ZIP_DEFLATED)


def main() -> None:
    """Build the jar of the engine in the command line."""
    engine = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HOME / engine
    print(build(needed_javac(), engine, folder))


if __name__ == "__main__":
    main()
