"""This machine as a host. Several named hosts may share it; each has a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from windtunnel.errors import DeploymentError
from windtunnel.hosts import supervisor
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.isolation.channel import Channel
from windtunnel.hosts.isolation.confine import Place
from windtunnel.hosts.isolation.folders import write_below
from windtunnel.hosts.isolation.policy import Isolation

DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class LocalProcess:
    """A process that the supervisor has started."""

    def __init__(self, name: str, log: Path, owner: SupervisorClient) -> None:
        self.name = name
        self.log = log
        self.pid = 0
        self._owner = owner
        self._returncode: int | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._error = ""

    def returncode(self) -> int | None:
        """Exit code (negative: the signal that ended it), or None while it runs."""
        return self._returncode

    def wait(self, timeout_s: float) -> int | None:
        """Exit code, or None if it still runs after ``timeout_s`` seconds."""
        self._ended.wait(timeout_s)
        return self._returncode

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        self._owner.send({"op": "kill", "name": self.name})

    def _mark_ended(self, returncode: int) -> None:
        self._returncode = returncode
        self._ended.set()


class SupervisorClient:
    """The program's connection to a supervisor process.

    Parameters
    ----------
    deployment:
        Id that all processes have in their environment.
    scratch:
        Folders (with the marker file) that the supervisor removes at the end.
    log:
        File for the supervisor's own messages.
    isolation:
        The network of the supervisor and the processes, and the account of the processes.

    Raises
    ------
    DeploymentError
        If the isolation cannot be provided.
    """

    def __init__(
        self, deployment: str, scratch: Sequence[Path], log: Path, isolation: Isolation
    ) -> None:
        self.processes: dict[str, LocalProcess] = {}
        self.isolation = isolation
        self._deployment = deployment
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._channel = Channel()
        theirs = self._channel.other
        confinement = isolation.confinement
        wanted = {
            "deployment": deployment,
            "scratch": [str(folder) for folder in scratch],
            "network": isolation.network,
            "confinement": confinement and confinement.to_json(),
            "channel": theirs.fileno(),
            "mount_point": isolation.mount_point and str(isolation.mount_point),
        }
        with theirs, log.open("ab") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", supervisor.__name__, json.dumps(wanted)],
                env=os.environ | {"PYTHONPATH": supervisor.python_path()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
                text=True,
            )
        self.pid = self._child.pid
        self._wait_ready(log)
        self._reader = threading.Thread(target=self._read_events, daemon=True)
        self._reader.start()

    def _wait_ready(self, log: Path) -> None:
        assert self._child.stdout is not None
        first = self._child.stdout.readline()
        event = json.loads(first) if first else {"event": "refused", "error": "it ended at once"}
        if event["event"] == "refused":
            self._child.wait()
            raise DeploymentError(
                f"the supervisor of the daemons did not start: {event['error']}",
                remedy="'windtunnel doctor' reports what this machine lacks.",
                log=log,
            )

    @property
    def network(self) -> Path:
        """The file of the network namespace of the deployment's processes."""
        return Path(f"/proc/{self.pid}/ns/net")

    def network_bytes(self) -> tuple[int, int]:
        """Bytes sent and received so far in the deployment's network namespace.

        Zeros if it has none: the machine's interfaces count these bytes. Raises OSError.
        """
        if self.isolation.network == "the machine's":
            return 0, 0
        lines = Path(f"/proc/{self.pid}/net/dev").read_text().splitlines()[2:]
        fields = [line.partition(":")[2].split() for line in lines]  # proc_pid_net(5)
        return sum(int(f[8]) for f in fields), sum(int(f[0]) for f in fields)

    def open_socket(self) -> socket.socket:
        """A TCP socket of the deployment's network, not connected yet. Raises OSError."""
        return self._channel.open_socket()

    @property
    def alive(self) -> bool:
        """Whether the supervisor still runs."""
        return not self._closed.is_set() and self._child.poll() is None

    def spawn(self, spec: ProcessSpec, place: Place | None = None) -> LocalProcess:
        """Start a process, in a virtual host if ``place`` is given.

        Raises
        ------
        DeploymentError
            If it cannot be started, or if the supervisor has ended.
        """
        process = LocalProcess(spec.name, spec.log, self)
        self.processes[spec.name] = process
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        order: dict[str, object] = {"op": "spawn", "name": spec.name, "argv": list(spec.argv)}
        order |= {"env": dict(spec.env), "cwd": str(spec.cwd), "log": str(spec.log)}
        order |= {"place": place and place.to_json(), "reads": list(map(str, spec.reads))}
        order |= {"mounts": spec.mounts}
        self.send(order)
        if not process._started.wait(60) or process._error:
            reason = process._error or "the supervisor does not answer"
            raise DeploymentError(
                f"{spec.name} cannot be started: {reason}",
                remedy="check that the program exists, and the limits of memory and processes.",
            )
        return process

    def send(self, order: dict[str, object]) -> None:
        """Send one order.

        Raises
        ------
        DeploymentError
            If the supervisor, and with it all daemons, has ended.
        """
        try:
            if not self.alive:  # the kernel may close its output pipe before its input pipe
                raise BrokenPipeError
            with self._lock:
                assert self._child.stdin is not None
                self._child.stdin.write(json.dumps(order) + "\n")
                self._child.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise DeploymentError(
                "the supervisor of the daemons has died, and the daemons with it",
                remedy="run the same command again: completed trials are kept.",
            ) from error

    def close(self) -> None:
        """End all processes, remove the scratch folders, and wait for completion."""
        with contextlib.suppress(DeploymentError):
            self.send({"op": "close"})
        with contextlib.suppress(OSError, ValueError):
            assert self._child.stdin is not None
            self._child.stdin.close()
        try:
            self._child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.returncode != 0:  # it could not end processes that left its session
            supervisor.kill_marked(self._deployment)
        self._reader.join(timeout=5)
        assert self._child.stdout is not None
        self._child.stdout.close()
        self._channel.close()

    def _read_events(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            event = json.loads(line)
            process = self.processes.get(event.get("name", ""))
            if process is None:
                continue
            if event["event"] == "spawned":
                process.pid = event["pid"]
            elif event["event"] == "failed":
                process._error = event["error"]
            else:
                process._mark_ended(event["returncode"])
            process._started.set()
        self._closed.set()
        for process in self.processes.values():
            if process.returncode() is None:
                process._mark_ended(-9)
            process._started.set()


class LocalHost:
    """This machine as a host with its own name and loopback address."""

    def __init__(
        self, name: str, address: str, root: Path, logs: Path, supervisor: SupervisorClient
    ) -> None:
        self.name = self.machine = name
        self.address = address
        self.root = root
        self.logs = logs
        self._supervisor = supervisor
        root.mkdir(parents=True, exist_ok=True)
        logs.mkdir(parents=True, exist_ok=True)

    @property
    def account(self) -> str:
        """Name of the account of its processes."""
        return self._supervisor.isolation.account

    @property
    def quota_files(self) -> Sequence[Path]:
        """None: this machine has no CPU quota."""
        return ()

    def open_socket(self) -> socket.socket:
        """A TCP socket of the deployment's network, not connected yet. Raises OSError."""
        return self._supervisor.open_socket()

    def spawn(self, spec: ProcessSpec) -> LocalProcess:
        """Start a process that ends with this program at the latest."""
        return self._supervisor.spawn(spec)

    def write_text(self, path: Path, text: str) -> None:
        """Write a file below the hosts' folders or log folders; no link is followed."""
        self.write_bytes(path, text.encode())

    def write_bytes(self, path: Path, data: bytes) -> None:
        """As :meth:`write_text`, with any content."""
        roots = (self.root.parent, self.logs.parent)
        write_below(next(root for root in roots if path.is_relative_to(root)), path, data)

    def drop_caches(self) -> bool:
        """Empty the machine's page cache; False if that is not permitted."""
        try:
            os.sync()
            DROP_CACHES.write_text("3\n")
        except OSError:
            return False
        return True
