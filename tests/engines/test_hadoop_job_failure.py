"""The error of a failed job, from outputs of Hadoop 3.5's client."""

from __future__ import annotations

import pytest

from windtunnel.engines.hadoop.job_failure import cause_of_failure

HEAD = """\
2026-11-29 19:20:02,732 INFO mapreduce.Job: Running job: job_1_0001
2026-11-29 19:20:06,648 INFO mapreduce.Job:  map 0% reduce 0%
"""
TAIL = """
2026-11-29 19:20:09,790 INFO mapreduce.Job:  map 100% reduce 0%
2026-11-29 19:20:10,219 INFO mapreduce.Job: Job job_1_0001 failed with state FAILED due to: Task \
failed task_1_0001_m_000000
Job failed as tasks failed. failedMaps:1 failedReduces:0 killedMaps:0 killedReduces: 0

2026-11-29 19:20:10,243 INFO mapreduce.Job: Counters: 11
\tJob Counters
\t\tFailed map tasks=4
"""


def failed(diagnostics: str, attempt: str = "1_0001_m_000000_2") -> str:
    record = f"2026-11-29 19:20:07,270 INFO mapreduce.Job: Task Id : attempt_{attempt}, Status : "
    return f"{HEAD}{record}FAILED\n{diagnostics}\n{TAIL}"


def exited(stderr: str, code: int = 1) -> str:
    return (
        "[2026-11-29 19:20:08.313]Exception from container-launch.\n"
        f"Container id: container_1_0001_01_000004\nExit code: {code}\n\n"
        f"[2026-11-29 19:20:08.316]Container exited with a non-zero exit code {code}. Error file: "
        "prelaunch.err.\nLast 4096 bytes of prelaunch.err :\nLast 4096 bytes of stderr :\n"
        f"{stderr}\n"
    )


EXCEPTION = """\
Error: java.io.IOException: Initialization of all the collectors failed.
\tat org.apache.hadoop.mapred.MapTask.createSortingCollector(MapTask.java:425)
Caused by: java.lang.IllegalArgumentException: Compression codec no.such.Codec was not found.
"""
NO_JVM = """\
log4j:WARN No appenders could be found for logger
Unrecognized VM option 'NoSuchFlag'
Error: Could not create the Java Virtual Machine.
Error: A fatal exception has occurred. Program will exit.
"""
TIMED_OUT = "[2026-11-29 19:20:08.313]AttemptID:attempt_1_0001_m_000000_2 Timed out after 600 secs"
LIMIT = """\
[2026-11-29 19:20:08.313]Container [pid=7,containerID=container_1_0001_01_000004] is running \
123B beyond the 'PHYSICAL' memory limit. Current usage: 1.0 GB of 1 GB physical memory used
Dump of the process-tree for container_1_0001_01_000004 :
[2026-11-29 19:20:08.313]Container killed on request. Exit code is 143
"""
CRASH = """\
#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f0001, pid=7, tid=8
#
# JRE version: OpenJDK Runtime Environment (17.0.1)
# Problematic frame:
# C  [libcephfs.so.2+0x1234]
"""
COLLECTORS = "Error occurred during initialization of VM\nMultiple garbage collectors selected\n"


@pytest.mark.parametrize(
    ("diagnostics", "output", "cause"),
    [
        (EXCEPTION, "", "java.io.IOException: Initialization of all the collectors failed."),
        ("Error: Java heap space", "", "Java heap space"),
        (exited(NO_JVM), "", "Unrecognized VM option 'NoSuchFlag'"),
        (exited(""), COLLECTORS, "Multiple garbage collectors selected"),
        (
            exited("", 134),
            CRASH,
            "the JVM crashed: SIGSEGV (0xb) at pc=0x00007f0001, pid=7, tid=8, in "
            "C  [libcephfs.so.2+0x1234]",
        ),
        (exited("", 139), "", "exit code 139, signal SIGSEGV"),
        (exited("", 3), "", "exit code 3"),
        (TIMED_OUT, "", "AttemptID:attempt_1_0001_m_000000_2 Timed out after 600 secs"),
        ("", "", "no diagnostics"),
    ],
)
def test_the_error_of_a_task(diagnostics: str, output: str, cause: str) -> None:
    outputs = {"container_1_0001_01_000004": output}
    text = failed(diagnostics)
    assert cause_of_failure(text, outputs.__getitem__) == f"map task 1_0001_m_000000_2: {cause}"


def test_a_container_above_its_memory_limit() -> None:
    found = cause_of_failure(failed(LIMIT), lambda _: "")
    assert "is running 123B beyond the 'PHYSICAL' memory limit" in found
    assert "\n" not in found


def test_the_last_failed_attempt_counts() -> None:
    text = failed("Error: first") + failed("Error: second", "1_0001_r_000001_3")
    assert cause_of_failure(text, lambda _: "") == "reduce task 1_0001_r_000001_3: second"


def test_the_error_of_the_application_master() -> None:
    text = (
        f"{HEAD}2026-11-29 19:20:26,764 INFO mapreduce.Job: Job job_1_0001 failed with state "
        "FAILED due to: Application application_1_0001 failed 2 times due to AM Container for "
        "appattempt_1_0001_000002 exited with  exitCode: 1\nFailing this attempt.Diagnostics: "
        f"{exited(NO_JVM)}\nFor more detailed output, check the application tracking page: "
        "http://master:25298/cluster/app/application_1_0001 Then click on links to logs of each "
        "attempt.\n. Failing the application.\n"
        "2026-11-29 19:20:26,766 INFO mapreduce.Job: Counters: 0\n"
    )
    assert cause_of_failure(text, lambda _: "") == (
        "the application master: Unrecognized VM option 'NoSuchFlag'"
    )


@pytest.mark.parametrize("text", ["", HEAD, "Exception in thread main\n"])
def test_other_outputs_state_no_failed_attempt(text: str) -> None:
    assert cause_of_failure(text, lambda _: "") == ""
