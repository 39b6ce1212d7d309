"""Report: terminal, one HTML page, CSV, Parquet, JSON.

Callers import each module where they need it, because its libraries take a second to load.
"""

from __future__ import annotations

# lets the catalogue of metrics find those of workloads and probes
import windtunnel.probes.registry
import windtunnel.workloads  # noqa: F401
