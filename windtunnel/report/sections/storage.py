"""Section "Cost of the storage": CPU time of tasks and of storage daemons, and raw bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.sections.base import Section, Table, column

_TASKS, _DAEMONS, _RAW, _DATA = "cpu_time", "storage_cpu_time", "stored_per_byte", "data_bytes"
_PATH = "storage."
_SIZE_PATH = "storage.block_size"  # it changes the number of maps, not what is stored
_CODE_PATH = "storage.erasure_code"
_CODES = "An erasure code of HDFS is computed by the tasks, one of Ceph by its daemons"
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Cost:
    """Means of one treatment of one workload over ``trials`` trials; None: not measured.

    ``tasks_cpu_s`` and ``daemons_cpu_s`` are CPU seconds in all phases, ``cpu_s_per_gb`` their sum
    for each GB of the data set, ``raw_per_byte`` the bytes on disks for each byte of the files.
    """

    workload: str
    treatment: str
    trials: int
    elapsed_s: float
    tasks_cpu_s: float | None
    daemons_cpu_s: float | None
    cpu_s_per_gb: float | None
    raw_per_byte: float | None


def section(analysis: Analysis) -> Section | None:
    """None if no factor varies the storage, or nothing of it was measured."""
    paths = [path for t in analysis.study.treatments for path in t.overrides]
    if not any(path.startswith(_PATH) and path != _SIZE_PATH for path in paths):
        return None
    found = list(_costs(analysis))
    if not any(c.daemons_cpu_s is not None or c.raw_per_byte is not None for c in found):
        return None
    names = ("time", "CPU of the tasks", "CPU of the storage", "CPU per GB", "raw bytes per byte")
    return Section(
        id="storage",
        title="CPU time and disk space of the storage",
        said=[
            text
            for text in (
                _span(analysis, found, "raw_per_byte", "Raw bytes per byte of the files", ""),
                _span(analysis, found, "cpu_s_per_gb", "CPU time per GB of data", " s"),
            )
            if text
        ],
        tables=[
            Table(
                "CPU and raw bytes",
                column("treatment", *names, "trials", text=1),
                [_row(analysis, cost) for cost in found],
                hint="Means over the trials, summed over the phases. CPU of the storage: its "
                "daemons. CPU per GB: that of tasks and storage, for each GB of the data set. Raw "
                "bytes: all replicas or cells on the disks.",
            )
        ],
        hint=_CODES if _CODE_PATH in paths else "",
        data=[asdict(cost) for cost in found],
    )


def _costs(analysis: Analysis) -> Iterator[Cost]:
    for workload in analysis.phases:
        for treatment in analysis.study.treatments:
            elapsed = analysis.cell(treatment.id, workload, TOTAL, ELAPSED)
            if elapsed is None:
                continue
            tasks, daemons, raw, data = (
                None if cell is None else cell.mean
                for name in (_TASKS, _DAEMONS, _RAW, _DATA)
                for cell in [analysis.cell(treatment.id, workload, TOTAL, name)]
            )
            whole = None
            if tasks is not None and daemons is not None and data:
                whole = (tasks + daemons) / data * _GB
            yield Cost(
                workload,
                treatment.id,
                elapsed.n,
                elapsed.mean,
                tasks,
                daemons,
                whole,
                raw,
            )


def _row(analysis: Analysis, cost: Cost) -> list[str]:
    lead = f"{cost.workload}: " if len(analysis.phases) > 1 else ""
    return [
        f"{lead}{analysis.name(cost.treatment)}",
        quantity(cost.elapsed_s, "s"),
        quantity(cost.tasks_cpu_s, "s"),
        quantity(cost.daemons_cpu_s, "s"),
        quantity(cost.cpu_s_per_gb, "s"),
        "unknown" if cost.raw_per_byte is None else digits(cost.raw_per_byte),
        str(cost.trials),
    ]


def _span(analysis: Analysis, costs: list[Cost], field: str, what: str, unit: str) -> str:
    """The lowest and the highest value with their treatments; empty if fewer than two are known."""
    known = [(getattr(c, field), c) for c in costs if getattr(c, field) is not None]
    if len(known) < 2:
        return ""
    low, high = min(known, key=lambda k: k[0]), max(known, key=lambda k: k[0])
    if digits(low[0]) == digits(high[0]):
        return f"{what}: {digits(low[0])}{unit} with all treatments"
    return (
        f"{what}: {digits(low[0])}{unit} ({analysis.name(low[1].treatment)}) to "
        f"{digits(high[0])}{unit} ({analysis.name(high[1].treatment)})"
    )
