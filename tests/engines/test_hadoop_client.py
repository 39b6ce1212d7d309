"""Hadoop's clients: their command lines, and a job watched to its end without Hadoop."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop import client
from windtunnel.engines.hadoop.client import COMMANDS, DaemonClients, JobClient, user_command
from windtunnel.engines.hadoop.loopback import Binding
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.running import tail
from windtunnel.errors import DeploymentError, TrialInvalidError, UsageError
from windtunnel.hosts.base import ProcessSpec

LOG = """\
INFO mapreduce.Job: The url to track the job: http://master:20001/proxy/application_17_0007/
INFO mapreduce.Job: Running job: job_17_0007
INFO mapreduce.Job: Job job_17_0007 completed successfully
"""


class Process:
    """A client that runs for some looks and then ends."""

    def __init__(self, spec: ProcessSpec, looks: int, code: int) -> None:
        self.name, self.log, self.pid = spec.name, spec.log, 1
        self.looks, self.code, self.killed = looks, code, False

    def returncode(self) -> int | None:
        return self.code if self.looks <= 0 or self.killed else None

    def wait(self, timeout_s: float) -> int | None:
        self.looks -= 1
        return self.returncode()

    def kill(self) -> None:
        self.killed = True


class Stage:
    """Daemons and a host for a JobClient; ``dead`` is what check_alive finds."""

    def __init__(self, folder: Path, log: str, looks: int = 2, code: int = 0) -> None:
        lib = folder / "clib"
        lib.mkdir()
        (lib / "hadoop-mapreduce-examples-3.5.0.jar").touch()
        self.software = Software(folder / "java", "17", folder / "lib", lib, "3.5.0")
        self.layout = SimpleNamespace(software=self.software, binding=lambda address: None)
        self.hosts_file = folder / "hosts"
        self.client_conf = folder / "conf"
        self.root, self.logs, self.address = folder, folder / "logs", "127.1.2.1"
        self.log, self.looks, self.code = log, looks, code
        self.dead = False
        self.process: Process | None = None
        self.spec: ProcessSpec | None = None

    def check_alive(self) -> None:
        if self.dead:
            raise DeploymentError("the datanode on worker-1 has died (killed by signal 9)")

    def spawn(self, spec: ProcessSpec) -> Process:
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        spec.log.write_text(self.log)
        self.spec, self.process = spec, Process(spec, self.looks, self.code)
        return self.process

    def run(self, deadline_s: float = 60) -> tuple[str, float, str]:
        job = JobClient(DaemonClients(self, self, self.check_alive), self)  # type: ignore[arg-type]
        argv = ["org.apache.hadoop.examples.terasort.TeraSort", "/in", "/out"]
        settings = {"mapreduce.job.reduces": "2", "a": "b"}
        return job.run("terasort", argv, settings, time.monotonic() + deadline_s)


def test_a_job_is_run_with_its_settings_and_its_id_is_found(tmp_path: Path) -> None:
    stage = Stage(tmp_path, LOG)
    job_id, wall_s, _ = stage.run()

    assert job_id == "job_17_0007"
    assert wall_s >= 0
    assert stage.spec is not None
    argv = list(stage.spec.argv)
    main = argv.index("org.apache.hadoop.examples.terasort.TeraSort")
    assert argv[main + 1 :] == ["-Da=b", "-Dmapreduce.job.reduces=2", "/in", "/out"]
    assert f"-Djdk.net.hosts.file={tmp_path}/hosts" in argv[:main]


def test_what_the_client_said_last_is_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, LOG + "Estimated value of Pi is 3.14\n")
    job = JobClient(DaemonClients(stage, stage, stage.check_alive), stage)  # type: ignore[arg-type]
    _, _, output = job.run("pi", ["Main"], {}, time.monotonic() + 60)

    assert output.endswith("Estimated value of Pi is 3.14")


def test_the_last_of_several_jobs_counts(tmp_path: Path) -> None:
    assert Stage(tmp_path, LOG + LOG.replace("0007", "0008")).run()[0] == "job_17_0008"


@pytest.mark.parametrize(
    ("log", "code", "says"),
    [
        (
            "INFO x\njava.io.IOException: File /in does not exist\n\tat org.Foo(Foo.java:1)\n",
            1,
            r"terasort failed \(exit code 1\): java.io.IOException: File /in does not exist",
        ),
        (
            "2026-11-29 19:20:07,270 INFO mapreduce.Job: Task Id : attempt_17_0007_m_000000_2, "
            "Status : FAILED\nError: Java heap space\n\n"
            "2026-11-29 19:20:10,219 INFO mapreduce.Job: Job job_17_0007 failed with state FAILED "
            "due to: Task failed task_17_0007_m_000000\nJob failed as tasks failed. failedMaps:1\n",
            1,
            r"\(exit code 1\): map task 17_0007_m_000000_2: Java heap space",
        ),
        ("", 137, r"exit code 137\): no output"),
        ("nothing telling\n", 1, "nothing telling"),
        ("INFO all is well\n", 0, "submitted no job"),
    ],
)
def test_a_client_that_fails_makes_the_trial_invalid(
    tmp_path: Path, log: str, code: int, says: str
) -> None:
    with pytest.raises(TrialInvalidError, match=says):
        Stage(tmp_path, log, code=code).run()


def test_a_job_beyond_the_time_limit_is_killed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, LOG, looks=100)
    with pytest.raises(TrialInvalidError, match="still running at the trial's time limit"):
        stage.run(deadline_s=-1)
    assert stage.process is not None
    assert stage.process.killed


@pytest.mark.parametrize("looks", [100, 0])
def test_a_daemon_that_dies_ends_the_job(tmp_path: Path, looks: int) -> None:
    stage = Stage(tmp_path, LOG, looks=looks)
    stage.dead = True
    with pytest.raises(DeploymentError, match="datanode on worker-1 has died"):
        stage.run()
    assert stage.process is not None
    assert stage.process.returncode() is not None, "nothing is left running"


# -- windtunnel exec -------------------------------------------------------------------


def facts(folder: Path) -> dict[str, Any]:
    stage = Stage(folder, "")
    software = stage.software.to_json()
    return {"software": software, "hosts_file": f"{folder}/hosts", "conf": f"{folder}/conf"}


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_every_known_command_becomes_its_class(tmp_path: Path, words: tuple[str, str]) -> None:
    argv = user_command([*words, "-x", "y"], facts(tmp_path))
    main, again = COMMANDS[words]

    assert argv[argv.index(main) + 1 :] == [*again, "-x", "y"]


def test_the_word_examples_stands_for_the_examples_jar(tmp_path: Path) -> None:
    argv = user_command(["hadoop", "jar", "examples", "pi", "2", "10"], facts(tmp_path))

    assert argv[-4].endswith("hadoop-mapreduce-examples-3.5.0.jar")


def test_clients_listen_on_one_address_where_the_deployment_says_so(tmp_path: Path) -> None:
    binding = Binding(tmp_path / "loopback.jar", "127.1.2.1")
    free = facts(tmp_path)
    bound = user_command(["hdfs", "fsck"], {**free, "binding": binding.to_json()})

    assert "-Dwindtunnel.bind=127.1.2.1" in bound
    assert bound[bound.index("-cp") + 1].endswith(f":{binding.jar}")
    assert not any("windtunnel.bind" in word for word in user_command(["hdfs", "fsck"], free))


@pytest.mark.parametrize("words", [["hdfs"], ["ls", "/"], ["hdfs", "explode"]])
def test_an_unknown_command_is_refused_with_the_known_ones(words: list[str]) -> None:
    with pytest.raises(UsageError, match="unknown command") as caught:
        user_command(words, {})
    assert "hdfs dfs" in caught.value.remedy


def test_software_survives_its_way_through_json(tmp_path: Path) -> None:
    software = Stage(tmp_path, "").software

    assert Software.from_json(software.to_json()) == software


def test_the_tail_of_a_log_is_short_and_never_fails(tmp_path: Path) -> None:
    log = tmp_path / "d.log"
    log.write_bytes(b"\xff\n" + b"".join(b"line %d\n" % i for i in range(50_000)))

    assert tail(log, 2) == "line 49998\nline 49999"
    assert tail(tmp_path / "absent.log") == ""
    assert client.why(tmp_path / "absent.log") == "no output"
