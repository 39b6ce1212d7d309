"""The software of a Hadoop deployment: a Java runtime and the jars of one release line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from windtunnel.engines.hadoop.loopback import Binding

# Hadoop reaches into these packages by reflection (Hadoop 3.5.0 on Java 17 and 25).
_OPENS = ("java.base/java.lang", "java.base/java.util")

# C1 only and the serial collector: right for daemons and clients, which mostly wait.
JVM_OPTIONS = ("-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


@dataclass(frozen=True)
class Software:
    """What is needed to start any Hadoop process.

    ``lib`` holds the jars of all daemons, ``client_lib`` those that only clients need
    (examples, tests). ``version`` is Hadoop's, ``java_version`` the runtime's.
    """

    java: Path
    java_version: str
    lib: Path
    client_lib: Path
    version: str
    class_archive: Path | None = None

    def to_json(self) -> dict[str, str | None]:
        """Plain data from which :meth:`from_json` makes an equal object."""
        return {k: None if v is None else str(v) for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, str | None]) -> Software:
        """The object that :meth:`to_json` described."""
        archive = data["class_archive"]
        return cls(
            java=Path(data["java"] or ""),
            java_version=data["java_version"] or "",
            lib=Path(data["lib"] or ""),
            client_lib=Path(data["client_lib"] or ""),
            version=data["version"] or "",
            class_archive=Path(archive) if archive else None,
        )

    def command(
        self,
        main: str,
        *args: str,
        heap_mb: int,
        hosts_file: Path,
        classpath: Sequence[Path | str],
        options: tuple[str, ...] = (),
        binding: Binding | None = None,
    ) -> list[str]:
        """Command line of a JVM that runs ``main``, with the jars of ``lib`` first.

        ``classpath`` comes after them: class-data sharing wants a common beginning.
        ``binding`` keeps its listening sockets on one address.

        For daemons and clients; the options of the tasks' JVMs are in ``layout.py``.
        """
        shared = [f"-XX:SharedArchiveFile={self.class_archive}"] if self.class_archive else []
        jars = [f"{self.lib}/*", *map(str, classpath), *([str(binding.jar)] if binding else [])]
        opens = [flag for package in _OPENS for flag in ("--add-opens", f"{package}=ALL-UNNAMED")]
        return [
            str(self.java),
            f"-Xmx{heap_mb}m",
            *JVM_OPTIONS,
            *shared,
            *opens,
            f"-Djdk.net.hosts.file={hosts_file}",
            *options,
            *(binding.options if binding else ()),
            "-cp",
            ":".join(jars),
            main,
            *args,
        ]
