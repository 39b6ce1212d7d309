"""Regenerate the lock files of Hadoop and of the other engines with jgo.

    python tools/lock_jars.py                 # all of them
    python tools/lock_jars.py hadoop-3.5      # one, by the name of its specification

A specification is ``windtunnel/engines/ENGINE/locks/NAME.toml``. Other engines get no jars
of Hadoop, unless ``hadoop = true`` is below ``[lock]``: they run with those of the cluster. With
``tree = false`` there, only the coordinates are locked, without their dependencies; ``alone`` lists
more coordinates, which are locked without theirs.

Needs the network and some minutes each: jgo resolves the whole dependency
tree in Python. The result is jgo's own lock file with two more keys per jar,
which jgo ignores: ``size`` (bytes, for progress and the free-space check) and
``folder``: ``client-lib`` for jars that only clients submit (``NAME-clients.toml``), ``plugin``
for those that a daemon loads separately (``NAME-plugin.toml``).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w
from jgo.env import EnvironmentBuilder, EnvironmentSpec, LockedDependency, LockFile
from jgo.maven import MavenContext

ENGINES = Path(__file__).parents[1] / "windtunnel" / "engines"
HADOOP = "org.apache.hadoop"
FOLDERS = {"clients": "client-lib", "plugin": "plugin"}
"""Suffix of a specification -> folder of its jars, which are locked without dependencies."""

# Native libraries are kept only for Linux and macOS on x86_64 and aarch64.
DROPPED_CLASSIFIERS = {"linux-riscv64"}


def specifications() -> dict[str, Path]:
    """The specification of each lock file by name, such as ``hadoop-3.5``."""
    found = {path.stem: path for path in sorted(ENGINES.glob("*/locks/*.toml"))}
    ends = (".lock", *(f"-{name}" for name in FOLDERS))
    return {n: p for n, p in found.items() if not n.endswith(ends)}


def lock(spec: Path, repo_cache: Path) -> dict[str, Any]:
    """Resolve one specification and return its lock as a TOML document."""
    remote = os.environ.get("WINDTUNNEL_MAVEN_REPO")
    context = MavenContext(
        repo_cache=repo_cache,
        remote_repos={"mirror": remote.rstrip("/")} if remote else None,
        timeout=60,
    )
    builder = EnvironmentBuilder(context=context, cache_dir=repo_cache / "environments")
    found = resolved(builder, spec)
    keeps = spec.parents[1].name == "hadoop" or options_of(spec).get("hadoop", False)
    found.dependencies = [
        jar
        for jar in found.dependencies
        if jar.classifier not in DROPPED_CLASSIFIERS and (keeps or jar.groupId != HADOOP)
    ]
    found.jgo_version = version("jgo")
    folders = [""] * len(found.dependencies)
    for name, folder in FOLDERS.items():
        more = spec.with_name(f"{spec.stem}-{name}.toml")
        if more.exists():
            found.dependencies += lock_alone(builder, EnvironmentSpec.load(more))
        folders += [folder] * (len(found.dependencies) - len(folders))
    document: dict[str, Any] = found._to_dict()
    document["metadata"].pop("generated", None)  # so that equal input results in equal files
    jars = zip(document["dependencies"], found.dependencies, strict=True)
    for folder, (entry, jar) in zip(folders, jars, strict=True):
        entry["size"] = path_of(context, jar).stat().st_size
        if folder:
            entry["folder"] = folder
        for unused in ("is_modular", "module_name", "jar_type"):
            entry.pop(unused, None)
    document["dependencies"].sort(key=sort_key)
    return document


def resolved(builder: EnvironmentBuilder, spec: Path) -> LockFile:
    """The jars of a specification, with their dependencies if it requires them."""
    wanted, options = EnvironmentSpec.load(spec), options_of(spec)
    if options.get("tree", True):
        found = builder.resolve_lockfile(wanted)
        found.dependencies += lock_alone(
            builder, EnvironmentSpec(coordinates=options.get("alone", []))
        )
        return found
    return LockFile(
        lock_alone(builder, wanted),
        environment_name=wanted.name,
        java_version=wanted.java_version,
        link_strategy=builder.link_strategy.name,
    )


def options_of(spec: Path) -> dict[str, Any]:
    """The table ``lock`` of a specification, which only this program reads."""
    found: dict[str, Any] = tomllib.loads(spec.read_text(encoding="utf-8")).get("lock", {})
    return found


def lock_alone(builder: EnvironmentBuilder, spec: EnvironmentSpec) -> list[LockedDependency]:
    """The jars of ``spec``, without their dependencies."""
    return [LockedDependency.from_dependency(d) for d in builder.spec_to_dependencies(spec)]


def path_of(context: MavenContext, jar: LockedDependency) -> Path:
    """The path of the jar in the local repository."""
    component = context.project(jar.groupId, jar.artifactId).at_version(jar.version)
    return Path(component.artifact(jar.classifier or "", jar.packaging).resolve())


def sort_key(entry: dict[str, Any]) -> tuple[str, ...]:
    """The folder, then the coordinates: a stable order, so that diffs show only changes."""
    return (
        entry.get("folder", ""),
        entry["groupId"],
        entry["artifactId"],
        entry["version"],
        entry.get("classifier", ""),
    )


def main() -> int:
    """Write ``NAME.lock.toml`` for the given specifications."""
    known = specifications()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(known)} (default: all)")
    parser.add_argument("--repo-cache", type=Path, help="Maven repository to reuse (default: new)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or known:
            document = lock(known[name], options.repo_cache or Path(scratch))
            target = known[name].with_name(f"{name}.lock.toml")
            head = "# Written by tools/lock_jars.py; do not edit.\n\n"
            target.write_text(head + tomli_w.dumps(document), encoding="utf-8")
            total = sum(entry["size"] for entry in document["dependencies"]) / 1e6
            print(f"{target.name}: {len(document['dependencies'])} jars, {total:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
