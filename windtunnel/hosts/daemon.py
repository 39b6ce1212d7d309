"""A daemon of a cluster, with the settings that it reports at ``/conf``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Daemon:
    """A daemon: property -> value and resource in force; ``unread`` is why there are none."""

    role: str
    host: str
    url: str
    version: str = ""
    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unread: str = ""

    @property
    def name(self) -> str:
        """Role and host."""
        return f"{self.role} {self.host}"
