"""What an audit reads: the facts of hosts, a configuration, the hardware of the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.audit.configuration import Configuration
from windtunnel.audit.facts import HostFacts
from windtunnel.audit.hardware import Hardware


@dataclass(frozen=True)
class Evidence:
    """One subject of checks, and what is known around it.

    ``host`` is the subject of a check on hosts, else None. ``files`` is the number of files in
    HDFS, if it is known. ``live`` are facts of a running cluster.
    """

    hosts: Sequence[HostFacts] = ()
    conf: Configuration = field(default_factory=lambda: Configuration("no configuration"))
    hardware: Hardware = field(default_factory=Hardware)
    host: HostFacts | None = None
    files: float | None = None
    live: Mapping[str, Any] = field(default_factory=dict)

    @property
    def one(self) -> HostFacts:
        """The host that is checked."""
        assert self.host is not None, "a rule on hosts without a host"
        return self.host
