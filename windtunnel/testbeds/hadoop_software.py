"""The software of a Hadoop deployment, and its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hadoop.daemons import HEAP_MB
from windtunnel.engines.hadoop.software import JVM_OPTIONS, Software
from windtunnel.engines.java import Java


@dataclass(frozen=True)
class Installed:
    """Hadoop's jars and Java; ``engines`` are the engines that were fetched so far."""

    software: Software
    jars: ArtifactSet
    java: Java
    engines: Mapping[str, tuple[ArtifactSet, Java | None]] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Versions, options and hashes, as plain data."""
        return {
            "hadoop": self.software.version,
            "java": _java(self.java),
            "class_archive": self.software.class_archive is not None,
            "daemon_jvm": {"options": list(JVM_OPTIONS), "heap_mb": HEAP_MB},
            "jars": self.jars.facts(),
            "engines": {
                name: {"jars": found.facts()} | ({"java": _java(own)} if own else {})
                for name, (found, own) in self.engines.items()
            },
        }


def _java(java: Java) -> dict[str, str]:
    return {"version": java.version, "vendor": java.vendor, "source": java.source}
