"""The registry of probes. A new probe is one module here and one line."""

from __future__ import annotations

from typing import Any

from windtunnel.plugins import Registry, check_class
from windtunnel.probes.base import Probe
from windtunnel.results.metrics import CATALOGUE, MetricInfo, register


def _admit(name: str, kind: Any) -> None:
    """Refuse an object that is not a probe; add the metrics of a probe to the catalogue."""
    check_class(name, kind, Probe, ("metrics",))
    metrics = [info for info in kind.metrics if isinstance(info, MetricInfo)]
    if len(metrics) < len(kind.metrics) or any(info.level != "sample" for info in metrics):
        raise ValueError("its metrics are not all MetricInfo of the level 'sample'")
    register(*metrics)


_HERE = "windtunnel.probes"
PROBES: Registry[type[Probe]] = Registry(
    "probes",
    "probe",
    {
        "machine": f"{_HERE}.this_machine:ThisMachine",
        "disks": f"{_HERE}.disks:BusyDisks",
        "daemons": f"{_HERE}.daemons:Daemons",
        "power": f"{_HERE}.power.probe:Power",
    },
    _admit,
)
CATALOGUE.complete_with(PROBES.values)  # loading a probe registers its metrics
