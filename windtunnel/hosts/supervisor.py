"""The supervisor: a small process between the program and all daemons of a deployment.

It starts the processes that the program requests. When the program ends, in whatever way, the
kernel closes the pipe on the supervisor's standard input. The supervisor reads end-of-file,
kills all its descendants, undoes the deployment's changes of the machine (``hosts/fabric``)
and removes its scratch folders. On Linux it is a child subreaper, so that YARN's containers,
which detach themselves into sessions of their own, remain its descendants. Each daemon
requests SIGKILL for the case that the supervisor itself dies.

The supervisor and its processes are in the deployment's network namespace. The program stays
outside and gets its sockets from the supervisor, one for each byte that it writes to the
``channel``, a socket that it has passed to the supervisor. No other process has an end of it.

Protocol, one JSON object per line. Input: ``{"op": "spawn", "name", "argv", "env", "cwd",
"log", "place", "reads", "mounts"}``, ``{"op": "kill", "name"}``, ``{"op": "close"}``. Output:
``{"event": "ready"}`` or ``{"event": "refused", "error"}`` first, then ``{"event": "spawned",
"name", "pid"}``, ``{"event": "failed", "name", "error"}``, ``{"event": "exited", "name",
"returncode"}``, ``{"event": "closed"}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.channel import hand_out
from windtunnel.hosts.isolation.confine import (
    Confinement,
    Place,
    become,
    bind_to,
    enter_own_network,
    own_mounts,
)
from windtunnel.hosts.isolation.view import user_map

MARKER = "WINDTUNNEL_DEPLOYMENT"
SCRATCH_MARKER = ".windtunnel-scratch"

_KILL_PASSES = 100
_LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
# variables of the user's environment that programs need; others may hold secrets
_PASSED = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"}
_PASSED |= {"JAVA_HOME", "PYTHONPATH", "VIRTUAL_ENV"}
_PASSED_PREFIXES = ("LC_", "WINDTUNNEL_")
_IN_SCRATCH = re.compile(r"/deployments/(wt-[0-9a-f]{8})/scratch/")


def marks() -> Iterator[tuple[str, psutil.Process]]:
    """Every process of a deployment, except this one, with the deployment's id.

    A process is identified by its environment, or by a scratch folder in its command: YARN
    starts containers through shells with an environment of their own.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            named = _IN_SCRATCH.search(" ".join(process.cmdline()))
            mark = named.group(1) if named else process.environ().get(MARKER)
            if mark and process.pid != os.getpid():
                yield mark, process


def kill_marked(deployment: str) -> None:
    """Send SIGKILL to all processes of a deployment, including detached ones."""
    for mark, process in marks():
        if mark == deployment:
            with contextlib.suppress(psutil.Error):
                process.kill()


def kill_tree(pid: int) -> None:
    """Send SIGKILL to the descendants of a process, then to the process."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.Error):
                member.kill()


def drop_special_modes(folder: Path) -> None:
    """Remove set-user-id and set-group-id from all files below a folder.

    On the disk the account's files belong to root: a program of the account must not become a
    program that runs as root.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                mode = path.lstat().st_mode
                if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                    path.chmod(stat.S_IMODE(mode) & 0o777)


def remove_scratch(folder: Path) -> None:
    """Remove a folder that has Windtunnel's marker file; do not change any other folder."""
    if (folder / SCRATCH_MARKER).is_file():
        shutil.rmtree(folder, ignore_errors=True)


def _environment() -> dict[str, str]:
    """The part of the user's environment that processes of a deployment get."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIXES)
    }


def python_path() -> str:
    """``PYTHONPATH`` with which a program finds this package, wherever it is."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, places))


def undo_fabric(folder: Path) -> None:
    """Undo what the ledger of a deployment's folder names, if it has one (hosts/fabric).

    In a process of its own: the supervisor stays free of what that needs.
    """
    if not (folder / "ledger.jsonl").exists():
        return
    subprocess.run(
        [sys.executable, "-P", "-m", "windtunnel.hosts.fabric.undo", str(folder)],
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )


class Supervisor:
    """State of the supervisor process; see the module's docstring for the protocol."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.deployment: str = wanted["deployment"]
        self.scratch = [Path(folder) for folder in wanted["scratch"]]
        self.network = wanted["network"]
        confinement = wanted["confinement"]
        self.confinement = Confinement.from_json(confinement) if confinement else None
        self.mount_point = Path(wanted["mount_point"]) if wanted["mount_point"] else None
        self.users = 0
        self.channel = socket.socket(fileno=wanted["channel"])
        self.children: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self.buffer = b""

    def serve(self) -> None:
        """Serve until end-of-file, ``close`` or SIGTERM; then remove everything."""
        try:
            enter_own_network(self.network)
        except OSError as error:
            _say(event="refused", error=f"no network namespace: {error}")
            return
        try:
            if self.mount_point is not None:  # what is mounted there ends with these processes
                own_mounts()
        except OSError as error:
            _say(event="refused", error=f"no mounts of its own: {error}")
            return
        with contextlib.ExitStack() as stack:
            if self.confinement is not None:
                account = self.confinement.account
                try:
                    self.users = stack.enter_context(user_map(account.uid, account.gid))
                except OSError as error:
                    _say(event="refused", error=f"no ID-mapped mounts: {error}")
                    return
            self._serve()

    def _serve(self) -> None:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, _raise_exit)
        try:
            with contextlib.suppress(SystemExit, BrokenPipeError):
                _say(event="ready")
                self._loop(wake_read)
        finally:  # also after an error in this program
            self._end()

    def _loop(self, wake_read: int) -> None:
        with selectors.DefaultSelector() as wait:
            wait.register(0, selectors.EVENT_READ)
            wait.register(wake_read, selectors.EVENT_READ)
            wait.register(self.channel, selectors.EVENT_READ)
            while True:
                for key, _ in wait.select(timeout=1.0):
                    if key.fd == 0:
                        self._read_orders()
                    elif key.fileobj is self.channel:
                        if not hand_out(self.channel):
                            raise SystemExit
                    else:
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake_read, 4096)
                self._reap()

    def _read_orders(self) -> None:
        data = os.read(0, 65536)
        if not data:
            raise SystemExit
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _obey(self, order: dict[str, Any]) -> None:
        if order["op"] == "spawn":
            self._spawn(order)
        elif order["op"] == "kill":
            for pid, (name, _) in list(self.children.items()):
                if name == order["name"]:
                    kill_tree(pid)
        else:
            raise SystemExit

    def _spawn(self, order: dict[str, Any]) -> None:
        env = {**_environment(), **order["env"], MARKER: self.deployment}
        confinement = None if order["mounts"] else self.confinement
        if confinement is not None:
            env |= confinement.environment
        place = Place.from_json(order["place"]) if order["place"] else None
        reads = [Path(path) for path in order["reads"]]

        supervisor = os.getpid()
        problem, reports = os.pipe()

        def prepare() -> None:
            """In the child. The log is opened as the account, which may have created a link."""
            try:
                become(place, confinement, self.users, reads)
                log = os.open(order["log"], _LOG_FLAGS, 0o644)
                os.dup2(log, 1)
                os.dup2(log, 2)
                bind_to(supervisor)
            except OSError as error:
                os.write(reports, str(error).encode())
                raise

        try:
            child = subprocess.Popen(
                order["argv"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=order["cwd"],
                env=env,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
            )
        except (OSError, subprocess.SubprocessError) as error:
            os.close(reports)
            why = os.read(problem, 4096).decode() or str(error)
            _say(event="failed", name=order["name"], error=why)
            return
        finally:
            os.close(problem)
            with contextlib.suppress(OSError):  # closed already
                os.close(reports)
        self.children[child.pid] = (order["name"], child)
        _say(event="spawned", name=order["name"], pid=child.pid)

    def _reap(self) -> None:
        """Collect every ended child, including adopted orphans, and report the known ones."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            known = self.children.pop(pid, None)
            if known is not None:
                name, child = known
                child.returncode = os.waitstatus_to_exitcode(status)
                _say(event="exited", name=name, returncode=child.returncode)

    def _end(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for _ in range(_KILL_PASSES):
            living = psutil.Process().children(recursive=True)
            if sys.platform != "linux":
                living += [process for mark, process in marks() if mark == self.deployment]
            for process in living:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            with contextlib.suppress(BrokenPipeError, OSError):
                self._reap()
            if not living:
                break
            time.sleep(0.02)
        if self.mount_point is not None:
            with contextlib.suppress(OSError):  # nothing is mounted there
                syscalls.unmount(self.mount_point, lazily=True)
        if self.confinement is not None:
            for entry in self.confinement.shown:
                if entry.writable:
                    drop_special_modes(entry.source)
        for folder in self.scratch:
            undo_fabric(folder.parent)  # the disks are unmounted before their folder is removed
            remove_scratch(folder)
        with contextlib.suppress(BrokenPipeError, OSError):
            _say(event="closed")


def _raise_exit(*_: object) -> None:
    raise SystemExit


def _say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Supervisor(json.loads(sys.argv[1])).serve()
