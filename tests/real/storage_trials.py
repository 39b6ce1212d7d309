"""What the tests of storage systems share: a trial with a killed daemon, a copied file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.real.conftest import LIGHT_YARN, LIMIT_S, SMALL_JOBS, by_hand
from windtunnel.cluster import load_text, validate
from windtunnel.hosts.leftovers import entering
from windtunnel.hosts.supervisor import python_path
from windtunnel.results.folder import read_results
from windtunnel.results.record import FaultRecord, Trial
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment

CONTENT = bytes(range(256)) * 100_000
TWO_OSDS = {
    "hosts.worker.count": 2,
    "hosts.worker.roles": ["osd"],
    "hosts.worker.extra_roles": {0: ["nodemanager"]},
    "storage.replication": 2,
    "storage.block_size": "16 MiB",
    **LIGHT_YARN,
}
"""Changes of a cluster with Ceph: each of two workers has a copy, one of them runs tasks."""


def sort_of(rows: int, copies: int) -> dict[str, Any]:
    """TeraSort with one map: three jobs. The fault happens during the second."""
    return {
        "terasort": {
            "rows": rows,
            "maps": 1,
            "input_replication": copies,
            "output_replication": copies,
        }
    }


def count_of(size: str, copies: int) -> dict[str, Any]:
    """WordCount: the client puts a text, and one job reads it and writes the counts."""
    return {"wordcount": {"size": size, "replication": copies}}


def fault_study(
    cluster: str,
    changes: Mapping[str, Any],
    *,
    workload: Mapping[str, Any],
    fault: Mapping[str, Any],
) -> str:
    """A study of one workload without a fault and with a killed daemon, with few processes."""
    (phase,) = workload
    kill = {"kind": "kill-daemon", "phase": phase, "watch": "0 s", **fault}
    return json.dumps(
        {
            "study": "storage",
            "cluster": cluster,
            "set": {**changes, **SMALL_JOBS},
            "workloads": workload,
            "factors": {"fault": {"none": {}, "killed": {"fault": kill}}},
            "baseline": {"fault": "none"},
            "protocol": {"rounds": 1, "trial_time_limit": "5 min"},
        },
        indent=1,
    )


def killed_trial(study: str, deployment: LocalDeployment, folder: Path) -> Trial:
    """The trial with the killed daemon, on a running deployment."""
    located = load_text(study, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    with open_journal(folder, study_record(plan)) as journal:
        slot = next(s for s in plan.round_slots(1) if s.treatment.id == "killed")
        deployment.reconfigure(plan.cluster_of(slot.treatment))
        run_trial(plan, slot, 1, deployment, journal, Conditions())
    (trial,) = read_results(folder).trials
    return trial


def fully_replicated(deployment: LocalDeployment, holders: int) -> bool:
    """Whether so many hosts hold data, no replica is missing and the storage serves."""
    found = deployment.storage.copies({})
    return found is not None and (found.holders, found.wanting, found.serving) == (
        holders,
        0,
        True,
    )


def survived(trial: Trial) -> FaultRecord:
    """The fault of a trial that finished with verified output; it was undone."""
    assert trial.verdict.valid, trial.verdict.reason
    assert trial.outcome == "finished"
    (fault,) = trial.faults
    assert fault.undone_at is not None
    return fault


def file_is_read_as_written(deployment: LocalDeployment, folder: Path) -> None:
    """A client puts ``CONTENT`` to ``/tmp/file`` and gets it back."""
    (folder / "file").write_bytes(CONTENT)
    (folder / "back").mkdir()
    by_hand(deployment, "hdfs", "dfs", "-put", str(folder / "file"), "/tmp/file")
    by_hand(deployment, "hdfs", "dfs", "-get", "/tmp/file", str(folder / "back"))
    assert (folder / "back" / "file").read_bytes() == CONTENT


def small_study(storage: Mapping[str, Any], roles: Sequence[str], rounds: int = 1) -> str:
    """A WordCount of one job on a storage, with its roles on the master and on the worker.

    ``storage`` has the keys of the description; its replication is that of the workload.
    """
    masters = [role for role in roles if role != "osd"]
    return json.dumps(
        {
            "study": "small",
            "cluster": "local-1",
            "set": {
                "hosts.master.roles": [*masters, "resourcemanager", "historyserver"],
                "hosts.worker.roles": [*(["osd"] if "osd" in roles else []), "nodemanager"],
                **{f"storage.{name}": value for name, value in storage.items()},
                **SMALL_JOBS,
                **LIGHT_YARN,
            },
            "workloads": count_of("2 MB", storage["replication"]),
            "protocol": {"rounds": rounds, "extra_rounds": 0, "trial_time_limit": "5 min"},
        }
    )


@contextmanager
def run_inside(
    deployment: LocalDeployment, study: str, folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """``windtunnel run`` in the network of a cluster with the storage; results in ``folder``."""
    file = folder / "study.json"
    file.write_text(study)
    words = ["run", str(file), "--results", str(folder / "results")]
    argv = [sys.executable, "-P", "-m", "windtunnel", *words]
    with subprocess.Popen(
        entering(deployment.registration.folder, "network", argv),
        env=os.environ | {"PYTHONPATH": python_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def verified_inside(deployment: LocalDeployment, study: str, folder: Path) -> Trial:
    """The only trial of a study that runs in the network of a cluster; its output was verified."""
    with run_inside(deployment, study, folder) as running:
        text, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0, text
    (trial,) = read_results(folder / "results").trials
    assert trial.verdict.valid, trial.verdict.reason
    return trial
