"""The probe program, run outside of any virtual host: it counts what it moves."""

from __future__ import annotations

import json
import mmap
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from windtunnel.hosts.fabric import probe


def run(*words: object) -> dict[str, float]:
    """As in a virtual host: a program of its own that reads nothing of ours."""
    argv = [sys.executable, "-I", probe.__file__, *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def test_a_file_is_written_again_in_place_and_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for _ in range(2):
        wrote = probe.write(str(file), str(5 << 16), "buffered", str(1 << 16))
        assert wrote["amount"] == file.stat().st_size == 5 << 16
    assert probe.read(str(file), block_bytes="4096")["amount"] == 5 << 16
    assert probe.read(str(file), "buffered", "65536", str(2 << 16))["amount"] == 2 << 16
    shorter = probe.write(str(file), str(1 << 16), "buffered", str(1 << 16))
    assert shorter["amount"] == 1 << 16
    assert file.stat().st_size == 5 << 16


def test_every_block_that_is_read_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk limits the time of each."""
    file, read, got = tmp_path / "file", os.readv, []
    file.write_bytes(bytes(5 << 12))

    def counted(handle: int, blocks: list[mmap.mmap]) -> int:
        got.append(read(handle, blocks))
        return got[-1]

    monkeypatch.setattr(os, "readv", counted)
    assert probe.read(str(file), "buffered", "4096", str(2 << 12))["amount"] == sum(got) == 2 << 12


def test_a_rate_is_the_amount_over_the_time_between_the_instants(tmp_path: Path) -> None:
    done = probe.write(str(tmp_path / "x"), str(1 << 20), "buffered")
    assert done["ended"] > done["began"]
    assert done["rate"] == done["amount"] / (done["ended"] - done["began"])


def test_work_begins_at_the_instant_that_is_asked_for() -> None:
    at = time.monotonic() + 0.2
    assert probe.spin("0.01", at=str(at))["began"] >= at


def test_busy_loops_count_the_cpu_time_of_all_of_them() -> None:
    got = run("spin", 0.3, 2)
    assert 0 < got["cores"] <= 2.1
    assert got["amount"] <= 2.1 * (got["ended"] - got["began"])


def test_a_server_counts_after_the_warm_up_and_hangs_up_when_it_has_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answers: dict[str, dict[str, float]] = {}
    server = threading.Thread(
        target=lambda: answers.update(server=probe.serve(str(port), "0.1", "0.2"))
    )
    server.start()
    answers["sender"] = probe.send("127.0.0.1", str(port), "20")
    server.join(30)
    assert answers["sender"] == {"reached": 1}
    counted = answers["server"]
    assert counted["amount"] > 0
    assert counted["ended"] - counted["began"] >= 0.2


def test_a_server_that_is_not_there_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "REACH_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert probe.send("127.0.0.1", str(port), "1") == {"reached": 0}


def test_what_cannot_be_done_is_one_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-I", probe.__file__, "read", str(tmp_path / "absent")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("read ") and "No such file" in line
