"""``import history``: from files to a results folder with findings, and its report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.history_files import DAY_MS, spark_lines, write_job
from tests.support.jhist import BEGAN
from tests.support.webserver import Reply, Request, serving
from windtunnel.analysis.subjects.observed import associations, changes
from windtunnel.cli import run
from windtunnel.hosts.rest import RestClient
from windtunnel.published.history.job import UnreadableJobError
from windtunnel.published.history.rest import listed_jobs, read_job
from windtunnel.results.folder import read_results
from windtunnel.study.file import load_study
from windtunnel.study.plan import make_plan

PLANTED = "planted-history-secret"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Twenty daily runs; from the twelfth on another buffer size, and half as long again."""
    folder = tmp_path / "jobs"
    (folder / "2026" / "11").mkdir(parents=True)
    for day in range(20):
        late = day >= 12
        settings = {
            "mapreduce.task.io.sort.mb": "50" if late else "100",
            "mapreduce.job.name": f"etl {day}",
            "fs.s3a.secret.key": PLANTED,
            "mapreduce.map.java.opts": f"-Xmx1g -Dkey.password={PLANTED}",
            "jdbc.url": f"jdbc:mysql://db/x?user=a&password={PLANTED}",
        }
        length = 30_000 + 300 * (day * 7 % 5) + 15_000 * late
        write_job(folder / "2026" / "11", day, day * DAY_MS, length, settings)
    return folder


def test_a_step_is_found_with_its_setting(
    jobs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = next((jobs / "2026" / "11").glob("*_0000-*.jhist"))
    (jobs / "job_1_0001-truncated.jhist").write_bytes(good.read_bytes()[:900])
    (jobs / "job_1_0002-old.jhist").write_text('Meta VERSION="1" .\n')
    (jobs / "job_1_0003-empty.jhist").touch()
    (jobs / "notes.txt").write_text("not history")
    (jobs / "application_1792000000000_0009").write_text("\n".join(spark_lines()))
    (jobs / "broken-link").symlink_to("nowhere")
    folder = tmp_path / "results"
    assert run(["import", "history", str(jobs), "--results", str(folder)]) == 0
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert sum(line.startswith("read: ") for line in lines) == 21
    assert sum(line.startswith("not read: ") for line in lines) == 4
    assert "per second" in out and "21 jobs, 4 not read" in out

    results = read_results(folder)
    assert results.study.kind == "observed"
    assert {trial.kind for trial in results.trials} == {"observed"}
    first = next(t for t in results.trials if t.workload == "etl # (ann, etl)")
    assert [phase.name for phase in first.phases] == ["start-up", "map", "reduce"]
    assert sum(phase.elapsed_s for phase in first.phases) == pytest.approx(30.0)
    assert first.metrics["spill_ratio"].value == 2.0
    assert first.metrics["queue_wait"].value == 0.5
    assert first.metrics["local_share"].value == 1.0
    assert first.phases[1].metrics["waves"].value == 1.0
    assert results.tasks_path(first) is not None

    (step,) = changes(results)
    assert step.kind == "step" and 1.4 < step.ratio < 1.55 and step.low < step.ratio < step.high
    assert step.at == (BEGAN + 12 * DAY_MS) / 1e3
    assert [(s.name, s.before, s.after) for s in step.settings] == [
        ("mapreduce.task.io.sort.mb", "100", "50")
    ]
    (found,) = associations(results)
    assert (found.setting, found.reference, found.value) == (
        "mapreduce.task.io.sort.mb",
        "100",
        "50",
    )
    assert found.p < 0.05

    plan = make_plan(*load_study(folder / "proposed-study.yaml"), {})
    overrides = [treatment.overrides for treatment in plan.treatments]
    assert overrides == [
        {"settings.mapreduce.task.io.sort.mb": "100"},
        {"settings.mapreduce.task.io.sort.mb": "50"},
    ]

    assert run(["report", str(folder)]) == 0
    report = capfd.readouterr().out
    assert run(["report", str(folder), "--full"]) == 0
    full = capfd.readouterr().out
    assert "a step on" in report and "mapreduce.task.io.sort.mb from 100 to 50" in " ".join(
        report.split()
    )
    assert "association, never an effect" in " ".join(full.split())
    stored = "".join(
        file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()
    )
    assert "their output was not verified" in " ".join(full.split())
    assert PLANTED not in stored + out + report + full


def test_a_damaged_configuration_of_a_job_is_noted(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = sorted((jobs / "2026" / "11").glob("*_conf.xml"))[0]
    conf.write_text("<configuration>\n<property>")
    assert run(["import", "history", str(jobs), "--results", str(tmp_path / "out")]) == 0

    note = f"{conf} is not XML (line 2): the settings of this job are unknown"
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "not XML" in line]
    assert line.endswith(f"; note: {note}")
    (trial,) = [t for t in read_results(tmp_path / "out").trials if t.flags]
    assert trial.flags == [note]


def test_without_a_change_nothing_is_found(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for day in range(12):
        settings = {"mapreduce.task.io.sort.mb": str(100 + day % 2)}
        write_job(jobs, day, day * DAY_MS, 30_000 + 300 * (day * 7 % 5), settings)
    assert run(["import", "history", str(jobs), "--results", str(tmp_path / "r")]) == 0
    assert not (tmp_path / "r" / "proposed-study.yaml").exists()
    assert run(["report", str(tmp_path / "r")]) == 0
    assert "No drift, step or associated setting" in capfd.readouterr().out


def test_a_drift_is_found(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for day in range(20):  # so many that the test for steps rejects as well
        write_job(jobs, day, day * DAY_MS, 30_000 + 600 * day)
    assert run(["import", "history", str(jobs), "--results", str(tmp_path / "r")]) == 0
    (found,) = changes(read_results(tmp_path / "r"))
    assert found.ratio > 1.05 and found.at is None
    assert found.kind.startswith("drift over 19 days")


def test_a_job_in_two_sources_counts_once(jobs: Path, tmp_path: Path) -> None:
    other = shutil.copytree(jobs, tmp_path / "other")
    assert run(["import", "history", str(jobs), str(other), "--results", str(tmp_path / "r")]) == 0
    assert len(read_results(tmp_path / "r").trials) == 20


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--results", "r"], 2, "no source of jobs"),
        (["absent", "--results", "r"], 2, "absent does not exist"),
        (["."], 2, "--results is missing"),
        ([".", "--results", "."], 6, "exists already"),
        ([".", "--results", "r", "--since", "March"], 2, "is not a day"),
        (["notes.txt", "--results", "r"], 2, "no finished job"),
        (["http://localhost:1", "--results", "r"], 12, "cannot be reached"),
        ([".", "--results", "r", "--keytab", "absent"], 2, "keytab absent does not exist"),
        ([".", "--results", "r", "--conf", "absent"], 2, "absent does not exist"),
    ],
)
def test_wrong_commands(
    words: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert run(["import", "history", *words]) == code
    error = capfd.readouterr().err
    assert message in error and "what to do" in error
    assert not (tmp_path / "r").exists()


def test_a_server_that_dies_keeps_what_was_read(
    jobs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [str(jobs), "http://localhost:1", "--results", str(tmp_path / "r")]
    assert run(["import", "history", *words]) == 12
    found = capfd.readouterr()
    assert "not read: the rest of http://localhost:1" in found.out
    assert "cannot be reached" in found.err
    assert len(read_results(tmp_path / "r").trials) == 20


def job_server(request: Request) -> Reply:
    """A history server with one job that it has, and one that it forgot."""
    base = "/ws/v1/history/mapreduce/jobs"
    job: dict[str, object] = {
        "id": "job_1_1",
        "name": "etl",
        "user": "ann",
        "queue": "q",
        "state": "SUCCEEDED",
    }
    job |= {"submitTime": 1000, "startTime": 2000, "finishTime": 9000, "mapsTotal": 1}
    task = {"id": "task_1", "type": "MAP", "state": "SUCCEEDED"}
    attempt: dict[str, object] = {
        "id": "a",
        "type": "MAP",
        "state": "SUCCEEDED",
        "nodeHttpAddress": "w1:8042",
    }
    attempt |= {"startTime": 3000, "finishTime": 8000}
    counter = {"name": "CPU_MILLISECONDS", "totalCounterValue": 2500}
    group = "org.apache.hadoop.mapreduce.TaskCounter"
    secret = {"name": "a.password", "value": PLANTED}
    answers = {
        base: {"jobs": {"job": [job, {**job, "id": "job_1_2"}]}},
        f"{base}/job_1_1": {"job": job},
        f"{base}/job_1_1/counters": {
            "jobCounters": {"counterGroup": [{"counterGroupName": group, "counter": counter}]}
        },
        f"{base}/job_1_1/conf": {"conf": {"property": [secret, {"name": "b", "value": "1"}]}},
        f"{base}/job_1_1/tasks": {"tasks": {"task": task}},
        f"{base}/job_1_1/tasks/task_1/attempts": {"taskAttempts": {"taskAttempt": [attempt]}},
    }
    found = answers.get(request.path)
    return Reply(found) if found else Reply({"RemoteException": {"message": "not found"}}, 404)


@pytest.mark.parametrize("since", [None, 5.0])
def test_the_newest_jobs_of_a_history_server_are_listed(since: float | None) -> None:
    queries: list[dict[str, str]] = []

    def answer(request: Request) -> Reply:
        queries.append(request.query)
        first = int(request.query.get("startedTimeBegin", 0))
        times = {f"job_1_{n}": 1000 * n for n in range(1, 9)}
        jobs = [{"id": name, "startTime": at} for name, at in times.items() if at >= first]
        return Reply({"jobs": {"job": jobs[: int(request.query.get("limit", 100))]}})

    with serving(answer) as url, RestClient() as client:
        begin = 0 if since is None else int(since * 1000)
        found = listed_jobs(client, url, 3, begin)
    assert [job["id"] for job in found] == ["job_1_8", "job_1_7", "job_1_6"]
    assert queries == [{} if since is None else {"startedTimeBegin": "5000"}]


def timed(times: dict[str, int]) -> Callable[[Request], Reply]:
    """A history server with one killed job that has these times."""
    job = {"id": "job_1_1", "state": "KILLED", **times}
    return lambda request: Reply({"job": job} if request.path.endswith("/job_1_1") else {})


@pytest.mark.parametrize(
    ("times", "started_at"),
    [
        ({"submitTime": 5000, "startTime": 6000, "finishTime": 9000}, 6.0),
        ({"submitTime": 5000, "startTime": -1, "finishTime": 9000}, 5.0),
        ({"submitTime": 5000, "startTime": 0, "finishTime": 9000}, 5.0),
        ({"submitTime": -1, "startTime": -1, "finishTime": 9000}, 9.0),
    ],
)
def test_a_job_that_never_started(times: dict[str, int], started_at: float) -> None:
    with serving(timed(times)) as url, RestClient() as client:
        job = read_job(client, url, {"id": "job_1_1"})
    assert (job.started_at, job.finished_at) == (started_at, 9.0)


def test_a_job_without_an_end() -> None:
    with (
        serving(timed({"startTime": 5000, "finishTime": -1})) as url,
        RestClient() as client,
        pytest.raises(UnreadableJobError, match="no end"),
    ):
        read_job(client, url, {"id": "job_1_1"})


def test_a_history_server_that_forgot_a_job(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(job_server) as url:
        assert run(["import", "history", url, "--results", str(tmp_path / "r")]) == 0
    out = capfd.readouterr().out
    assert "not read: job_1_2: the history server no longer has the job" in out
    results = read_results(tmp_path / "r")
    (trial,) = results.trials
    assert [(p.name, p.elapsed_s) for p in trial.phases] == [("start-up", 1.0), ("map", 6.0)]
    assert trial.metrics["cpu_time"].value == 2.5
    assert results.provenance(trial)["settings"] == {"b": "1"}
