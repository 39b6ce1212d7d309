"""A finished job as it was observed, whatever its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from windtunnel.cluster.secrets import is_secret, masked_text

Engine = Literal["mapreduce", "spark"]

_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27,}|\d+", re.IGNORECASE)

# Settings that differ for each job by design: its name, its files, its ids
_OF_THE_JOB = re.compile(
    r"(\.job\.(name|id|dir|jar|split|credentials|user|application|token|working|cache|local|"
    r"ubertask\.internal|end-notification|classloader)|submithost|submit\.|inputdir|outputdir|"
    r"workflow|cluster\.local|local\.dir|staging|serialized|hive\.(query|session|exec\.plan|exec\.scratch)|"
    r"pig\.|cascading\.|oozie\.|tez\.dag|spark\.app\.(id|name|startTime|submitTime)|"
    r"spark\.(driver|executor)\.(host|port|id)|spark\.(yarn|repl|master|submit|jars|files)|"
    r"\.classpath|resource\.|tmp|temp|\.dirs?$|-dirs?$|address|uuid|timestamp|\.time$)",
    re.IGNORECASE,
)


@dataclass
class ObservedJob:
    """One finished job.

    ``attempt`` is the number of the application's attempt, 0 if the source does not have it.
    Times are epoch seconds; None if the source does not have them. ``counters`` are totals,
    ``GROUP:NAME`` of MapReduce's. ``uberized``: its tasks ran in the application master; None if
    the source does not have it. ``tasks`` are rows as in ``results/tasks.py`` plus ``stage``
    (Spark). ``settings`` are its settings without secrets and without those of the job alone.
    """

    id: str
    engine: Engine
    name: str
    user: str
    queue: str
    status: str
    submitted_at: float | None
    started_at: float
    finished_at: float
    source: str
    version: str | None = None
    attempt: int = 0
    maps: int | None = None
    reduces: int | None = None
    uberized: bool | None = None
    counters: dict[str, float] = field(default_factory=dict)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    containers: list[tuple[float, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def elapsed_s(self) -> float:
        """Seconds from start to finish."""
        return self.finished_at - self.started_at

    @property
    def pattern(self) -> str:
        """The name with numbers replaced, user and queue: runs of the same job have the same."""
        return f"{pattern_of(self.name)} ({self.user}, {self.queue})"

    @property
    def succeeded(self) -> bool:
        """Whether the job succeeded."""
        return self.status == "SUCCEEDED"


def unique_jobs(jobs: Iterable[ObservedJob]) -> dict[str, ObservedJob]:
    """Id -> its last attempt; of several sources of this attempt, the one with most tasks."""
    return {job.id: job for job in sorted(jobs, key=lambda job: (job.attempt, len(job.tasks)))}


def pattern_of(name: str) -> str:
    """A job's name in which each number or id is replaced by ``#``."""
    return masked_text(_NUMBERS.sub("#", " ".join(name.split())))[:120] or "unnamed"


def lasting_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that two runs of the same job can share, without secrets."""
    return {
        name: masked_text(value)
        for name, value in sorted(settings.items())
        if not _OF_THE_JOB.search(name) and not is_secret(name, value)
    }


class UnreadableJobError(Exception):
    """A file or an answer that holds no finished job; the text is its status line."""
