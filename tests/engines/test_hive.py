"""Hive: its session's command and settings, what it tells, the phase that is made of it."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.test_hadoop_program import Cluster
from tools import build_engine_jar
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hive.engine import MAIN, OWN_JAR, Hive
from windtunnel.engines.hive.runs import job_run
from windtunnel.errors import TrialInvalidError
from windtunnel.testbeds.base import PlannedTreatment, StudyRequest
from windtunnel.testbeds.local import LocalTestbed

COLLECTIONS = "commons-collections-3.2.2.jar"
STEPS = [{"name": "use", "sql": "USE whole"}, {"name": "q", "sql": "SELECT 1"}]
TOLD = [
    {"name": "use", "started": 105.0, "ended": 106.0, "jobs": [], "rows": [], "partitions": 0},
    {"name": "q", "started": 106.0, "ended": 130.0, "jobs": ["job_1_0001", "job_1_0002"]},
]


def written(steps: list[dict[str, Any]]) -> str:
    """As a client writes it, with a library's lines between."""
    lines = [f"windtunnel {json.dumps(step)}" for step in steps]
    return "\n".join(["Hive Session ID = 7", *lines, "Total MapReduce CPU Time Spent: 1 sec"])


@pytest.fixture
def hive(tmp_path: Path) -> Hive:
    hadoop: Any = Cluster(written(TOLD))
    hadoop.cluster = apply_overrides(load_cluster("local-1"), {"settings.hive.fetch.task": "none"})
    hadoop.client = SimpleNamespace(
        address="127.0.0.1", root=tmp_path, logs=tmp_path / "logs", write_text=write_text
    )
    software = hadoop.daemons.layout.software
    plain = software.command
    hadoop.daemons.layout.properties = lambda: {
        "mapreduce.application.classpath": "/hadoop/lib/*",
        "mapreduce.job.reduces": "3",
        "mapreduce.map.java.opts": "-Xmx300m",
    }
    software.command = lambda *words, **more: [*more["options"], *plain(*words, **more)]
    jars = ArtifactSet("hive-4.0", tmp_path / "hive", [])
    write_text(jars.lib / COLLECTIONS, "")
    engine = Hive(hadoop, jars)
    engine.start()
    return engine


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_jar_was_made_of_the_sources_that_lie_beside_it() -> None:
    with zipfile.ZipFile(OWN_JAR) as jar:
        assert jar.read(build_engine_jar.HASH).decode() == build_engine_jar.source_hash("hive"), (
            "run: python tools/build_engine_jar.py hive"
        )


def test_a_session_gets_its_settings_and_statements(hive: Hive) -> None:
    run = hive.run("scan", STEPS, 60.0)
    ((*_, main, description, path),) = hive.hadoop.ran  # type: ignore[attr-defined]
    assert main == MAIN
    lib = hive.jars.lib
    assert path == f"/conf:{OWN_JAR}:{lib}/*"
    job = json.loads(Path(description).read_text())
    assert job["steps"] == STEPS
    assert job["settings"]["hive.execution.engine"] == "mr"
    assert job["settings"]["hive.fetch.task"] == "none", "the description's"
    given = job["settings"]["mapreduce.application.classpath"]
    assert given == f"/hadoop/lib/*,{lib / COLLECTIONS}"
    assert job["settings"]["mapreduce.job.reduces"] == "3", "Hive has a default of its own"
    # what a session reaches into, its tasks do as well
    opens = "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED"
    assert opens in hive.hadoop.ran[0]  # type: ignore[attr-defined]
    assert opens in job["settings"]["mapreduce.reduce.java.opts"].split()
    assert job["settings"]["mapreduce.map.java.opts"].endswith("ALL-UNNAMED -Xmx300m")
    assert [step["name"] for step in run.steps] == ["use", "q"]
    assert not hive.processes(), "nothing of it runs between sessions"
    again = hive.run("scan", STEPS, 60.0)
    assert again.wall_s >= 0 and len(list(Path(description).parent.glob("*.json"))) == 2


def test_a_session_that_tells_too_little_is_refused(hive: Hive) -> None:
    hive.hadoop.text = written(TOLD[:1])  # type: ignore[attr-defined]
    with pytest.raises(TrialInvalidError, match="Hive did not execute all steps of scan"):
        hive.run("scan", STEPS, 60.0)


def test_a_phase_is_from_the_question_to_the_answer(hive: Hive) -> None:
    run = hive.run("scan", STEPS, 60.0)
    made = job_run("scan", run, run.steps[1:], hive.hadoop.history)
    phase = made.phase
    assert (phase.started_at, phase.finished_at, phase.elapsed_s) == (106.0, 130.0, 24.0)
    assert phase.job_id == "job_1_0001 job_1_0002"
    assert phase.metrics["hive_start"].value == pytest.approx(105.0 - run.started_at)
    assert phase.metrics["start_to_first_result"].value == pytest.approx(130.0 - run.started_at)
    assert {row["input_records"] for row in made.tasks if row["type"] == "MAP"} == {None}
    assert {row["output_records"] for row in made.tasks if row["type"] == "REDUCE"} <= {None}
    with pytest.raises(TrialInvalidError, match="Hive submitted no job for: use"):
        job_run("scan", run, run.steps, hive.hadoop.history)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("hive.metastore.uris", "thrift://production:9083", "a metastore of its own"),
        ("javax.jdo.option.ConnectionURL", "jdbc:mysql://production/hive", "a metastore"),
        ("hive.execution.engine", "tez", "not with 'tez'"),
        ("hive.execution.engine", "mr", ""),
        ("hive.exec.parallel", "true", ""),
    ],
)
def test_the_metastore_of_an_installation_is_refused(name: str, value: str, reason: str) -> None:
    found = Hive.refused_settings(
        apply_overrides(load_cluster("local-1"), {f"settings.{name}": value})
    )
    assert bool(found) == bool(reason)
    assert reason in found.get(name, "")


def test_a_study_with_the_engine_is_refused_with_such_a_setting(tmp_path: Path) -> None:
    testbed = LocalTestbed(tmp_path, lambda text: None)
    uris = {"settings.hive.metastore.uris": "thrift://production:9083"}
    one = PlannedTreatment("a", apply_overrides(load_cluster("local-1"), uris), ())
    request = StudyRequest("s", [one], {}, ["hive"], "never", 1, 60.0, {})
    (refused,) = testbed.admit(request).impossible
    assert refused.startswith("settings.hive.metastore.uris: the session has a metastore")
    assert testbed.admit(replace(request, engines=[])).impossible == []
