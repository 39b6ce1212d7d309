"""Workloads: what is run. One module each, one registry."""

from __future__ import annotations

from windtunnel.errors import DescriptionError
from windtunnel.workloads.base import Workload
from windtunnel.workloads.dfsio import Dfsio
from windtunnel.workloads.keyvalue import KeyValue
from windtunnel.workloads.mix import Mix
from windtunnel.workloads.pi import Pi
from windtunnel.workloads.report import Report
from windtunnel.workloads.scan import Scan
from windtunnel.workloads.teragen import TeraGen
from windtunnel.workloads.terasort import TeraSort
from windtunnel.workloads.transfer import Transfer
from windtunnel.workloads.wordcount import WordCount

WORKLOADS: dict[str, type[Workload]] = {
    "terasort": TeraSort,
    "teragen": TeraGen,
    "pi": Pi,
    "dfsio": Dfsio,
    "wordcount": WordCount,
    "transfer": Transfer,
    "scan": Scan,
    "report": Report,
    "keyvalue": KeyValue,
    "mix": Mix,
}


def find_workload(name: str) -> type[Workload]:
    """The workload of a name.

    Raises
    ------
    DescriptionError
        If there is none.
    """
    if name not in WORKLOADS:
        raise DescriptionError(
            f"there is no workload '{name}'",
            key="workloads",
            remedy=f"use one of: {', '.join(WORKLOADS)}.",
        )
    return WORKLOADS[name]
