"""Programs on the client's host that submit jobs; all jobs of one program are one timed phase."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.hadoop.start_up import START_SHARE, TASK_START, start_metrics
from windtunnel.engines.job_metrics import CLIENT_OVERHEAD
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric, Phase

if TYPE_CHECKING:
    from windtunnel.engines.engine import HadoopCluster

_JOB_ID = re.compile(r"\bjob_\d+_\d+\b")
_HEAP_MB = 512


def run_own_job(
    hadoop: HadoopCluster,
    phase: str,
    argv: Sequence[str],
    settings: Mapping[str, str],
    deadline_s: float,
) -> JobRun:
    """Run a main class of Windtunnel's own jar (``engines/hadoop/java``) as one timed phase.

    Errors as with ``Deployment.run_job``, which runs only Hadoop's own classes.
    """
    main, *rest = argv
    options = [f"-D{key}={value}" for key, value in sorted(settings.items())]
    command = client_jvm(hadoop, main, [*options, *rest], _own_jars(hadoop))
    return run_program(hadoop, phase, command, deadline_s)


def run_own_client(
    hadoop: HadoopCluster, name: str, main: str, args: Sequence[str], deadline_s: float
) -> tuple[str, float]:
    """Run a main class of Windtunnel's own jar that submits no job.

    Returns its output and its wall time in seconds. Errors as with :func:`run_program`.
    """
    began = time.monotonic()
    command = client_jvm(hadoop, main, args, _own_jars(hadoop))
    text = hadoop.run_on_client(name, command, deadline_s=deadline_s)
    return text, time.monotonic() - began


def _own_jars(hadoop: HadoopCluster) -> list[Path | str]:
    return [f"{hadoop.daemons.layout.software.client_lib}/*", OWN_JAR]


def client_jvm(
    hadoop: HadoopCluster, main: str, args: Sequence[str], jars: Sequence[Path | str]
) -> list[str]:
    """Command line of a JVM on the client's host, with Hadoop's jars followed by ``jars``."""
    daemons = hadoop.daemons
    return daemons.layout.software.command(
        main,
        *args,
        heap_mb=_HEAP_MB,
        hosts_file=daemons.hosts_file,
        classpath=[daemons.client_conf, *jars],
        binding=daemons.layout.binding(hadoop.client.address),
    )


def run_program(
    hadoop: HadoopCluster, phase: str, command: Sequence[str], deadline_s: float
) -> JobRun:
    """Run a program to its end and collect the jobs that it names in its output.

    Raises
    ------
    TrialInvalidError
        If it fails, names no job, or is still running at ``deadline_s`` (monotonic).
    DeploymentError
        If a daemon dies meanwhile.
    """
    began = time.monotonic()
    text = hadoop.run_on_client(phase, command, deadline_s=deadline_s)
    wall_s = time.monotonic() - began
    ids = list(dict.fromkeys(_JOB_ID.findall(text)))
    if not ids:
        raise TrialInvalidError(f"{phase} succeeded but submitted no job")
    return as_one(phase, [hadoop.history.collect(phase, job, wall_s) for job in ids], wall_s)


def as_one(phase: str, runs: Sequence[JobRun], wall_s: float) -> JobRun:
    """Several jobs as one, from the first start to the last end, with the sums of all counts.

    A metric that one of the jobs lacks is omitted. Those of the start of tasks, a median and a
    fraction, are computed from the tasks of all jobs.
    """
    if len(runs) == 1:
        return runs[0]
    phases = [run.phase for run in runs]
    started = min(one.started_at for one in phases)
    finished = max(one.finished_at for one in phases)
    shared = set.intersection(*(set(one.metrics) for one in phases))
    shared -= {one.name for one in (CLIENT_OVERHEAD, TASK_START, START_SHARE)}
    rows = [row for run in runs for row in run.tasks]
    metrics = {
        name: Metric(value=sum(one.metrics[name].value for one in phases), unit=metric.unit)
        for name, metric in phases[0].metrics.items()
        if name in shared
    }
    overhead_s = max(0.0, wall_s - (finished - started))
    metrics |= numbers({CLIENT_OVERHEAD: overhead_s, **start_metrics(rows)})
    record = Phase(
        name=phase,
        job_id=" ".join(one.job_id for one in phases if one.job_id),
        started_at=started,
        finished_at=finished,
        elapsed_s=finished - started,
        wall_s=wall_s,
        metrics=metrics,
    )
    counters: Counter[str] = Counter()
    for run in runs:
        counters.update(run.counters)
    return JobRun(
        record,
        counters,
        rows,
        notes=[note for run in runs for note in run.notes],
    )
