"""Spark: sizes and settings of an application, what its driver told, the jar of the driver."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.test_hadoop_layout import layout_of
from tools import build_engine_jar
from windtunnel.engines import engine as contract
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.json_lines import steps_in
from windtunnel.engines.spark import engine as module
from windtunnel.engines.spark.engine import JAR, Spark, SparkJob, SparkRun
from windtunnel.engines.spark.runs import job_run
from windtunnel.engines.spark.sizes import sizes_of
from windtunnel.errors import TrialInvalidError
from windtunnel.hosts.base import ProcessSpec

STEPS = [{"do": "query", "name": "q", "sql": "SELECT 1"}]
START = {"did": "start", "ended": 104.0, "jvm_started": 100.2, "application": "application_7_0001"}


def test_the_jar_was_made_of_the_sources_that_lie_beside_it() -> None:
    with zipfile.ZipFile(build_engine_jar.HOME / "spark" / JAR) as jar:
        assert jar.read(build_engine_jar.HASH).decode() == build_engine_jar.source_hash("spark"), (
            "run: python tools/build_engine_jar.py spark"
        )


class Client:
    """A host whose processes end at once with what a test wants them to have written."""

    def __init__(self, folder: Path) -> None:
        self.name, self.address, self.root = "master", "127.1.2.1", folder / "master"
        self.logs = folder / "logs"
        self.specs: list[ProcessSpec] = []
        self.writes, self.code = [START, {"did": "query", "name": "q", "rows": []}], 0

    def write_text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def spawn(self, spec: ProcessSpec) -> Any:
        self.specs.append(spec)
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        told = [f"windtunnel {json.dumps(line)}" for line in self.writes]
        with spec.log.open("a") as log:  # as the supervisor does
            log.write("\n".join(["WARN something else", *told, ""]))
        return SimpleNamespace(wait=lambda _: self.code, returncode=lambda: self.code)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


@pytest.fixture
def spark(tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> Spark:
    layout = layout_of(tmp_path, settings__spark__executor__memoryOverhead="512m")
    daemons = SimpleNamespace(
        layout=layout, client_conf=tmp_path / "conf", check_alive=lambda: None
    )
    hadoop: Any = SimpleNamespace(
        cluster=layout.cluster,
        client=client,
        daemons=daemons,
        shared=tmp_path / "shared",
        hosts_file=tmp_path / "hosts",
    )
    monkeypatch.setattr(module, "make_archive", lambda *_: Path("/jars/classes.jsa"))
    made = Spark(hadoop, ArtifactSet("spark", Path("/jars"), []))
    made.start()
    return made


def job_of(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(client.specs[-1].argv[-1]).read_text())
    return found


def test_an_application_on_yarn_fills_the_nodes_and_uploads_nothing(
    spark: Spark, client: Client
) -> None:
    run = spark.run("scan", SparkJob(STEPS, executors=3), time.monotonic() + 5)
    job = job_of(client)
    assert job["steps"] == STEPS
    settings = job["settings"]
    assert settings["spark.master"] == "yarn"
    assert settings["spark.yarn.jars"] == "local:/jars/lib/*"
    assert settings["spark.executor.instances"] == "3"
    assert settings["spark.driver.bindAddress"] == "127.1.2.1"
    assert settings["spark.executor.memoryOverhead"] == "512m"  # the description's wins
    assert run.named("q")["rows"] == []
    with pytest.raises(TrialInvalidError, match="did not report other"):
        run.named("other")


def test_an_engine_that_starts_anew_reads_nothing_of_an_earlier_application(
    spark: Spark, client: Client
) -> None:
    client.writes = [START, {"did": "query", "name": "q", "rows": ["of the earlier"]}]
    first = spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    spark.start()  # settings have changed in between
    client.writes = [START, {"did": "query", "name": "q", "rows": ["of the later"]}]
    second = spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    assert first.log != second.log
    assert second.named("q")["rows"] == ["of the later"]
    both = first.log.read_text() + second.log.read_text()
    assert [step.get("rows") for step in steps_in(both)] == [None, ["of the later"]]


def test_the_jars_of_spark_come_before_those_of_hadoop(spark: Spark, client: Client) -> None:
    spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    argv = list(client.specs[0].argv)
    path = argv[argv.index("-cp") + 1].split(":")
    assert path[:2] == ["/jars/lib/*", "/lib/*"] and path[2].endswith(JAR)
    archive = "-XX:SharedArchiveFile=/jars/classes.jsa"
    assert archive in argv
    settings = job_of(client)["settings"]
    for who in ("yarn.am", "executor"):
        assert archive in settings[f"spark.{who}.extraJavaOptions"]
    # it fits class paths that begin as it was made
    assert settings["spark.executor.extraClassPath"] == "/jars/lib/*:/lib/*"
    assert argv[-2] == module.MAIN
    assert client.specs[0].env["SPARK_LOCAL_IP"] == "127.1.2.1"


def test_options_of_jvms_are_added_to_those_that_they_need_here(
    spark: Spark, client: Client
) -> None:
    given = {f"spark.{who}.extraJavaOptions": f"-Dof={who}" for who in ("driver", "executor")}
    spark.hadoop.cluster.settings.update(given)
    spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    argv, settings = client.specs[0].argv, job_of(client)["settings"]
    archive, light = "-XX:SharedArchiveFile=/jars/classes.jsa", "-XX:TieredStopAtLevel=1"
    assert {archive, "-Dof=driver"} <= {*argv}
    assert light not in argv
    of_executor = settings["spark.executor.extraJavaOptions"].split()
    assert {archive, "-Dof=executor"} <= {*of_executor}
    assert {archive, light} <= {*settings["spark.yarn.am.extraJavaOptions"].split()}


def test_without_yarn_the_driver_does_all_the_work(spark: Spark, client: Client) -> None:
    spark.run("scan", SparkJob(STEPS, yarn=False, executors=1, cores=2), time.monotonic() + 5)
    settings = job_of(client)["settings"]
    assert settings["spark.master"] == "local[2]"
    assert not any(name.startswith("spark.yarn") for name in settings)
    spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    own, small = (heap_mb(spec) for spec in client.specs)
    assert own > small


def heap_mb(spec: ProcessSpec) -> int:
    (word,) = (word for word in spec.argv if word.startswith("-Xmx"))
    return int(word.removeprefix("-Xmx").removesuffix("m"))


def test_a_driver_that_fails_or_says_nothing_makes_the_trial_invalid(
    spark: Spark, client: Client
) -> None:
    client.writes = []
    with pytest.raises(TrialInvalidError, match="reported no step"):
        spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)
    client.code = 1
    with pytest.raises(TrialInvalidError, match=r"scan failed \(exit code 1\)"):
        spark.run("scan", SparkJob(STEPS), time.monotonic() + 5)


def test_executors_share_the_memory_that_nodemanagers_offer(tmp_path: Path) -> None:
    layout = layout_of(tmp_path)
    node = int(layout.properties(layout.placements[1].host)["yarn.nodemanager.resource.memory-mb"])
    one, two = sizes_of(layout, None, None), sizes_of(layout, 5, 1)
    assert (one.executors, two.executors, two.cores) == (3, 5, 1)
    master = one.master_mb + one.master_overhead_mb
    assert one.executor_mb + one.overhead_mb + master == node
    assert 2 * (two.executor_mb + two.overhead_mb) + master >= node  # two on each node, or least
    assert one.local_mb > 3 * one.executor_mb
    with pytest.raises(TrialInvalidError, match=r"6 executors of at least 1024 MiB .* at most 5 "):
        sizes_of(layout, 6, 1)


def test_executors_fit_in_what_yarn_allocates(tmp_path: Path) -> None:
    step = "yarn.scheduler.minimum-allocation-mb"
    node = "yarn.nodemanager.resource.memory-mb"
    layout = layout_of(tmp_path, **{f"settings.{step}": 1024, f"settings.{node}": 2048})
    assert sizes_of(layout, None, None).executor_mb == 1024 - 384
    with pytest.raises(TrialInvalidError, match="6 executors of at least 1024 MiB"):
        sizes_of(layout, 6, None)
    layout = layout_of(tmp_path, **{f"settings.{step}": 1024, f"settings.{node}": 4096})
    assert sizes_of(layout, None, None).executor_mb == 3072 - 384
    layout = layout_of(tmp_path, **{f"settings.{step}": "0x400", f"settings.{node}": "0x1000"})
    assert sizes_of(layout, None, None).executor_mb == 3072 - 384


def test_executors_fit_in_what_the_fair_scheduler_allocates(tmp_path: Path) -> None:
    fair = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
    settings = {
        "yarn.resourcemanager.scheduler.class": fair,
        "yarn.scheduler.minimum-allocation-mb": 256,
        "yarn.nodemanager.resource.memory-mb": 2048,
    }
    layout = layout_of(tmp_path, **{f"settings.{name}": value for name, value in settings.items()})
    assert sizes_of(layout, None, None).executor_mb == 1024 - 384, "multiples of its increment"
    with pytest.raises(TrialInvalidError, match="an application master of 1024 MiB"):
        sizes_of(layout, 6, None)


def test_lines_that_were_cut_off_are_passed_over() -> None:
    text = 'noise\nwindtunnel {"did": "start"}\nwindtunnel {"did": "que\nwindtunnel {"did": "x"}\n'
    assert [line["did"] for line in steps_in(text)] == ["start", "x"]


def step(name: str, started: float, **facts: Any) -> dict[str, Any]:
    counts: dict[str, float] = {
        "bytes_read": 100,
        "records_read": 10,
        "bytes_shuffled": 5,
        "bytes_spilled": 0,
    }
    counts |= {"cpu_s": 1.5, "run_s": 2.0, "gc_s": 0.25, "stages": 2}
    task = {"stage": 0, "task": 0, "attempt": 0, "host": "worker-1", "ok": True}
    task |= {"speculative": False, "locality": "NODE_LOCAL", "started": started, "ended": started}
    tasks = [
        {**task, "ended": started + 2, "bytes_read": 100, "records_read": 10, "cpu_s": 1.5},
        {**task, "stage": 1, "task": 1, "records_shuffled": 4, "bytes_shuffled": 5, "ok": False},
    ]
    found = {"did": "query", "name": name, "started": started, "ended": started + 3}
    return {**found, "counts": counts, "tasks": tasks, **facts}


def test_a_phase_runs_from_the_first_query_to_the_end_of_the_last() -> None:
    steps = [step("warm", 105.0), step("a", 110.0), step("b", 114.0)]
    run = SparkRun(START, steps, 100.0, 20.0, Path("x.log"))
    made = job_run("scan", run, steps[1:])
    assert (made.phase.started_at, made.phase.elapsed_s, made.phase.wall_s) == (110.0, 7.0, 20.0)
    values = {name: metric.value for name, metric in made.phase.metrics.items()}
    assert values["cpu_time"] == 3.0 and values["hdfs_bytes_read"] == 200
    assert values["start_to_first_result"] == 8.0 and values["spark_start"] == 4.0
    assert values["client_overhead"] == 13.0 and values["failed_attempts"] == 2
    assert [row["type"] for row in made.tasks] == ["MAP", "REDUCE"] * 2
    assert made.tasks[0]["input_records"] == 10 and made.tasks[1]["input_records"] == 4
    assert made.tasks[1]["cpu_time"] is None and made.tasks[1]["status"] == "FAILED"
    assert made.phase.job_id == "application_7_0001"


def test_records_that_were_not_counted_as_they_were_read_are_left_out() -> None:
    run = SparkRun(START, [step("a", 110.0)], 100.0, 20.0, Path("x.log"))
    made = job_run("scan", run, run.steps, counts_records=False)
    assert "records_read" not in made.phase.metrics and "cpu_time" in made.phase.metrics
    assert {row["input_records"] for row in made.tasks} == {None}


def test_what_tasks_did_not_count_is_left_out() -> None:
    bare = {k: v for k, v in step("a", 110.0).items() if k not in ("counts", "tasks")}
    made = job_run("scan", SparkRun(START, [bare], 100.0, 20.0, Path("x.log")), [bare])
    assert "cpu_time" not in made.phase.metrics and "hdfs_bytes_read" not in made.phase.metrics


def test_the_line_ships() -> None:
    assert contract.line_of(Spark, layout_of(Path("/tmp")).cluster).lock == "spark-3.5"
