"""The supervisor: a small process between the program and all daemons of a deployment.

It starts what it is told to start and ends everything when the program that started it
is gone, however that happened: the kernel closes the pipe on its standard input, it
reads end-of-file, kills all its descendants, undoes the deployment's changes of the
machine (``hosts/fabric``) and removes its scratch folders. On Linux it is a child
subreaper, so that YARN's containers, which detach themselves into sessions of their own,
are still its descendants; and each daemon asks for SIGKILL in case the supervisor itself
dies.

It lives in the deployment's network namespace, and so does what it starts. The program stays
outside: it gets its sockets from here, one for each byte that it writes to the ``channel``, a
socket that it handed over. Nobody else has the other end.

Protocol, one JSON object a line. In: ``{"op": "spawn", "name", "argv", "env", "cwd",
"log", "place", "reads"}``, ``{"op": "kill", "name"}``, ``{"op": "close"}``. Out: ``{"event":
"ready"}`` or ``{"event": "refused", "error"}`` first, then ``{"event": "spawned", "name",
"pid"}``, ``{"event": "failed", "name", "error"}``, ``{"event": "exited", "name",
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
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.channel import hand_out
from windtunnel.hosts.isolation.inside import (
    Confinement,
    Place,
    become,
    bind_to_parent,
    enter_own_network,
)
from windtunnel.hosts.isolation.view import user_map

MARKER = "WINDTUNNEL_DEPLOYMENT"
SCRATCH_MARKER = ".windtunnel-scratch"

_KILL_PASSES = 100
_IN_SCRATCH = re.compile(r"/deployments/(wt-[0-9a-f]{8})/scratch/")


def marks() -> Iterator[tuple[str, psutil.Process]]:
    """Every process of a deployment with the deployment's id, ours excluded.

    Known by its environment, or by a scratch folder in its command: YARN starts containers
    through shells with an environment of their own.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            named = _IN_SCRATCH.search(" ".join(process.cmdline()))
            mark = named.group(1) if named else process.environ().get(MARKER)
            if mark and process.pid != os.getpid():
                yield mark, process


def kill_marked(deployment: str) -> None:
    """SIGKILL whatever belongs to a deployment, however far it has detached itself."""
    for mark, process in marks():
        if mark == deployment:
            with contextlib.suppress(psutil.Error):
                process.kill()


def kill_tree(pid: int) -> None:
    """SIGKILL a process and its descendants, the descendants first."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.Error):
                member.kill()


def remove_scratch(folder: Path) -> None:
    """Remove a folder that carries our marker file; leave every other folder alone."""
    if (folder / SCRATCH_MARKER).is_file():
        shutil.rmtree(folder, ignore_errors=True)


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
        self.users = 0
        self.channel = socket.socket(fileno=wanted["channel"])
        self.children: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self.buffer = b""

    def serve(self) -> None:
        """Serve until end-of-file, ``close`` or SIGTERM; then leave nothing behind."""
        try:
            enter_own_network(self.network)
        except OSError as error:
            _say(event="refused", error=f"no network namespace: {error}")
            return
        with contextlib.ExitStack() as stack:
            if self.confinement is not None:
                account = self.confinement.account
                self.users = stack.enter_context(user_map(account.uid, account.gid))
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
        finally:  # a fault of ours must not leave anything behind either
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
        env = {**os.environ, **order["env"], MARKER: self.deployment}
        if self.confinement is not None:
            env |= self.confinement.environment
        place = Place.from_json(order["place"]) if order["place"] else None
        reads = [Path(path) for path in order["reads"]]

        def prepare() -> None:
            """In the child: what goes wrong stands in its log."""
            try:
                become(place, self.confinement, self.users, reads)
                bind_to_parent()
            except OSError as error:
                os.write(2, f"not started: {error}\n".encode())
                raise

        try:
            with Path(order["log"]).open("ab") as log:
                child = subprocess.Popen(
                    order["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=order["cwd"],
                    env=env,
                    start_new_session=True,
                    preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
                )
        except (OSError, subprocess.SubprocessError) as error:
            _say(event="failed", name=order["name"], error=f"{error} (log: {order['log']})")
            return
        self.children[child.pid] = (order["name"], child)
        _say(event="spawned", name=order["name"], pid=child.pid)

    def _reap(self) -> None:
        """Collect every ended child, adopted orphans included, and tell of the known ones."""
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
        for folder in self.scratch:
            undo_fabric(folder.parent)  # the disks are unmounted before their folder goes
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
