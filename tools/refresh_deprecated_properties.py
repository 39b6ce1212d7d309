"""Regenerate the catalogue of Hadoop's deprecated properties from Hadoop's own table.

    python tools/refresh_deprecated_properties.py LIB

LIB is the folder of the jars of one Hadoop version. A JDK with ``javac`` is required: the table is
in the code of Hadoop (``Configuration.dumpDeprecatedKeys``), not in a file of its jars.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "windtunnel/catalogue/audit/deprecated_properties.json"
# Each class adds its own part of the table when it is loaded.
PROGRAM = """
public class Dump {
  public static void main(String[] words) {
    new org.apache.hadoop.hdfs.HdfsConfiguration();
    new org.apache.hadoop.mapred.JobConf();
    new org.apache.hadoop.yarn.conf.YarnConfiguration();
    org.apache.hadoop.conf.Configuration.dumpDeprecatedKeys();
  }
}
"""


def main(lib: str) -> None:
    """Write old name -> new names."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Dump.java"
        source.write_text(PROGRAM)
        subprocess.run(["javac", "-cp", f"{lib}/*", "-d", folder, str(source)], check=True)
        command = ["java", "-cp", f"{folder}:{lib}/*", "Dump"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    rows = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    table = {row[0]: row[1].split() for row in rows if row[0]}
    jar = next(Path(lib).glob("hadoop-common-*.jar")).name
    version = re.search(r"(\d+\.\d+\.\d+)", jar)
    document = {"hadoop": version[1] if version else "", "deprecated": dict(sorted(table.items()))}
    TARGET.write_text(json.dumps(document, indent=0) + "\n")
    print(f"{TARGET}: {len(table)} properties")


if __name__ == "__main__":
    main(sys.argv[1])
