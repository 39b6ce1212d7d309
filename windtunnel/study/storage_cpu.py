"""CPU time of the daemons of the storage during the phases of a trial, from its samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windtunnel.cluster.roles import ROLES
from windtunnel.probes.sampler import PERIOD_S
from windtunnel.results.record import Phase
from windtunnel.results.sample import Sample

_PREFIX = "daemon_cpu:"


def storage_cpu_s(rows: Iterable[Sample], phases: Sequence[Phase]) -> float | None:
    """CPU seconds of the storage's daemons in the phases; None if no such daemon was sampled.

    A sample is the mean number of cores since the sampling before it, so that a phase can
    contain up to one interval of work from outside of it. A daemon that was restarted has no sample
    of the time in which it was down.

    Parameters
    ----------
    rows:
        The samples of the trial.
    phases:
        Its phases; reference phases do not count.
    """
    samples = [row for row in rows if row.metric.startswith(_PREFIX)]
    own = [row for row in samples if _of_storage(row.metric.removeprefix(_PREFIX))]
    if not own:
        return None
    instants = sorted({row.time_s for row in samples})
    before = dict(zip(instants[1:], instants, strict=False))
    spans = [(phase.started_at, phase.finished_at) for phase in phases if not phase.beside]
    return sum(
        row.value * _overlap_s(before.get(row.time_s, row.time_s - PERIOD_S), row.time_s, spans)
        for row in own
    )


def _of_storage(daemon: str) -> bool:
    """Whether a daemon such as ``osd.2@worker-1`` belongs to the storage."""
    name = daemon.partition("@")[0].partition(".")[0]
    return name in ROLES and ROLES[name].of_storage


def _overlap_s(since: float, until: float, spans: Sequence[tuple[float, float]]) -> float:
    return sum(max(0.0, min(end, until) - max(start, since)) for start, end in spans)
