"""What another account of the machine can reach of a deployment: everything, or nothing.

With a plain web server in place of Hadoop's daemons; those are tried in ``tests/real``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import intruder, sockets
from windtunnel.engines.sockets import connect
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.isolation.policy import Isolation, confined, isolation
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import LocalHost, SupervisorClient

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or not isolation().closed,
    reason="needs root on Linux, which may make namespaces: a second account is made",
)

SERVER = """
import http.server, os, socket
from pathlib import Path
names = socket.socket(socket.AF_UNIX); names.bind("\\0abstract-of-the-test"); names.listen()
path = socket.socket(socket.AF_UNIX); path.bind("plain"); path.listen()
data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); data.bind(("127.0.0.1", 0))
Path("data").write_text("of the cluster")
if os.getuid():
    Path("/tmp/of-the-test").write_text("x")
Path("who").write_text(f"{os.getuid()} {os.environ['HOME']} {os.path.expanduser('~')}")
handler = http.server.SimpleHTTPRequestHandler
http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler).serve_forever()
"""


@pytest.fixture(scope="module")
def other() -> Iterator[intruder.Other]:
    with intruder.other_account(f"wtother{os.getpid()}") as account:
        yield account


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LocalHost]]:
    """A deployment whose only daemon is the server."""
    monkeypatch.setenv("WINDTUNNEL_STATE", str(tmp_path / "state"))
    entry = Registration.create("local")
    made: list[SupervisorClient] = []

    def run(wanted: Isolation) -> LocalHost:
        logs = tmp_path / "logs"
        logs.mkdir()
        found = confined(wanted, entry.id, entry.folder, logs, [])
        log = entry.folder / "supervisor.log"
        made.append(SupervisorClient(entry.id, [entry.scratch], log, found))
        host = LocalHost("m", "127.0.0.1", entry.scratch / "m", logs / "m", made[0])
        argv = [sys.executable, "-I", "-c", SERVER]
        server = host.spawn(ProcessSpec("server", argv, logs / "server.log", host.root))
        limit = time.monotonic() + 20
        while not sockets.listening(server.pid):
            assert server.returncode() is None, server.log.read_text()
            assert time.monotonic() < limit
            time.sleep(0.05)
        return host

    yield run
    for client in made:
        client.close()
    assert entry.forget() == []


def targets_of(host: LocalHost) -> dict[str, Any]:
    client = host._supervisor
    found = intruder.targets(client.pid, host.root.parents[1], host.logs.parent)
    return {**found, "unix": ["@abstract-of-the-test", str(host.root / "plain")]}


def test_nothing_of_a_deployment_can_be_reached(
    start: Callable[..., LocalHost], other: intruder.Other
) -> None:
    host = start(isolation())
    targets = targets_of(host)
    assert len(targets["tcp"]) >= 1 and len(targets["udp"]) == 1
    assert str(host.root / "data") in targets["files"]
    assert intruder.reached(other, **targets) == []
    (_, port), *_ = targets["tcp"]
    with connect(host.open_socket, "127.0.0.1", port, 5) as mine:  # the owner's program does
        mine.sendall(b"GET /data HTTP/1.0\r\n\r\n")
        assert mine.recv(100).startswith(b"HTTP/1.0 200")


def test_without_isolation_all_of_it_can(
    start: Callable[..., LocalHost], other: intruder.Other, tmp_path: Path
) -> None:
    """That the test before this one can fail."""
    host = start(Isolation("the machine's", open_because="a test", root_because="a test"))
    targets = targets_of(host)
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and not place.stat().st_mode & 1:
            place.chmod(0o711)
    (tmp_path / "state/deployments").chmod(0o711)
    found = intruder.reached(other, **targets)
    assert {line.split()[0] for line in found} >= {"tcp", "udp", "unix", "read"}


def test_processes_of_root_run_as_an_account_that_sees_little(
    start: Callable[..., LocalHost], tmp_path: Path
) -> None:
    host = start(isolation())
    uid, home, of_the_database = (host.root / "who").read_text().split()
    assert int(uid) >= 1_900_000_000
    assert home == of_the_database == str(host.root.parent / "home")
    assert (host.root / "data").stat().st_uid == 0, "on the disk it is root's"
    assert (host.root.parent / "tmp/of-the-test").exists()
    assert not Path("/tmp/of-the-test").exists()
    script = "import os, sys; print([os.access(p, os.R_OK) for p in sys.argv[1:]])"
    (tmp_path / "secret").write_text("x")
    mine = [str(tmp_path / "secret"), "/etc/shadow", "/root/.profile", "/proc/1/environ"]
    argv = [sys.executable, "-I", "-c", script, *mine, sys.prefix]
    spec = ProcessSpec("looks", argv, host.logs / "looks.log", host.root)
    assert host.spawn(spec).wait(20) == 0, spec.log.read_text()
    assert spec.log.read_text().strip() == "[False, False, False, False, True]"


def test_a_process_sees_the_files_of_the_user_that_it_is_to_read(
    start: Callable[..., LocalHost], tmp_path: Path
) -> None:
    host = start(isolation())
    secret = tmp_path / "own" / "text"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("of the user")
    secret.chmod(0o600)
    argv = ["/bin/sh", "-c", f"cat {secret}; echo more >> {secret}"]
    spec = ProcessSpec("reads", argv, host.logs / "reads.log", host.root, reads=[secret])
    assert host.spawn(spec).wait(20) != 0
    assert spec.log.read_text().startswith("of the user")
    assert secret.read_text() == "of the user"


def test_the_account_can_neither_plant_links_nor_programs_of_root(
    start: Callable[..., LocalHost], tmp_path: Path
) -> None:
    host = start(isolation())
    secret = tmp_path / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    scratch = host.root.parent
    (scratch / "shared").mkdir()
    log = host.logs / "planted.log"
    script = (
        f"ln -s {secret} {log}; cp /bin/true {host.logs}/program; chmod 4755 {host.logs}/program;"
        f" touch {scratch}/new {scratch}/shared/new; mv {host.root} {scratch}/other; :"
    )
    spec = ProcessSpec("plants", ["/bin/sh", "-c", script], host.logs / "plants.log", host.root)
    assert host.spawn(spec).wait(20) == 0
    assert log.is_symlink() and (host.logs / "program").stat().st_mode & 0o4000
    assert not (scratch / "new").exists() and not list((scratch / "shared").iterdir())
    assert host.root.exists()
    with pytest.raises(DeploymentError, match="symbolic links"):
        host.spawn(ProcessSpec("follows", ["/bin/echo", "stolen"], log, host.root))
    assert secret.read_text() == "of root"
    host._supervisor.close()
    assert not (host.logs / "program").stat().st_mode & 0o6000, "no program of root is left"


def test_secrets_of_the_environment_stay_with_the_user(
    start: Callable[..., LocalHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    host = start(isolation())
    spec = ProcessSpec("env", ["/usr/bin/env"], host.logs / "env.log", host.root)
    assert host.spawn(spec).wait(20) == 0
    assert "planted" not in spec.log.read_text()
    assert "PATH=" in spec.log.read_text()


def test_the_account_keeps_its_name_when_the_machine_gets_another_account(
    start: Callable[..., LocalHost],
) -> None:
    """The user database is replaced then, and a mount over the file would vanish."""
    host = start(isolation())
    go = host.root / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; id -un"
    spec = ProcessSpec("name", ["/bin/sh", "-c", script], host.logs / "name.log", host.root)
    process = host.spawn(spec)
    with intruder.other_account(f"wtlater{os.getpid()}"):
        go.touch()
        assert process.wait(20) == 0
    assert spec.log.read_text().strip() == "windtunnel"
