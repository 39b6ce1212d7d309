"""Regenerate the lock files of the Hadoop lines with jgo.

    python tools/lock_hadoop.py            # every line
    python tools/lock_hadoop.py 3.5        # one line

Needs the network and some minutes per line: jgo resolves the whole dependency
tree in Python. The result is jgo's own lock file with two more keys per jar,
which jgo ignores: ``size`` (bytes, for progress and the free-space check) and
``folder`` (``client-lib`` for jars that only clients submit).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w
from jgo.env import EnvironmentBuilder, EnvironmentSpec, LockedDependency
from jgo.maven import MavenContext

LOCKS = Path(__file__).parents[1] / "windtunnel" / "engines" / "hadoop" / "locks"
CLIENT_FOLDER = "client-lib"

# Natives are kept for Linux and macOS on x86_64 and aarch64, and for nothing else.
DROPPED_CLASSIFIERS = {"linux-riscv64"}


def lock_line(line: str, repo_cache: Path) -> dict[str, Any]:
    """Resolve one line (``3.5``) and return its lock as a TOML document."""
    remote = os.environ.get("WINDTUNNEL_MAVEN_REPO")
    context = MavenContext(
        repo_cache=repo_cache,
        remote_repos={"mirror": remote.rstrip("/")} if remote else None,
        timeout=60,
    )
    builder = EnvironmentBuilder(context=context, cache_dir=repo_cache / "environments")
    lock = builder.resolve_lockfile(EnvironmentSpec.load(LOCKS / f"hadoop-{line}.toml"))
    lock.dependencies = [
        jar for jar in lock.dependencies if jar.classifier not in DROPPED_CLASSIFIERS
    ]
    clients = lock_alone(builder, EnvironmentSpec.load(LOCKS / f"hadoop-{line}-clients.toml"))
    lock.jgo_version = version("jgo")
    known = len(lock.dependencies)
    lock.dependencies += clients
    document: dict[str, Any] = lock._to_dict()
    document["metadata"].pop("generated", None)  # the same input gives the same file
    jars = zip(document["dependencies"], lock.dependencies, strict=True)
    for index, (entry, jar) in enumerate(jars):
        entry["size"] = path_of(context, jar).stat().st_size
        if index >= known:
            entry["folder"] = CLIENT_FOLDER
        for unused in ("is_modular", "module_name", "jar_type"):
            entry.pop(unused, None)
    document["dependencies"].sort(key=sort_key)
    return document


def lock_alone(builder: EnvironmentBuilder, spec: EnvironmentSpec) -> list[LockedDependency]:
    """The jars of ``spec`` themselves, without anything they depend on."""
    return [LockedDependency.from_dependency(d) for d in builder.spec_to_dependencies(spec)]


def path_of(context: MavenContext, jar: LockedDependency) -> Path:
    """Where the jar lies in the local repository."""
    component = context.project(jar.groupId, jar.artifactId).at_version(jar.version)
    return Path(component.artifact(jar.classifier or "", jar.packaging).resolve())


def sort_key(entry: dict[str, Any]) -> tuple[str, ...]:
    """Folder, then coordinates: a stable order, so that diffs show only what changed."""
    return (
        entry.get("folder", ""),
        entry["groupId"],
        entry["artifactId"],
        entry["version"],
        entry.get("classifier", ""),
    )


def main() -> int:
    """Write ``hadoop-LINE.lock.toml`` for the lines that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("lines", nargs="*", default=["3.5", "3.4"], help="such as 3.5")
    parser.add_argument("--repo-cache", type=Path, help="Maven repository to reuse (default: new)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for line in options.lines:
            document = lock_line(line, options.repo_cache or Path(scratch))
            target = LOCKS / f"hadoop-{line}.lock.toml"
            head = "# Written by tools/lock_hadoop.py; do not edit.\n\n"
            target.write_text(head + tomli_w.dumps(document), encoding="utf-8")
            total = sum(entry["size"] for entry in document["dependencies"]) / 1e6
            print(f"{target.name}: {len(document['dependencies'])} jars, {total:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
