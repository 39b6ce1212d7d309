"""The supervisor with real processes: whoever dies, and however, nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.isolation.policy import confined, isolation
from windtunnel.hosts.leftovers import entering
from windtunnel.hosts.local import LocalHost, SupervisorClient
from windtunnel.hosts.supervisor import (
    SCRATCH_MARKER,
    kill_marked,
    marks,
    python_path,
    remove_scratch,
)

# A daemon with children that leave its session, one of them an orphan, as YARN's containers do.
NEST = "(setsid sleep 600 &); setsid sh -c 'sleep 600 & wait' & echo started; wait"
OWNER = """\
import sys, time
from pathlib import Path
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.isolation.policy import isolation
from windtunnel.hosts.local import SupervisorClient
mark, folder = sys.argv[1], Path(sys.argv[2])
scratch = [folder / "scratch", folder / "foreign"]
client = SupervisorClient(mark, scratch, folder / "sup.log", isolation())
client.spawn(ProcessSpec("daemon", ["sh", "-c", sys.argv[3]], folder / "daemon.log", folder))
print(client.pid, flush=True)
time.sleep(600)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture
def mark() -> Iterator[str]:
    """The id of a deployment; whatever carries it is ended after the test."""
    name = f"wt-test-{os.getpid()}-{time.monotonic_ns()}"
    yield name
    kill_marked(name)


@pytest.fixture
def client(mark: str, tmp_path: Path) -> Iterator[SupervisorClient]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / SCRATCH_MARKER).write_text(mark)
    made = SupervisorClient(mark, [scratch], tmp_path / "supervisor.log", isolation())
    yield made
    made.close()


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must happen; a minute is a failure, not a measurement."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)


def running(mark: str) -> int:
    count = 0
    for found, process in marks():
        with contextlib.suppress(psutil.Error):
            count += found == mark and process.status() != psutil.STATUS_ZOMBIE
    return count


def spec(folder: Path, *argv: str, name: str = "daemon") -> ProcessSpec:
    return ProcessSpec(name, argv, folder / "logs" / f"{name}.log", folder)


# -- starting and watching ---------------------------------------------------------------


def test_a_process_runs_with_its_log_environment_and_folder(
    client: SupervisorClient, mark: str, tmp_path: Path
) -> None:
    script = 'echo "$COLOUR $WINDTUNNEL_DEPLOYMENT $PWD"; echo oh >&2; exit 3'
    order = ProcessSpec("p", ["sh", "-c", script], tmp_path / "p.log", tmp_path, {"COLOUR": "red"})
    process = client.spawn(order)

    assert process.pid > 0
    assert process.wait(60) == 3
    assert (tmp_path / "p.log").read_text() == f"red {mark} {tmp_path}\noh\n"


def test_the_end_of_a_process_is_told_with_its_signal(
    client: SupervisorClient, tmp_path: Path
) -> None:
    process = client.spawn(spec(tmp_path, "sleep", "600"))
    assert process.returncode() is None
    assert process.wait(0.01) is None
    os.kill(process.pid, signal.SIGKILL)

    assert process.wait(60) == -9
    assert process.returncode() == -9


def test_a_program_that_does_not_exist_is_named(client: SupervisorClient, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"daemon cannot be started: .*no-such-program"):
        client.spawn(spec(tmp_path, "/no-such-program"))
    assert client.alive


def test_kill_ends_a_process_with_all_that_it_started(
    client: SupervisorClient, mark: str, tmp_path: Path
) -> None:
    other = client.spawn(spec(tmp_path, "sleep", "600", name="other"))
    process = client.spawn(spec(tmp_path, "sh", "-c", "sleep 600 & sleep 600; true"))
    until(lambda: running(mark) == 4, "the start of four processes")
    process.kill()

    assert process.wait(60) is not None
    until(lambda: running(mark) == 1, "the end of the three")
    assert other.returncode() is None


# -- the end, however it comes -----------------------------------------------------------


def test_close_ends_everything_and_removes_the_scratch_folder(mark: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / SCRATCH_MARKER).write_text(mark)
    client = SupervisorClient(mark, [scratch], tmp_path / "supervisor.log", isolation())
    process = client.spawn(spec(tmp_path, "sh", "-c", NEST))
    until(lambda: running(mark) >= 4, "the start of the nest")
    client.close()

    assert running(mark) == 0
    assert process.returncode() == -9
    assert not scratch.exists()
    assert not client.alive
    assert (tmp_path / "logs" / "daemon.log").read_text() == "started\n", "logs are kept"
    with pytest.raises(DeploymentError, match="has died"):
        client.spawn(spec(tmp_path, "true"))


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_owner_ends_everything_setsid_or_not(
    blow: signal.Signals, mark: str, tmp_path: Path
) -> None:
    for name in ("scratch", "foreign"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_text("x" * 100)
    (tmp_path / "scratch" / SCRATCH_MARKER).write_text(mark)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, mark, str(tmp_path), NEST],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    supervisor = psutil.Process(int(owner.stdout.readline()))
    until(lambda: running(mark) >= 4, "the start of the nest")
    owner.send_signal(blow)
    owner.communicate()

    until(lambda: running(mark) == 0, "the end of all descendants")
    until(lambda: not supervisor.is_running(), "the end of the supervisor")
    assert not (tmp_path / "scratch").exists()
    assert (tmp_path / "foreign" / "data").is_file(), "only folders with our marker are removed"


def test_the_death_of_the_supervisor_is_noticed_and_leaves_no_daemon(
    mark: str, tmp_path: Path
) -> None:
    client = SupervisorClient(mark, [], tmp_path / "supervisor.log", isolation())
    process = client.spawn(spec(tmp_path, "sh", "-c", NEST))
    until(lambda: running(mark) >= 4, "the start of the nest")
    os.kill(client.pid, signal.SIGKILL)

    assert process.wait(60) == -9
    until(lambda: not client.alive, "the end of the supervisor")
    with pytest.raises(DeploymentError, match="supervisor of the daemons has died"):
        client.send({"op": "kill", "name": "nobody"})
    client.close()
    until(lambda: running(mark) == 0, "the end of what had detached itself")


def test_an_order_that_is_no_order_ends_the_supervisor_and_its_processes(
    mark: str, tmp_path: Path
) -> None:
    client = SupervisorClient(mark, [], tmp_path / "supervisor.log", isolation())
    client.spawn(spec(tmp_path, "sh", "-c", NEST))
    until(lambda: running(mark) >= 4, "the start of the nest")
    client.send({"op": "spawn", "name": "incomplete"})

    until(lambda: not client.alive, "the end of the supervisor")
    client.close()
    until(lambda: running(mark) == 0, "the end of the processes")


def test_only_a_folder_with_the_marker_is_removed(tmp_path: Path) -> None:
    ours, foreign = tmp_path / "ours", tmp_path / "foreign"
    for folder in (ours, foreign):
        folder.mkdir()
        (folder / "data").write_text("")
    (ours / SCRATCH_MARKER).write_text("wt-1")
    for folder in (ours, foreign, tmp_path / "absent"):
        remove_scratch(folder)

    assert not ours.exists()
    assert (foreign / "data").is_file()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize("end", ["close", "SIGKILL of the supervisor"])
def test_what_a_process_mounts_is_seen_by_later_ones_only_and_ends_with_them(
    mark: str, tmp_path: Path, end: str
) -> None:
    scratch = tmp_path / "scratch"
    point = scratch / "shared" / "files"
    (scratch / "home").mkdir(parents=True)
    (scratch / "tmp").mkdir()
    (scratch / SCRATCH_MARKER).write_text(mark)
    logs = tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "logs-link").symlink_to(logs)
    id_ = f"wt-{os.getpid():08x}"
    isolated = confined(isolation([tmp_path]), id_, tmp_path, logs, [], mount_point=point)
    client = SupervisorClient(mark, [scratch], tmp_path / "supervisor.log", isolated)
    mount = f"mount -t tmpfs -o mode=777 none {point} && touch {point}/there && sleep 600"
    client.spawn(
        ProcessSpec("mount", ["sh", "-c", mount], logs / "mount.log", tmp_path, mounts=True)
    )
    table = Path(f"/proc/{client.pid}/mountinfo")
    until(lambda: f" {point} " in table.read_text(), "the mount")
    until((Path(f"/proc/{client.pid}/root{point}") / "there").exists, "the file in it")
    later = f"id -u > {point}/account && cat {point}/account && ls {point}"
    process = client.spawn(
        ProcessSpec("later", ["sh", "-c", later], logs / "later.log", scratch / "home")
    )
    assert process.wait(60) == 0, (logs / "later.log").read_text()
    account, *names = (logs / "later.log").read_text().split()
    assert names == ["account", "there"]
    assert isolated.confinement is None or int(account) == isolated.confinement.account.uid
    facts = {"supervisor": client.pid, "network": isolated.network, "place": None}
    entry = tmp_path / "deployment.json"
    entry.write_text(json.dumps({**facts, "mount_point": str(point)}))
    listing = entering(tmp_path, "client", ["ls", str(point)])
    done = subprocess.run(
        listing,
        env=os.environ | {"PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == names, "a client of the user sees the mount"
    assert str(point) not in Path("/proc/self/mountinfo").read_text()
    assert list(point.iterdir()) == [], "the machine does not see the mount"
    if end == "close":
        client.close()
        assert not scratch.exists()
    else:
        os.kill(client.pid, signal.SIGKILL)
        client.close()
        until(lambda: running(mark) == 0, "the end of the processes")
        remove_scratch(scratch)
        assert not scratch.exists()


# -- the host ----------------------------------------------------------------------------


def test_a_local_host_has_folders_and_starts_processes(
    client: SupervisorClient, tmp_path: Path
) -> None:
    host = LocalHost("worker-1", "127.1.2.3", tmp_path / "root", tmp_path / "kept", client)
    host.write_text(host.root / "conf" / "core-site.xml", "<configuration/>")
    process = host.spawn(spec(host.root, "cat", "conf/core-site.xml", name="cat"))

    assert process.wait(60) == 0
    assert process.log.read_text() == "<configuration/>"
    assert host.logs.is_dir()


def test_a_host_that_may_not_drop_caches_says_so(
    client: SupervisorClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, text: str) -> None:
        raise PermissionError(13, "Permission denied")

    host = LocalHost("worker-1", "127.1.2.3", tmp_path / "root", tmp_path / "kept", client)
    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(os, "sync", lambda: None)

    assert host.drop_caches() is False
