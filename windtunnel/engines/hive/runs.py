"""From what a session of Hive told, and the job history, to a phase of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.hadoop.program import as_one
from windtunnel.engines.hive.engine import HiveRun
from windtunnel.engines.told import Step
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Metric

# What Hadoop counts and Hive passes by: of formats that store columns apart its maps read batches
# of a thousand records, and its reduces write answers to files of their own.
_NOT_COUNTED = {"MAP": "input_records", "REDUCE": "output_records"}
_MISLEADING = frozenset(f"{kind.lower()}_{name}" for kind, name in _NOT_COUNTED.items())


def job_run(phase: str, run: HiveRun, timed: Sequence[Step], history: History) -> JobRun:
    """One timed phase: from the start of the first of some steps to the end of the last.

    That is what who asks waits for: compiling the query and shipping Hive's jar are within it.
    ``start_to_first_result`` is counted from just before the session's JVM was started.

    Raises
    ------
    TrialInvalidError
        If a query submitted no job, or the job history does not know one.
    """
    idle = [step["name"] for step in timed if not step["jobs"]]
    if idle:
        raise TrialInvalidError(f"Hive answered without a job: {', '.join(idle)}")
    ids = [job for step in timed for job in step["jobs"]]
    jobs = as_one(phase, [history.collect(phase, job, run.wall_s) for job in ids], run.wall_s)
    began, ended = timed[0]["started"], timed[-1]["ended"]
    first = next(step for step in run.steps if step["jobs"])
    metrics = {name: one for name, one in jobs.phase.metrics.items() if name not in _MISLEADING}
    metrics["client_overhead"] = Metric(value=max(0.0, run.wall_s - (ended - began)), unit="s")
    metrics["hive_start"] = Metric(value=run.steps[0]["started"] - run.started_at, unit="s")
    metrics["start_to_first_result"] = Metric(value=first["ended"] - run.started_at, unit="s")
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
