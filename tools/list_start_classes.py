"""Write the lists of classes that waiting JVMs load and initialise (docs/decisions/0032).

    python tools/list_start_classes.py

Runs pi, TeraGen and TeraSort on a real cluster and collects the classes that tasks and application
masters load, without those of the JDK and of the jobs. ``tools/build_engine_jar.py hadoop`` then
puts the lists into the jar.
"""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from windtunnel.cluster import apply_overrides, load_cluster  # noqa: E402
from windtunnel.testbeds.local import LocalTestbed  # noqa: E402

FOLDER = ROOT / "windtunnel/engines/hadoop/java/io/windtunnel/pool"
LOGGING = "-Xlog:class+load:file=<LOG_DIR>/classes.txt"
LOADED = re.compile(r"\[class,load\] (\S+) source: ")
# classes of the JDK and of the jobs, and those that exist in one JVM only
LEFT_OUT = re.compile(
    r"(java|javax|jdk|sun|com\.sun|io\.windtunnel|org\.apache\.hadoop\.examples)\.|"
    r".*(/0x|Lambda|\$Proxy|\$\$|GeneratedC|CGLIB)"
)
EXAMPLES = "org.apache.hadoop.examples"
JOBS = (
    ("pi", [f"{EXAMPLES}.QuasiMonteCarlo", "4", "1000"]),
    ("teragen", [f"{EXAMPLES}.terasort.TeraGen", "100000", "/in"]),
    ("terasort", [f"{EXAMPLES}.terasort.TeraSort", "/in", "/out"]),
)


def main() -> None:
    """Run the jobs and write both lists."""
    names = ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts")
    changes = {f"settings.{name}": LOGGING for name in names}
    changes["settings.yarn.app.mapreduce.am.command-opts"] = f"-Xmx1024m {LOGGING}"
    cluster = apply_overrides(load_cluster("local-3"), changes)
    found: dict[str, set[str]] = {"task": set(), "master": set()}
    with tempfile.TemporaryDirectory() as logs:
        with LocalTestbed(Path(logs), print).deploy(cluster) as deployment:
            for phase, argv in JOBS:
                deployment.run_job(phase, argv, {}, deadline_s=time.monotonic() + 300)
        for file in Path(logs).glob("*/*/containers/*/*/classes.txt"):
            kind = "master" if file.parent.name.endswith("_000001") else "task"
            loaded = LOADED.findall(file.read_text())
            found[kind] |= {name for name in loaded if not LEFT_OUT.match(name)}
    for kind, classes in found.items():
        text = "".join(f"{name}\n" for name in sorted(classes))
        target = FOLDER / f"{kind}.classes.gz"
        target.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{target}: {len(classes)} classes")


if __name__ == "__main__":
    main()
