"""The software of a Hadoop deployment: a Java runtime and the jars of one release line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.engines.hadoop.loopback import Binding
from windtunnel.engines.java import archive_options

# Hadoop accesses the first two packages by reflection (Hadoop 3.5.0 on Java 17 and 25),
# loopback.jar the third. All JVMs and the class archive use the same options: from Java 25 on,
# a JVM uses only parts of an archive that was created with other options.
OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.util", "sun.nio.ch")
)

# Windtunnel's own classes for Hadoop's JVMs, built from the sources in ``java``.
OWN_JAR = Path(__file__).with_name("windtunnel-hadoop.jar")

# C1 only and the serial collector: suitable for daemons and clients, which mostly wait. Methods are
# compiled after three times as many calls, reflection and injection generate no classes for the few
# calls of a start: most such code runs once (docs/decisions/0094).
JVM_OPTIONS = (
    "-Xss512k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CompileThresholdScaling=3",
    "-XX:-UsePerfData",
    "-Dsun.reflect.inflationThreshold=1000",
    "-Dguice_bytecode_gen_option=DISABLED",
)


@dataclass(frozen=True)
class Software:
    """The software that every Hadoop process needs.

    ``lib`` holds the jars of all daemons, ``client_lib`` those that only clients need
    (examples, tests). ``version`` is Hadoop's, ``java_version`` the runtime's. ``security``
    is a file of properties that a trimmed runtime needs, see ``providers.py``. ``more_jars`` are
    those of the storage system, ``more_options`` the options of all JVMs that it needs.
    """

    java: Path
    java_version: str
    lib: Path
    client_lib: Path
    version: str
    class_archive: Path | None = None
    security: Path | None = None
    more_jars: tuple[Path, ...] = ()
    more_options: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` creates an equal object."""
        plain = {k: None if v is None else str(v) for k, v in asdict(self).items()}
        jars = [str(jar) for jar in self.more_jars]
        return {**plain, "more_jars": jars, "more_options": list(self.more_options)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Software:
        """The object that :meth:`to_json` has written."""
        archive, security = data["class_archive"], data.get("security")
        return cls(
            java=Path(data["java"] or ""),
            java_version=data["java_version"] or "",
            lib=Path(data["lib"] or ""),
            client_lib=Path(data["client_lib"] or ""),
            version=data["version"] or "",
            class_archive=Path(archive) if archive else None,
            security=Path(security) if security else None,
            more_jars=tuple(Path(jar) for jar in data.get("more_jars", ())),
            more_options=tuple(data.get("more_options", ())),
        )

    @property
    def jars(self) -> list[str]:
        """The class path of every JVM: the jars of ``lib``, then those of the storage system."""
        return [f"{self.lib}/*", *map(str, self.more_jars)]

    @property
    def options(self) -> tuple[str, ...]:
        """Options of every JVM of daemons, clients and containers; none needs quoting."""
        security = self.security
        return (
            *archive_options(self.class_archive),
            *([f"-Djava.security.properties={security}"] if security else []),
            *OPENS,
            *self.more_options,
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

        ``classpath`` comes after them: class-data sharing needs a common prefix.
        ``binding`` restricts its listening sockets to one address.

        This is for daemons and clients; the options of the tasks' JVMs are in ``layout.py``.
        """
        jars = [*self.jars, *map(str, classpath), *([str(binding.jar)] if binding else [])]
        return [
            str(self.java),
            f"-Xmx{heap_mb}m",
            *JVM_OPTIONS,
            *self.options,
            f"-Djdk.net.hosts.file={hosts_file}",
            *options,
            *(binding.options if binding else ()),
            "-cp",
            ":".join(jars),
            main,
            *args,
        ]
