"""The supported release lines of Hadoop and their requirements."""

from __future__ import annotations

from windtunnel.engines.artifacts import ArtifactSet, ensure_shipped
from windtunnel.engines.hadoop.cds import ensure_archive
from windtunnel.engines.hadoop.providers import ensure_properties
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.java import Java, find_java
from windtunnel.engines.progress import Progress
from windtunnel.engines.releases import Line, line_in

# 3.5.0 is compiled for Java 17; 3.4 fails on Java 24 and newer ("getSubject is not supported").
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
    return line_in(LINES, "Hadoop", version, "software.hadoop")


def load(version: str, progress: Progress | None = None) -> tuple[Software, ArtifactSet, Java]:
    """Java, the verified jars and the class archive of a Hadoop version, fetched if missing.

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
            f"Java {java.version} created no class archive, so all of Hadoop's JVMs start more "
            f"slowly (its message, if any, is in {artifacts.root}/*.refused)"
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
