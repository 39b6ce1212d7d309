"""The results folder of observed jobs: one trial per job, one workload per kind of job."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from windtunnel import durable
from windtunnel.analysis.subjects.observed import (
    OBSERVED,
    SETTINGS,
    associations,
    changes,
    proposed_study,
)
from windtunnel.cluster.secrets import masked_text
from windtunnel.published.build import Built
from windtunnel.published.history.job import ObservedJob, unique_jobs
from windtunnel.published.history.measures import metrics_of, phases_of
from windtunnel.published.store import write_results
from windtunnel.results.folder import read_results
from windtunnel.results.record import (
    Check,
    DesignRecord,
    ProtocolRecord,
    StudyRecord,
    Treatment,
    Trial,
    Verdict,
)
from windtunnel.results.tasks import task_table

STUDY_FILE = "proposed-study.yaml"
_TREATMENT = Treatment(id="as run")


def build(jobs: Sequence[ObservedJob], sources: Sequence[str], cluster: str | None = None) -> Built:
    """The study and its trials; a job that two sources contain counts once, with its last attempt.

    ``cluster`` is the text of a cluster description, kept with the study.
    """
    ordered = sorted(unique_jobs(jobs).values(), key=lambda job: (job.started_at, job.id))
    text = "\n".join(f"# source: {masked_text(source)}" for source in sources) + "\n"
    identity = hashlib.sha256("".join(job.id for job in ordered).encode()).hexdigest()
    workloads: dict[str, dict[str, str]] = {}
    for job in ordered:
        workloads.setdefault(
            job.pattern, {"user": job.user, "queue": job.queue, "engine": job.engine}
        )
    rounds: dict[str, int] = {}
    trials = []
    study = StudyRecord(
        id=identity[:16],
        name="observed jobs",
        question="Which jobs changed over time, and with which settings?",
        kind=OBSERVED,
        testbed=OBSERVED,
        created_at=time.time(),
        fingerprint=identity,
        source_text=text,
        workloads=dict(workloads),
        treatments=[_TREATMENT],
        design=DesignRecord(kind="none"),
        protocol=ProtocolRecord(rounds=1, seed=0, trial_time_limit_s=0.0, retry_invalid=0),
        notes=[
            "Nobody planned these jobs as trials: a difference between them is an association, "
            "never an effect."
        ],
        sources=[masked_text(source) for source in sources],
    )
    for position, job in enumerate(ordered, start=1):
        rounds[job.pattern] = rounds.get(job.pattern, 0) + 1
        trials.append(_trial(study, job, rounds[job.pattern], position))
    study.protocol = ProtocolRecord(
        rounds=max(rounds.values(), default=1), seed=0, trial_time_limit_s=0.0, retry_invalid=0
    )
    return Built(study, trials)


def _trial(study: StudyRecord, job: ObservedJob, number: int, position: int) -> Trial:
    reason = "" if job.succeeded else f"the job ended as {job.status}"
    return Trial(
        id=f"{position:06d}-{_file_name(job.id)}",
        study_id=study.id,
        kind=OBSERVED,
        testbed=OBSERVED,
        workload=job.pattern,
        treatment=_TREATMENT,
        parameters={
            "job": job.id,
            "name": masked_text(job.name),
            "user": job.user,
            "queue": job.queue,
            "engine": job.engine,
            "version": job.version or "unknown",
        },
        round=number,
        position=position,
        started_at=job.started_at,
        finished_at=job.finished_at,
        verdict=Verdict(
            valid=job.succeeded,
            reason=reason,
            checks=[
                Check(
                    name="job history",
                    passed=job.succeeded,
                    expected="SUCCEEDED",
                    got=f"{job.status}; the output is not verified",
                )
            ],
        ),
        phases=phases_of(job),
        metrics=metrics_of(job),
        tasks_file=f"tasks/{position:06d}-{_file_name(job.id)}.parquet" if job.tasks else None,
        flags=list(job.notes),
        provenance=_hash(job),
    )


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in text)[:80]


def _provenance(job: ObservedJob) -> bytes:
    plain = {SETTINGS: job.settings, "engine": job.engine, "version": job.version}
    return json.dumps(plain, indent=1, sort_keys=True).encode()


def _hash(job: ObservedJob) -> str:
    return hashlib.sha256(_provenance(job)).hexdigest()[:16]


def store(
    jobs: Sequence[ObservedJob], built: Built, folder: Path, cluster: str | None
) -> Path | None:
    """Write the folder, with task attempts and settings, and the proposed study if there is one.

    Returns the path of the study file. Raises ResultsError, StorageFullError.
    """
    by_id = unique_jobs(jobs)
    files: dict[str, bytes] = {}
    for trial in built.trials:
        job = by_id[trial.parameters["job"]]
        if trial.tasks_file is not None:
            files[trial.tasks_file] = task_table(trial.id, [_known(row) for row in job.tasks])
        files[f"provenance/{trial.provenance}.json"] = _provenance(job)
    write_results(built, folder, files)
    results = read_results(folder)
    text = proposed_study(changes(results), associations(results), cluster)
    if text is None:
        return None
    file = folder / STUDY_FILE
    durable.write_text(file, text)
    return file


def _known(row: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in row.items() if key not in ("container", "stage")}
