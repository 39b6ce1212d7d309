"""CPU time of the daemons of the storage during the phases of a trial, from its samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from windtunnel.cluster.roles import ROLES
from windtunnel.probes.sampler import PERIOD_S
from windtunnel.results.record import Phase
from windtunnel.results.sample import Sample

_PREFIX = "daemon_cpu:"


def storage_cpu_s(rows: Iterable[Sample], phases: Sequence[Phase]) -> float | None:
    """CPU seconds of the storage's daemons in the phases; None if no such daemon was sampled.

    A sample is the mean number of cores since the sample before it, so that a phase can contain up
    to one interval of work from outside of it.

    Parameters
    ----------
    rows:
        The samples of the trial.
    phases:
        Its phases; reference phases do not count.
    """
    series: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for row in rows:
        if row.metric.startswith(_PREFIX) and _of_storage(row.metric.removeprefix(_PREFIX)):
            series[row.host, row.metric].append(row)
    if not series:
        return None
    spans = [(phase.started_at, phase.finished_at) for phase in phases if not phase.beside]
    return sum(_cpu_s(found, spans) for found in series.values())


def _of_storage(daemon: str) -> bool:
    """Whether a daemon such as ``osd.2@worker-1`` belongs to the storage."""
    name = daemon.partition("@")[0].partition(".")[0]
    return name in ROLES and ROLES[name].of_storage


def _cpu_s(samples: Iterable[Sample], spans: Sequence[tuple[float, float]]) -> float:
    total, before = 0.0, None
    for sample in sorted(samples):
        since = sample.time_s - PERIOD_S if before is None else before
        shared = (min(end, sample.time_s) - max(start, since) for start, end in spans)
        total += sample.value * sum(s for s in shared if s > 0)
        before = sample.time_s
    return total
