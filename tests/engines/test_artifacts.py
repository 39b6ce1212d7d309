"""The cache of jars: whole or absent, verified, resumable, usable without a network."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from windtunnel.engines import artifacts, locks, maven
from windtunnel.errors import SetupError, StorageFullError

ENSURE = """
import sys
from pathlib import Path
from rich.console import Console
from windtunnel.engines import artifacts, progress
found = artifacts.ensure(Path(sys.argv[1]), "toy", progress.Lines(Console()))
print("complete", len(found.jars))
"""


class Repository(ThreadingHTTPServer):
    """A Maven repository on the loopback device that counts, stalls and lies on demand."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.stall_after: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.failure = 503
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/maven"

    def jars_asked(self) -> list[str]:
        return [path.rsplit("/", 1)[1] for path in self.asked if path.endswith(".jar")]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        name = self.path.rsplit("/", 1)[1]
        body = self.server.files.get(self.path.removeprefix("/maven/"))
        if self.server.failures.get(name, 0) > 0:
            self.server.failures[name] -= 1
            self.send_response(self.server.failure)
            self.send_header("Content-Length", "0")
            self.send_header("Retry-After", "0")
            self.end_headers()
        elif body is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            limit = self.server.stall_after.get(name)
            self.wfile.write(body[:limit])
            if limit is not None:
                self.wfile.flush()
                self.server.released.wait(60)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    server = Repository()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv(maven.REPOSITORY_VARIABLE, server.url)
    monkeypatch.setattr(maven, "PAUSES_S", (0.01, 0.01))
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv(artifacts.CACHE_VARIABLE, str(root))
    return root


def content(name: str, size: int = 50_000) -> bytes:
    return hashlib.sha256(name.encode()).digest() * (size // 32)


def publish(
    repository: Repository,
    folder: Path,
    names: tuple[str, ...] = ("a", "b", "c"),
    sizes: bool = True,
) -> Path:
    """Put toy jars into the repository and write the lock file that names them."""
    rows = []
    for name in names:
        body = content(name)
        repository.files[f"org/toy/{name}/1.0/{name}-1.0.jar"] = body
        rows += [
            "[[dependencies]]",
            'groupId = "org.toy"',
            f'artifactId = "{name}"',
            'version = "1.0"',
            'packaging = "jar"',
            f'sha256 = "{hashlib.sha256(body).hexdigest()}"',
            *([f"size = {len(body)}"] if sizes else []),
            *(['folder = "client-lib"'] if name == "c" else []),
        ]
    lock = folder / "toy.lock.toml"
    lock.write_text("\n".join(rows), encoding="utf-8")
    return lock


def complete_sets(cache: Path) -> list[Path]:
    return list(cache.glob("artifacts/*/*/COMPLETE"))


def ensure_in_process(lock: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ENSURE, str(lock)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def test_the_first_run_fetches_and_the_second_needs_no_network(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    first = artifacts.ensure(lock, "toy")
    assert sorted(file.name for file in first.lib.iterdir()) == ["a-1.0.jar", "b-1.0.jar"]
    assert [file.name for file in first.client_lib.iterdir()] == ["c-1.0.jar"]
    assert {jar.name for jar in first.jars} == {"org.toy:a", "org.toy:b", "org.toy:c"}
    assert all(jar.path.read_bytes() == content(jar.name[-1]) for jar in first.jars)
    repository.asked.clear()
    assert artifacts.ensure(lock, "toy") == first
    assert repository.asked == []
    assert not list(cache.rglob("*.part"))


def test_a_jar_that_lies_in_two_folders_is_fetched_once(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    entry = lock.read_text().split("[[dependencies]]")[1]
    lock.write_text(f'{lock.read_text()}\n[[dependencies]]{entry}folder = "plugin"\n')
    found = artifacts.ensure(lock, "toy")
    assert (found.plugin / "a-1.0.jar").read_bytes() == (found.lib / "a-1.0.jar").read_bytes()
    assert sorted(repository.jars_asked()) == ["a-1.0.jar", "b-1.0.jar", "c-1.0.jar"]


def test_a_warm_cache_is_not_hashed_again(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    artifacts.ensure(lock, "toy")
    fetched = repository.jars_asked()
    hashed: list[Path] = []
    monkeypatch.setattr(artifacts, "sha256_of", hashed.append)
    artifacts.ensure(lock, "toy")
    assert not hashed
    assert repository.jars_asked() == fetched


def test_a_killed_download_never_looks_whole_and_the_next_one_resumes(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    repository.stall_after["b-1.0.jar"] = 10_000
    process = ensure_in_process(lock)
    part = cache / "artifacts" / "toy" / f"{locks.read_lock(lock).digest}.part"
    half = part / "staging/org/toy/b/1.0/b-1.0.jar"
    whole = [part / "lib/a-1.0.jar", part / "client-lib/c-1.0.jar"]
    wait_until(lambda: half.exists() and all(jar.exists() for jar in whole))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert complete_sets(cache) == []

    repository.stall_after.clear()
    repository.asked.clear()
    found = artifacts.ensure(lock, "toy")
    assert len(complete_sets(cache)) == 1
    assert (found.lib / "b-1.0.jar").read_bytes() == content("b")
    assert repository.jars_asked() == ["b-1.0.jar"], "verified jars must not be fetched again"


def test_a_damaged_jar_of_an_earlier_try_is_fetched_again(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    part = cache / "artifacts" / "toy" / f"{locks.read_lock(lock).digest}.part"
    (part / "lib").mkdir(parents=True)
    (part / "lib" / "a-1.0.jar").write_bytes(content("a")[:-1])
    (part / "lib" / "stranger.jar").write_bytes(b"x")
    found = artifacts.ensure(lock, "toy")
    assert (found.lib / "a-1.0.jar").read_bytes() == content("a")
    assert not (found.lib / "stranger.jar").exists()


def test_a_jar_with_a_wrong_hash_is_named_and_refused(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    wrong = content("something else")
    repository.files["org/toy/b/1.0/b-1.0.jar"] = wrong
    with pytest.raises(SetupError) as caught:
        artifacts.ensure(lock, "toy")
    for part in ("b-1.0.jar", hashlib.sha256(content("b")).hexdigest()):
        assert part in caught.value.message
    assert hashlib.sha256(wrong).hexdigest() in caught.value.message
    assert caught.value.remedy
    assert complete_sets(cache) == []
    assert not list(cache.rglob("lib/b-1.0.jar"))


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_tampered_jar_in_the_cache_is_named_and_refused(
    repository: Repository, cache: Path, tmp_path: Path, keep_time: bool
) -> None:
    lock = publish(repository, tmp_path)
    jar = artifacts.ensure(lock, "toy").lib / "a-1.0.jar"
    before = jar.stat()
    body = bytearray(jar.read_bytes())
    body[100] ^= 1
    jar.write_bytes(body)
    if keep_time:
        os.utime(jar, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SetupError, match=r"altered a-1\.0\.jar") as caught:
        artifacts.ensure(lock, "toy")
    assert "windtunnel clean --cache" in caught.value.remedy


def test_a_removed_and_a_strange_jar_are_noticed(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    found = artifacts.ensure(lock, "toy")
    strange = found.lib / "evil.jar"
    strange.write_bytes(b"x")
    with pytest.raises(SetupError, match=r"lib/evil\.jar"):
        artifacts.ensure(lock, "toy")
    strange.unlink()
    (found.lib / "a-1.0.jar").unlink()
    with pytest.raises(SetupError, match=r"lacks a-1\.0\.jar"):
        artifacts.ensure(lock, "toy")


def test_a_copied_cache_is_hashed_once_and_then_trusted(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    artifacts.ensure(lock, "toy")
    shutil.copytree(cache, tmp_path / "copy", copy_function=shutil.copy)
    monkeypatch.setenv(artifacts.CACHE_VARIABLE, str(tmp_path / "copy"))
    hashed: list[Path] = []

    def spy(path: Path) -> str:
        hashed.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(artifacts, "sha256_of", spy)
    artifacts.ensure(lock, "toy")
    assert len(hashed) == 3
    artifacts.ensure(lock, "toy")
    assert len(hashed) == 3


def test_no_network_is_said_with_a_remedy(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    monkeypatch.setenv(maven.REPOSITORY_VARIABLE, "http://127.0.0.1:9/maven")
    with pytest.raises(SetupError, match="cannot be reached") as caught:
        artifacts.ensure(lock, "toy")
    assert maven.REPOSITORY_VARIABLE in caught.value.remedy


def test_a_repository_that_does_not_answer_is_named_with_the_limit(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    monkeypatch.setattr(maven, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv(maven.REPOSITORY_VARIABLE, f"http://127.0.0.1:{port}/maven")
        with pytest.raises(SetupError, match=r"did not answer within 0\.2 s"):
            artifacts.ensure(lock, "toy")


def test_a_repository_that_stumbles_is_asked_again(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    repository.failures["a-1.0.jar"] = 2
    artifacts.ensure(lock, "toy")
    assert repository.jars_asked().count("a-1.0.jar") == 3


def test_a_repository_that_limits_the_rate_of_requests_gets_another_one(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    repository.failures["a-1.0.jar"], repository.failure = 2, 429
    monkeypatch.setattr(maven, "PAUSES_S", ())

    artifacts.ensure(lock, "toy")

    assert repository.jars_asked().count("a-1.0.jar") == 3


def test_a_jar_that_the_repository_lacks_is_named(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path)
    del repository.files["org/toy/a/1.0/a-1.0.jar"]
    with pytest.raises(SetupError, match=r"a-1\.0\.jar cannot be fetched"):
        artifacts.ensure(lock, "toy")


def test_two_processes_at_once_fetch_once(
    repository: Repository, cache: Path, tmp_path: Path
) -> None:
    lock = publish(repository, tmp_path, tuple(f"jar{n}" for n in range(20)))
    processes = [ensure_in_process(lock) for _ in range(3)]
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], answers
    assert all("complete 20" in answer for answer in answers)
    assert sorted(repository.jars_asked()) == sorted(f"jar{n}-1.0.jar" for n in range(20))


def test_jars_are_shared_between_locks(repository: Repository, cache: Path, tmp_path: Path) -> None:
    artifacts.ensure(publish(repository, tmp_path, ("a", "b")), "toy")
    repository.asked.clear()
    artifacts.ensure(publish(repository, tmp_path, ("a", "b", "d")), "other")
    assert repository.jars_asked() == ["d-1.0.jar"]


def test_too_little_room_is_said_before_the_download(
    repository: Repository, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(StorageFullError, match="are needed"):
        artifacts.ensure(lock, "toy")
    assert repository.asked == []


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small tmpfs needs root"
)
def test_a_disk_that_fills_up_is_an_error_with_a_remedy(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path, tuple("abcdefgh"), sizes=False)
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine does not allow mounts")
    try:
        monkeypatch.setenv(artifacts.CACHE_VARIABLE, str(small))
        with pytest.raises(StorageFullError) as caught:
            artifacts.ensure(lock, "toy")
        assert artifacts.CACHE_VARIABLE in caught.value.remedy
        assert complete_sets(small) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_cache_that_cannot_be_written_is_an_error_with_a_remedy(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = publish(repository, tmp_path)
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    monkeypatch.setenv(artifacts.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(SetupError, match=os.strerror(errno.ENOTDIR)) as caught:
        artifacts.ensure(lock, "toy")
    assert artifacts.CACHE_VARIABLE in caught.value.remedy


def test_clearing_the_cache_frees_it(repository: Repository, cache: Path, tmp_path: Path) -> None:
    lock = publish(repository, tmp_path)
    artifacts.ensure(lock, "toy")
    assert artifacts.clear_cache() >= 3 * len(content("a"))
    assert complete_sets(cache) == []
    artifacts.ensure(lock, "toy")
