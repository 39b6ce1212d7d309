"""How busy each resource of each host was in each phase, from the host samples.

The limits are those of the cluster description, or of the machine that all hosts shared;
what is not known stays unknown. CPU, waiting for disks and the busy time of a disk are shares
by themselves and need no limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windtunnel.analysis import Analysis
from windtunnel.analysis.attempts import read_files
from windtunnel.analysis.limits import HostLimits, limits_by_host
from windtunnel.analysis.observations import counts
from windtunnel.results.folder import Results

CPU, WAITING, MEMORY = "CPU", "waiting for disks", "memory"
DISK_BUSY = "disk_busy:"
PRESSED = 0.90
"""A second in which a resource is used to this share counts as pressed."""
HALF_PERIOD_S = 0.5
"""A sample speaks of the second before it: its middle must lie in the phase."""

_RATES = {
    "disk_read": ("disk read", "disk_read"),
    "disk_write": ("disk write", "disk_write"),
    "net_received": ("network in", "network"),
    "net_sent": ("network out", "network"),
}


@dataclass(frozen=True, slots=True)
class HostUse:
    """Use of one resource of one host in one phase of one trial.

    ``used`` and ``limit`` are in ``unit``: the mean over the phase, for memory the highest.
    ``share`` is used / limit. ``pressed`` is the part of the samples at 90 % of the limit or
    above. None where the limit is not known.
    """

    trial: str
    phase: str
    host: str
    resource: str
    unit: str
    used: float
    limit: float | None
    share: float | None
    pressed: float | None
    worker: bool = True


_QUERY = """
    WITH inside AS (
      SELECT s.trial, p.phase, s.host, s.t, s.metric, s.unit, s.value
      FROM read_parquet(?) AS s JOIN spans AS p ON s.trial = p.trial
        AND s.t BETWEEN p.begins AND p.ends
      WHERE s.metric IN ('cpu_idle', 'cpu_iowait', 'memory_used', 'disk_read', 'disk_write',
        'net_received', 'net_sent') OR starts_with(s.metric, 'disk_busy:')
    ), used AS (
      SELECT trial, phase, host, t, metric, unit, value FROM inside WHERE metric <> 'cpu_idle'
      UNION ALL
      SELECT trial, phase, host, t, 'cpu', 'ratio', 1 - sum(value) FROM inside
      WHERE metric IN ('cpu_idle', 'cpu_iowait') GROUP BY ALL
      HAVING count(*) FILTER (metric = 'cpu_idle') > 0
    )
    SELECT trial, phase, host, metric, any_value(unit) AS unit, avg(value) AS mean,
      max(value) AS highest, list(value) AS each_value
    FROM used GROUP BY ALL ORDER BY ALL
"""


def host_uses(analysis: Analysis) -> dict[tuple[str, str], list[HostUse]]:
    """Use of all resources of all hosts by (trial, phase), of the trials that count."""
    results = analysis.results
    limits = limits_by_host(results)
    treatment = {trial.id: trial.treatment.id for trial in results.trials}
    paths = [results.samples_path(trial) for trial in results.trials if counts(trial)]
    known = [path for path in paths if path is not None]
    found: dict[tuple[str, str], list[HostUse]] = defaultdict(list)
    for row in read_files(known, _QUERY, {"spans": _spans(results)}):
        of_host = limits.get(treatment[row["trial"]], {}).get(row["host"])
        found[(row["trial"], row["phase"])].append(_use(row, of_host))
    return dict(found)


def _spans(results: Results) -> pa.Table:
    rows: dict[str, list[Any]] = {"trial": [], "phase": [], "begins": [], "ends": []}
    for trial in results.trials:
        for phase in trial.phases:
            rows["trial"].append(trial.id)
            rows["phase"].append(phase.name)
            rows["begins"].append(phase.started_at + HALF_PERIOD_S)
            rows["ends"].append(phase.finished_at + HALF_PERIOD_S)
    return pa.table(rows)


def _use(row: Mapping[str, Any], limits: HostLimits | None) -> HostUse:
    metric = row["metric"]
    used, limit = row["mean"], None
    if metric in ("cpu", "cpu_iowait"):
        resource, limit = (CPU if metric == "cpu" else WAITING), 1.0
    elif metric.startswith(DISK_BUSY):
        resource, limit = f"disk {metric.removeprefix(DISK_BUSY)}", 1.0
    elif metric == "memory_used":
        resource, used = MEMORY, row["highest"]
        limit = limits.memory if limits else None
    else:
        resource, name = _RATES[metric]
        limit = getattr(limits, name) if limits else None
    pressed = None
    if limit:
        near = sum(value >= PRESSED * limit for value in row["each_value"])
        pressed = near / len(row["each_value"])
    return HostUse(
        trial=row["trial"],
        phase=row["phase"],
        host=row["host"],
        resource=resource,
        unit=row["unit"],
        used=used,
        limit=limit,
        share=used / limit if limit else None,
        pressed=pressed,
        worker=limits.worker if limits else True,
    )
