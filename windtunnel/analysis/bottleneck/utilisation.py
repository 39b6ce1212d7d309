"""Utilisation of each resource of each host in each phase, from the host samples.

The limits are those of the cluster description, or of the machine that all hosts shared.
Limits that neither of them states are unknown. CPU, waiting for disks and the busy time of a disk
are fractions already and need no limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windtunnel.analysis.bottleneck.described_hosts import HostLimits
from windtunnel.analysis.bottleneck.physical_limits import limits_by_host
from windtunnel.analysis.observations import counts
from windtunnel.analysis.parquet_files import Reading, read_files
from windtunnel.analysis.recorded import Recorded
from windtunnel.results.folder import Results

CPU, WAITING, MEMORY = "CPU", "waiting for disks", "memory"
DISK_BUSY = "disk_busy:"
PRESSED = 0.90
"""A sample with at least this utilisation counts as pressed."""
HALF_PERIOD_S = 0.5
"""A sample is the mean over the second before it: the middle must be within the phase."""

_LIMITED = {
    "memory_used": (MEMORY, "memory"),
    "disk_read": ("disk read", "disk_read"),
    "disk_write": ("disk write", "disk_write"),
    "net_received": ("network in", "network"),
    "net_sent": ("network out", "network"),
}
"""Metrics that need a limit: (resource, name in HostLimits)."""
DATA_PATH = frozenset(resource for resource, _ in _LIMITED.values()) - {MEMORY}
"""Resources that data uses on all hosts, not only on workers."""


@dataclass(frozen=True, slots=True)
class HostUse:
    """Use of one resource of one host in one phase of one trial.

    ``used`` and ``limit`` are in ``unit``: the mean over the phase, for memory the highest.
    ``share`` is used / limit. ``pressed`` is the fraction of the samples at 90 % of the limit
    or above. None if the limit is unknown.
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


# CPU, waiting and the busy time of a disk are fractions: their limit is 1.
_QUERY = f"""
    WITH inside AS (
      SELECT p.treatment, s.trial, p.phase, s.host, s.t, s.metric, s.unit, s.value
      FROM read_parquet(?) AS s JOIN spans AS p ON s.trial = p.trial
        AND s.t BETWEEN p.begins AND p.ends
      WHERE s.metric IN ('cpu_idle', 'cpu_iowait', 'memory_used', 'disk_read', 'disk_write',
        'net_received', 'net_sent') OR starts_with(s.metric, '{DISK_BUSY}')
    ), used AS (
      SELECT treatment, trial, phase, host, metric, unit, value FROM inside
      WHERE metric <> 'cpu_idle'
      UNION ALL
      SELECT treatment, trial, phase, host, 'cpu', 'ratio', 1 - sum(value) FROM inside
      WHERE metric IN ('cpu_idle', 'cpu_iowait') GROUP BY treatment, trial, phase, host, t
      HAVING count(*) FILTER (metric = 'cpu_idle') > 0
    ), limited AS (
      SELECT used.*, CASE WHEN metric IN ('cpu', 'cpu_iowait')
        OR starts_with(metric, '{DISK_BUSY}') THEN 1 ELSE ceiling END AS ceiling
      FROM used LEFT JOIN ceilings USING (treatment, host, metric)
    )
    SELECT trial, phase, host, metric, any_value(unit) AS unit, avg(value) AS mean,
      max(value) AS highest, any_value(ceiling) AS ceiling,
      count(*) FILTER (value >= {PRESSED} * ceiling) / count(*) AS pressed
    FROM limited GROUP BY trial, phase, host, metric ORDER BY ALL
"""


def samples_read(analysis: Recorded) -> Reading:
    """Use of each metric in the phases, from the sample files of the counted trials."""
    results = analysis.results
    tables = {"spans": _spans(results), "ceilings": _ceilings(limits_by_host(results))}
    return read_files(map(results.samples_path, filter(counts, results.trials)), _QUERY, tables)


def host_uses(analysis: Recorded) -> dict[tuple[str, str], list[HostUse]]:
    """Use of all resources of all hosts by (trial, phase), of the counted trials."""
    limits = limits_by_host(analysis.results)
    treatment = {trial.id: trial.treatment.id for trial in analysis.results.trials}
    found: dict[tuple[str, str], list[HostUse]] = defaultdict(list)
    for row in analysis.once(samples_read).each():
        of_host = limits.get(treatment[row["trial"]], {}).get(row["host"])
        found[(row["trial"], row["phase"])].append(_use(row, of_host))
    return dict(found)


def _spans(results: Results) -> pa.Table:
    rows: dict[str, list[Any]] = {
        name: [] for name in ("treatment", "trial", "phase", "begins", "ends")
    }
    for trial in results.trials:
        for phase in trial.phases:
            rows["treatment"].append(trial.treatment.id)
            rows["trial"].append(trial.id)
            rows["phase"].append(phase.name)
            rows["begins"].append(phase.started_at + HALF_PERIOD_S)
            rows["ends"].append(phase.finished_at + HALF_PERIOD_S)
    return pa.table(rows)


def _ceilings(limits: Mapping[str, Mapping[str, HostLimits]]) -> pa.Table:
    """The known limits by treatment, host and metric."""
    rows: dict[str, list[Any]] = {"treatment": [], "host": [], "metric": [], "ceiling": []}
    for treatment, hosts in limits.items():
        for host, known in hosts.items():
            for metric, (_, name) in _LIMITED.items():
                rows["treatment"].append(treatment)
                rows["host"].append(host)
                rows["metric"].append(metric)
                rows["ceiling"].append(getattr(known, name))
    text, number = pa.string(), pa.float64()
    schema = [("treatment", text), ("host", text), ("metric", text), ("ceiling", number)]
    return pa.table(rows, pa.schema(schema))


def _use(row: Mapping[str, Any], limits: HostLimits | None) -> HostUse:
    metric, limit = row["metric"], row["ceiling"]
    if metric in ("cpu", "cpu_iowait"):
        resource = CPU if metric == "cpu" else WAITING
    elif metric.startswith(DISK_BUSY):
        resource = f"disk {metric.removeprefix(DISK_BUSY)}"
    else:
        resource = _LIMITED[metric][0]
    used = row["highest"] if resource == MEMORY else row["mean"]
    return HostUse(
        trial=row["trial"],
        phase=row["phase"],
        host=row["host"],
        resource=resource,
        unit=row["unit"],
        used=used,
        limit=limit,
        share=used / limit if limit else None,
        pressed=row["pressed"] if limit else None,
        worker=limits.worker if limits else True,
    )
