"""Regenerate the dictionary of Hadoop's properties from the *-default.xml files in its jars.

    python tools/refresh_hadoop_properties.py FOLDER...

FOLDER contains the jars of one Hadoop version (also in subfolders), for example the ``lib`` folder
in the cache of ``windtunnel``. The tool writes one JSON file per release line (3.5, 3.4): site file
-> property -> default value, without the descriptions.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

TARGET = Path(__file__).parents[1] / "windtunnel" / "catalogue" / "hadoop_properties"
# In this order: a property that is in two files belongs to the first.
SOURCES = {
    "hdfs-site.xml": ("hadoop-hdfs", "hdfs-default.xml"),
    "yarn-site.xml": ("hadoop-yarn-common", "yarn-default.xml"),
    "mapred-site.xml": ("hadoop-mapreduce-client-core", "mapred-default.xml"),
    "core-site.xml": ("hadoop-common", "core-default.xml"),
}
# Properties that the default files contain only in comments or not at all.
UNLISTED = {
    "mapred-site.xml": {
        "mapreduce.map.java.opts": "",
        "mapreduce.reduce.java.opts": "",
        "mapreduce.job.queuename": "default",
        "mapreduce.job.name": "",
    },
}


def defaults(jar: Path, member: str) -> dict[str, str]:
    """Property -> default value of one default file."""
    with zipfile.ZipFile(jar) as archive:
        root = ElementTree.fromstring(archive.read(member))
    found = {}
    for entry in root.iter("property"):
        name = (entry.findtext("name") or "").strip()
        if name:
            found[name] = (entry.findtext("value") or "").strip()
    return found


def jar_of(folders: list[Path], artifact: str) -> tuple[Path, str]:
    """The jar of an artifact and its version."""
    pattern = re.compile(rf"{artifact}-(\d+\.\d+\.\d+)\.jar")
    for folder in folders:
        for path in sorted(folder.rglob(f"{artifact}-*.jar")):
            match = pattern.fullmatch(path.name)
            if match:
                return path, match.group(1)
    raise SystemExit(f"no {artifact}-VERSION.jar below {', '.join(map(str, folders))}")


def main(arguments: list[str]) -> None:
    """Write the dictionary of the version of the jars in the folders."""
    folders = [Path(argument) for argument in arguments]
    sites: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    versions = set()
    for site, (artifact, member) in SOURCES.items():
        jar, version = jar_of(folders, artifact)
        versions.add(version)
        found = {**UNLISTED.get(site, {}), **defaults(jar, member)}
        sites[site] = {name: found[name] for name in sorted(found) if name not in seen}
        seen |= set(found)
    if len(versions) != 1:
        raise SystemExit(f"the jars have several versions: {', '.join(sorted(versions))}")
    version = versions.pop()
    path = TARGET / f"{version.rpartition('.')[0]}.json"
    document = {"hadoop": version, "sites": sites}
    path.write_text(json.dumps(document, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{path}: {len(seen)} properties of Hadoop {version}")


if __name__ == "__main__":
    main(sys.argv[1:])
