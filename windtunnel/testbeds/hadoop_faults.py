"""Faults of the daemons of a running Hadoop cluster; testbeds inject those of the hardware."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from windtunnel.cluster import ROLES
from windtunnel.engines.faults import Copies, Faulty, Part, Undo
from windtunnel.engines.running import Running
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.hosts.base import Process

if TYPE_CHECKING:
    from windtunnel.engines.engine import Engine
    from windtunnel.engines.hadoop.daemons import Daemons
    from windtunnel.engines.hadoop.layout import Layout
    from windtunnel.engines.hadoop.pool import Pool
    from windtunnel.engines.storage_system import StorageSystem
    from windtunnel.hosts.local import SupervisorClient

_END_S = 10.0
_READY_LIMIT_S = 300.0
_WHOLE_LIMIT_S = 60.0
_STEP_S = 0.25
# clients that copy files, by the names of engines/hadoop/transfer.py
_COPIES = re.compile(r"\d+-transfer-(put|get)")


class RunningCluster(Protocol):
    """The parts of a deployment that faults need; they exist from its start on."""

    testbed: ClassVar[str]
    layout: Layout
    daemons: Daemons
    engines: dict[str, Engine]
    pool: Pool | None
    storage: StorageSystem
    supervisor: SupervisorClient

    def processes(self) -> Mapping[str, int]:
        """Process ids of the daemons by name, ``ROLE@HOST``."""

    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one has died."""


class HadoopFaults(Faulty):
    """Kills and restarts daemons; see ``engines.faults.Faulty``.

    A killed daemon is not monitored, so that its end does not count as a crash; a restarted daemon
    is monitored again.
    """

    def __init__(self, deployment: RunningCluster) -> None:
        self.deployment = deployment
        self._since: dict[str, float] = {}  # restarted daemons: epoch seconds of the restart

    def kill_daemon(self, role: str, host: str) -> Undo:
        """SIGKILL only the daemon: the containers of a NodeManager continue to run."""
        if host == "active":
            host = self.deployment.storage.active_host() or "no host"
        name = f"{ROLES.canonical(role)}@{host}"
        for process in self._release([name]):
            if process.returncode() is not None:  # another process can have its number now
                raise DeploymentError(f"{name} ended before it was killed", log=process.log)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            if process.wait(_END_S) is None:
                raise DeploymentError(f"{name} was killed and did not end")
        return lambda: self._start([name])

    def kill_host(self, host: str) -> Undo:
        """SIGKILL all daemons of a host and the processes that they started."""
        running = self.deployment.processes()
        names = [name for name in running if name.partition("@")[2] == host]
        ending = self._release(names)
        for process in ending:
            process.kill()
        for process in ending:
            if process.wait(_END_S) is None:
                raise DeploymentError(f"{process.name} was killed and did not end")
        return lambda: self._start(names)

    def decommission(self, host: str) -> Undo:
        """Take the storage of a host out of service; the daemons continue to run."""
        storage = self.deployment.storage
        storage.decommission(host)
        return lambda: storage.recommission(host)

    def moves_data_back(self) -> bool:
        """Whether the storage moves data to a host that is in service again."""
        return self.deployment.storage.moves_data_back

    def progress(self, since: float) -> float | None:
        """Progress of the running application or client; 0 while a client copies files."""
        for engine in list(self.deployment.engines.values()):
            if (done := engine.progress()) is not None:
                return done
        clients = list(self.deployment.supervisor.processes.items())
        copying = (name for name, p in clients if p.returncode() is None)
        if any(_COPIES.fullmatch(name) for name in copying):
            return 0.0
        return self.deployment.daemons.masters.application_progress(since)

    def copies(self) -> Copies | None:
        """The state of replication that the storage reports; None if it does not answer."""
        return self.deployment.storage.copies(self._since)

    def restore(self, *, copies: bool) -> None:
        """Wait until all daemons serve and, with ``copies``, all blocks are fully replicated."""
        daemons = self.deployment.daemons
        daemons.check_alive()
        daemons.wait_ready(_READY_LIMIT_S, fresh=dict(self._since))
        for engine in list(self.deployment.engines.values()):
            engine.recover()
        self._since.clear()
        if copies:
            self._wait_whole()

    def sure_s(self) -> float:
        """Seconds without a missing replica until the report of the storage counts."""
        return self.deployment.storage.sure_s()

    def _wait_whole(self) -> None:
        limit = time.monotonic() + _WHOLE_LIMIT_S
        while (found := self.copies()) is None or found.wanting or not found.serving:
            if time.monotonic() > limit:
                left = (
                    "the storage does not answer"
                    if found is None
                    else f"{found.wanting} blocks are under-replicated"
                )
                raise DeploymentError(
                    f"the data is not fully replicated {_WHOLE_LIMIT_S:.0f} s after the faults "
                    f"were undone: {left}"
                )
            self.deployment.check_alive()
            time.sleep(_STEP_S)

    def _release(self, names: list[str]) -> list[Process]:
        owners: list[Running] = [self.deployment.daemons, self.deployment.storage]
        owners += self.deployment.engines.values()
        if self.deployment.pool:
            owners.append(self.deployment.pool)
        found = [process for owner in owners for process in owner.release(names)]
        if len(found) < len(names) or not found:
            raise DeploymentError(f"{', '.join(names) or 'no daemon'} does not run")
        for name in names:
            self._since.pop(name, None)
        return found

    def _start(self, names: list[str]) -> None:
        """Start daemons that were killed, the masters first.

        The keeper of a pool starts before the NodeManager, whose containers request its JVMs.
        """
        pool = self.deployment.pool
        keepers = [name for name in names if pool is not None and pool.plays(name)]
        others = [name for name in names if name not in keepers]
        for name in [*keepers, *ROLES.in_start_order(others)]:
            if name not in keepers:  # nothing registers with a pool
                self._since[name] = time.time()
            self._owner(name).restart(name)

    def _owner(self, name: str) -> Running:
        """The engine that starts a daemon, or the pool of warm JVMs, the storage, or Hadoop."""
        role, _, host = name.partition("@")
        if self.deployment.pool and self.deployment.pool.plays(name):
            return self.deployment.pool
        for engine in list(self.deployment.engines.values()):
            if host in engine.placed(self.deployment.layout.cluster).get(role, ()):
                return engine
        storage = self.deployment.storage
        return storage if storage.plays(name) else self.deployment.daemons

    def refusal(self, part: Part) -> NotRealisableError:
        """The error for a hardware fault: all hosts share the hardware of this machine."""
        return NotRealisableError(
            f"the testbed '{self.deployment.testbed}' cannot inject faults into {part}",
            remedy="use a testbed whose hosts have their own disks and NICs; "
            "'windtunnel catalogue testbeds' lists the testbeds.",
        )
