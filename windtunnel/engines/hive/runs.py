"""Build a phase of a trial from the steps of a Hive session and the job history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.hadoop.program import as_one
from windtunnel.engines.hive.engine import HiveRun
from windtunnel.engines.job_metrics import CLIENT_OVERHEAD, START_TO_FIRST_RESULT
from windtunnel.engines.json_lines import Step
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import MetricInfo, numbers, register

HIVE_START = MetricInfo(
    "hive_start",
    "s",
    "time from the start of the session's JVM to its first statement",
    "the session",
    better="less",
)
register(HIVE_START)

# Hadoop's counters that are wrong for Hive: its maps read columnar formats in batches of a thousand
# records, which count as one, and its reduces write results to files of their own.
_NOT_COUNTED = {"MAP": "input_records", "REDUCE": "output_records"}
_MISLEADING = frozenset(f"{kind.lower()}_{name}" for kind, name in _NOT_COUNTED.items())


def job_run(phase: str, run: HiveRun, timed: Sequence[Step], history: History) -> JobRun:
    """One timed phase, from the start of the first of the ``timed`` steps to the end of the last.

    This is the time that a user waits: it includes the compilation of the query and the upload
    of Hive's jar. ``start_to_first_result`` counts from just before the session's JVM was started.

    Raises
    ------
    TrialInvalidError
        If a query submitted no job, or the job history lacks a job.
    """
    idle = [step["name"] for step in timed if not step["jobs"]]
    if idle:
        raise TrialInvalidError(f"Hive submitted no job for: {', '.join(idle)}")
    ids = [job for step in timed for job in step["jobs"]]
    jobs = as_one(phase, [history.collect(phase, job, run.wall_s) for job in ids], run.wall_s)
    began, ended = timed[0]["started"], timed[-1]["ended"]
    first = next(step for step in run.steps if step["jobs"])
    metrics = {name: one for name, one in jobs.phase.metrics.items() if name not in _MISLEADING}
    metrics |= numbers(
        {
            CLIENT_OVERHEAD: max(0.0, run.wall_s - (ended - began)),
            HIVE_START: run.steps[0]["started"] - run.started_at,
            START_TO_FIRST_RESULT: first["ended"] - run.started_at,
        }
    )
    record = jobs.phase.model_copy(
        update={
            "started_at": began,
            "finished_at": ended,
            "elapsed_s": ended - began,
            "metrics": metrics,
        }
    )
    tasks = [{**row, _NOT_COUNTED[row["type"]]: None} for row in jobs.tasks]
    return replace(jobs, phase=record, tasks=tasks)
