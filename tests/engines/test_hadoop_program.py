"""Programs that submit jobs: several jobs as one phase, and the jar of our own."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.mock import job_run
from tools import build_engine_jar
from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.program import as_one, run_own_job, run_program
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Metric


def job(number: int, began: float, ended: float, **seconds: float) -> JobRun:
    run = job_run("count", ended - began, {"G:N": number})
    metrics = {name: Metric(value=value, unit="s") for name, value in seconds.items()}
    phase = run.phase.model_copy(
        update={
            "job_id": f"job_1_000{number}",
            "started_at": began,
            "finished_at": ended,
            "elapsed_s": ended - began,
            "metrics": metrics,
        }
    )
    return replace(run, phase=phase, notes=[f"note {number}"])


def test_several_jobs_are_one_phase_from_the_first_start_to_the_last_end() -> None:
    """What lies between two jobs belongs to the time; what both used is added up."""
    first = job(1, 100.0, 110.0, cpu_time=5, gc_time=1, client_overhead=9)
    second = job(2, 113.0, 120.0, cpu_time=7, client_overhead=9)
    one = as_one("count", [first, second], wall_s=26.0)

    assert (one.phase.started_at, one.phase.finished_at, one.phase.elapsed_s) == (100, 120, 20)
    assert one.phase.job_id == "job_1_0001 job_1_0002"
    metrics = {name: metric.value for name, metric in one.phase.metrics.items()}
    assert metrics == {"cpu_time": 12, "client_overhead": 6}, "gc_time of the second is unknown"
    assert one.counters == {"G:N": 3}
    assert len(one.tasks) == 2
    assert one.notes == ["note 1", "note 2"]


def test_the_start_of_tasks_is_that_of_all_jobs() -> None:
    def started(number: int, start_s: float) -> JobRun:
        run = job(number, 100.0, 110.0, task_start=start_s, start_share=start_s / 10)
        row = {"status": "SUCCEEDED", "started_at": 100.0, "finished_at": 110.0}
        return replace(run, tasks=[row | {"work_started_at": 100.0 + start_s}])

    one = as_one("count", [started(1, 6.0), started(2, 2.0)], wall_s=10.0)
    metrics = {name: metric.value for name, metric in one.phase.metrics.items()}
    assert metrics == pytest.approx({"task_start": 4, "start_share": 0.4, "client_overhead": 0})


def test_jobs_that_ran_at_once_do_not_add_their_times() -> None:
    one = as_one("count", [job(1, 100.0, 110.0), job(2, 105.0, 108.0)], wall_s=1.0)
    assert one.phase.elapsed_s == 10
    assert one.phase.metrics["client_overhead"].value == 0


class Cluster:
    """A client whose programs write a given text; job N runs from 10 N to 10 N + 4."""

    def __init__(self, text: str) -> None:
        self.text, self.ran = text, []  # type: ignore[var-annotated]
        software = SimpleNamespace(client_lib=Path("/clients"), command=self.command)
        layout = SimpleNamespace(software=software, binding=lambda address: "bound")
        self.daemons = SimpleNamespace(layout=layout, hosts_file="/hosts", client_conf="/conf")
        self.client = SimpleNamespace(address="127.0.0.1")
        self.history = self

    def command(self, main: str, *args: str, **more: Any) -> list[str]:
        return [main, *args, ":".join(map(str, more["classpath"]))]

    def run_on_client(self, name: str, argv: list[str], *, deadline_s: float) -> str:
        self.ran.append(argv)
        return self.text

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        number = int(job_id[-1])
        return job(number, 10.0 * number, 10.0 * number + 4)


def test_each_job_that_a_program_names_is_collected_once() -> None:
    cluster: Any = Cluster("Running job: job_1_0002\njob_1_0002 done\nSubmitted job_1_0003\n")
    run = run_program(cluster, "count", ["program"], 60.0)
    assert run.phase.job_id == "job_1_0002 job_1_0003"
    assert run.phase.elapsed_s == 14


def test_a_program_without_a_job_is_invalid() -> None:
    cluster: Any = Cluster("nothing to do\n")
    with pytest.raises(TrialInvalidError, match="count succeeded but submitted no job"):
        run_program(cluster, "count", ["program"], 60.0)


def test_our_own_job_has_its_settings_and_its_jar() -> None:
    cluster: Any = Cluster("job_1_0001")
    run_own_job(cluster, "count", ["io.windtunnel.X", "/in", "/out"], {"b": "2", "a": "1"}, 60.0)
    (command,) = cluster.ran
    assert command == [
        "io.windtunnel.X",
        "-Da=1",
        "-Db=2",
        "/in",
        "/out",
        f"/conf:/clients/*:{OWN_JAR}",
    ]


def test_the_jar_was_made_of_the_sources_that_lie_beside_it() -> None:
    with zipfile.ZipFile(OWN_JAR) as jar:
        made_of = jar.read(build_engine_jar.HASH).decode()
    assert made_of == build_engine_jar.source_hash("hadoop"), (
        "run: python tools/build_engine_jar.py hadoop"
    )
