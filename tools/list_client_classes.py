"""Write the lists of classes that clients of storage systems load (docs/decisions/0087).

    python tools/list_client_classes.py            # as root if the storage needs it

Runs TeraGen and TeraSort on each storage, collects the classes of the JVMs that load the storage's
file system, and keeps those that Hadoop's own list does not contain.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from windtunnel.cluster import load_cluster  # noqa: E402
from windtunnel.engines.storage_system import StorageSystem  # noqa: E402
from windtunnel.engines.storage_systems import storage_of  # noqa: E402
from windtunnel.testbeds.local import LocalTestbed  # noqa: E402

HADOOP = ROOT / "windtunnel/engines/hadoop/classlist/hadoop.txt.gz"
# cluster -> the file of its list, and the class of its file system
CLUSTERS = {
    "local-3-s3a": ("ceph/classlist/s3a.txt.gz", "org/apache/hadoop/fs/s3a/S3AFileSystem"),
    "local-3-ozone": (
        "ozone/classlist/ozone-client.txt.gz",
        "org/apache/hadoop/fs/ozone/RootedOzoneFileSystem",
    ),
}
EXAMPLES = "org.apache.hadoop.examples.terasort"
JOBS = (
    ("teragen", [f"{EXAMPLES}.TeraGen", "100000", "/windtunnel/trials/in"]),
    ("terasort", [f"{EXAMPLES}.TeraSort", "/windtunnel/trials/in", "/windtunnel/trials/out"]),
)
# classes that exist in one JVM only
_GENERATED = ("/0x", "GeneratedC", "$Proxy")


def main() -> None:
    """Run the jobs on each storage and write its list."""
    for name, (file, file_system) in CLUSTERS.items():
        target = ROOT / "windtunnel/engines" / file
        cluster = load_cluster(name)
        record_classes(storage_of(cluster))
        with tempfile.TemporaryDirectory() as logs:
            with LocalTestbed(Path(logs), print).deploy(cluster) as deployment:
                for phase, argv in JOBS:
                    deployment.run_job(phase, argv, {}, deadline_s=time.monotonic() + 600)
            texts = [file.read_text() for file in sorted(Path(logs).rglob("classes-*.lst"))]
        clients = [text for text in texts if f"{file_system}\n" in text]
        lines = new_lines(clients)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
        print(f"{target}: {len(lines)} lines from {len(clients)} JVMs")


def record_classes(kind: type[StorageSystem]) -> None:
    """Make all JVMs of Hadoop write the classes that they load to the log folder of a host."""
    given = kind.java_options

    def java_options(self: StorageSystem) -> tuple[str, ...]:
        folder = self.ground.placements[0].host.logs
        return (*given(self), f"-XX:DumpLoadedClassList={folder}/classes-%p.lst")

    kind.java_options = java_options
    kind.client_classes = classmethod(lambda cls, cluster: None)  # the list may not exist yet


def new_lines(texts: Iterable[str]) -> list[str]:
    """The lines that Hadoop's list does not contain, each once, in their first order."""
    known = set(gzip.decompress(HADOOP.read_bytes()).decode().splitlines(keepends=True))
    lines = dict.fromkeys(line for text in texts for line in text.splitlines(keepends=True))
    return [
        line
        for line in lines
        if line not in known
        and not line.startswith("#")
        and not any(part in line for part in _GENERATED)
    ]


if __name__ == "__main__":
    main()
