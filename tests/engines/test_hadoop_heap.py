"""The live objects of a JVM, against a process that prints what a JVM prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop import heap
from windtunnel.engines.hadoop.heap import HISTOGRAM, live_bytes
from windtunnel.engines.java import find_java
from windtunnel.errors import DeploymentError

PROGRAM = """
public class Keeps {
    static byte[][] kept = new byte[64][];
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < kept.length; i++) kept[i] = new byte[1 << 20];
        System.out.println("ready");
        Thread.sleep(60_000);
    }
}
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    children: list[subprocess.Popen[bytes]] = []

    def start(*argv: str) -> Any:
        log = tmp_path / f"{len(children)}.log"
        with log.open("wb") as file:
            child = subprocess.Popen(argv, stdout=file, stderr=file)
        children.append(child)
        deadline = time.monotonic() + 30
        while b"ready" not in log.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.02)
        return SimpleNamespace(
            name="namenode@master", pid=child.pid, log=log, returncode=child.poll
        )

    yield start
    for child in children:
        child.kill()
        child.wait(10)


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a Java compiler")
def test_only_live_objects_count(started: Any, tmp_path: Path) -> None:
    (tmp_path / "Keeps.java").write_text(PROGRAM)
    java = find_java(17).binary
    jvm = started(str(java), "-Xmx256m", HISTOGRAM, str(tmp_path / "Keeps.java"))
    first, second = live_bytes(jvm), live_bytes(jvm)
    assert 64 << 20 < first < 110 << 20, "64 MiB and the compiler's objects"
    assert abs(second - first) < 4 << 20


def test_a_process_that_prints_nothing(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_LIMIT_S", 0.1)
    deaf = started("sh", "-c", "trap '' QUIT; echo ready; sleep 60")
    with pytest.raises(DeploymentError, match="namenode@master printed no histogram"):
        live_bytes(deaf)


def test_a_process_that_has_ended(started: Any) -> None:
    program = (
        "import signal, time; signal.signal(signal.SIGQUIT, signal.SIG_DFL); "
        "print('ready', flush=True); time.sleep(60)"
    )
    dies = started(sys.executable, "-c", program)
    with pytest.raises(DeploymentError, match="namenode@master ended before"):
        live_bytes(dies)
