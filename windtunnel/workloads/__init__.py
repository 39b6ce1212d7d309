"""Workloads: what is run. A new one is one module or folder and one line here."""

from __future__ import annotations

from typing import Any

# registers the metrics that scale models add to phases, which reports read without a testbed
import windtunnel.engines.hadoop.pool_metrics  # noqa: F401
from windtunnel.plugins import Registry, check_class
from windtunnel.results.metrics import CATALOGUE
from windtunnel.workloads.base import Workload, register_metrics


def _admit(name: str, kind: Any) -> None:
    """Refuse an object that is not a workload; add the workload's metrics to the catalogue."""
    check_class(name, kind, Workload, ("summary", "about", "parameters_type"))
    register_metrics(kind)


_HERE = "windtunnel.workloads"
WORKLOADS: Registry[type[Workload[Any]]] = Registry(
    "workloads",
    "workload",
    {
        "terasort": f"{_HERE}.terasort.terasort:TeraSort",
        "teragen": f"{_HERE}.terasort.teragen:TeraGen",
        "pi": f"{_HERE}.pi:Pi",
        "dfsio": f"{_HERE}.dfsio.dfsio:Dfsio",
        "wordcount": f"{_HERE}.wordcount.wordcount:WordCount",
        "transfer": f"{_HERE}.transfer:Transfer",
        "scan": f"{_HERE}.event_index.scan:Scan",
        "report": f"{_HERE}.event_index.column_report:Report",
        "metadata": f"{_HERE}.metadata:Metadata",
        "keyvalue": f"{_HERE}.keyvalue.keyvalue:KeyValue",
        "mix": f"{_HERE}.mix.mix:Mix",
    },
    _admit,
)
CATALOGUE.complete_with(WORKLOADS.values)  # loading a workload registers its metrics


def find_workload(name: str) -> type[Workload[Any]]:
    """The workload of a name.

    Raises
    ------
    DescriptionError
        If there is none.
    SetupError
        If it is a plug-in's and cannot be loaded.
    """
    return WORKLOADS.find(name, "workloads")
