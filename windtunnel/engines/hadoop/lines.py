"""The release lines of Hadoop that can be run, and what each needs."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.engines.artifacts import ArtifactSet, ensure_shipped
from windtunnel.engines.hadoop.cds import ensure_archive
from windtunnel.engines.hadoop.providers import ensure_properties
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.java import Java, find_java
from windtunnel.engines.progress import Progress
from windtunnel.errors import DescriptionError


@dataclass(frozen=True)
class Line:
    """A release line: the name of its lock file and the Java releases that it runs on."""

    lock: str
    java_minimum: int
    java_maximum: int | None


# 3.5.0 is compiled for Java 17; 3.4 fails from Java 24 on ("getSubject is not supported").
LINES = {
    "3.5": Line("hadoop-3.5", 17, None),
    "3.4": Line("hadoop-3.4", 17, 21),
}


def line_of(version: str) -> Line:
    """The line of a version such as ``3.5`` or ``3.5.0``.

    Raises
    ------
    DescriptionError
        If there is no such line.
    """
    found = LINES.get(".".join(version.split(".")[:2]))
    if found is None:
        raise DescriptionError(
            f"Hadoop {version} is not among the lines that can be run: {', '.join(LINES)}",
            remedy=f"write software.hadoop: '{next(iter(LINES))}'.",
        )
    return found


def load(version: str, progress: Progress | None = None) -> tuple[Software, ArtifactSet, Java]:
    """Java, the verified jars and the class archive of a Hadoop version, fetched if need be.

    Raises
    ------
    SetupError
        If no suitable Java is found, or the jars are missing or damaged.
    """
    line = line_of(version)
    java = find_java(line.java_minimum, line.java_maximum, needed_by=f"Hadoop {version}")
    artifacts = ensure_shipped(line.lock, progress)
    exact = next(
        jar.version for jar in artifacts.jars if jar.path.name.startswith("hadoop-common-")
    )
    archive = ensure_archive(java.binary, java.version, artifacts.lib)
    if archive is None and progress is not None:
        progress.note(
            f"Java {java.version} made no class archive: all of Hadoop's JVMs start slower "
            f"(the reason, if it gave one, is in {artifacts.root}/*.refused)"
        )
    software = Software(
        java=java.binary,
        java_version=java.version,
        lib=artifacts.lib,
        client_lib=artifacts.client_lib,
        version=exact,
        class_archive=archive,
        security=ensure_properties(java, artifacts.root),
    )
    return software, artifacts, java
