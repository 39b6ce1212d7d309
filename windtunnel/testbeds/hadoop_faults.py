"""Faults in a running Hadoop cluster: daemons that die. Hardware is the testbed's own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from typing import TYPE_CHECKING

from windtunnel.engines.faulty import Copies, Undo
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.hosts.base import Process

if TYPE_CHECKING:
    from windtunnel.engines.engine import Engine
    from windtunnel.engines.hadoop.daemons import Daemons
    from windtunnel.testbeds.hadoop_cluster import HadoopDeployment

_END_S = 10.0
_READY_LIMIT_S = 120.0
_WHOLE_LIMIT_S = 60.0
_STEP_S = 0.25
# How often the NameNode looks for silent DataNodes, with Hadoop's default (hdfs-default.xml).
_RECHECK, _RECHECK_MS = "dfs.namenode.heartbeat.recheck-interval", 300_000.0
_UNDER = re.compile(r"Target Replicas is (\d+) but found (\d+) live replica")
_MISSING = re.compile(r"^\s*Missing blocks:\s*(\d+)", re.MULTILINE)
_MASTERS_FIRST = (
    *("namenode", "resourcemanager", "datanode", "nodemanager", "historyserver"),
    *("zookeeper", "hmaster", "regionserver"),  # of engines beside Hadoop
    *("kudu-master", "kudu-tserver"),
    *("trino-coordinator", "trino-worker"),
)


class HadoopFaults:
    """Kills daemons and starts them again; see ``engines.faulty.Faulty``.

    A daemon that is killed here is watched over no longer, so that its end is no crash; once
    it is started again, it is.
    """

    def __init__(self, deployment: HadoopDeployment) -> None:
        self.deployment = deployment
        self._since: dict[str, float] = {}  # daemons started anew: when, in epoch seconds

    def kill_daemon(self, role: str, host: str) -> Undo:
        """SIGKILL a daemon alone: containers of a NodeManager live on."""
        name = f"{role}@{host}"
        for process in self._release([name]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            if process.wait(_END_S) is None:
                raise DeploymentError(f"{name} was killed and did not end")
        return lambda: self._start([name])

    def kill_host(self, host: str) -> Undo:
        """SIGKILL all daemons of a host with all that they have started."""
        running = self.deployment.processes()
        names = [name for name in running if name.partition("@")[2] == host]
        ending = self._release(names)
        for process in ending:
            process.kill()
        for process in ending:
            if process.wait(_END_S) is None:
                raise DeploymentError(f"{process.name} was killed and did not end")
        return lambda: self._start(names)

    def cut(self, name: str) -> Undo:
        """Not here: all hosts share one network."""
        raise self._refusal("links")

    def slow_disk(self, host: str, disk: int, share: float) -> Undo:
        """Not here: all hosts share one disk."""
        raise self._refusal("disks")

    def slow_nic(self, host: str, share: float) -> Undo:
        """Not here: all hosts share one network."""
        raise self._refusal("NICs")

    def fill_disk(self, host: str, disk: int, share: float) -> Undo:
        """Not here: the disk is this machine's own."""
        raise self._refusal("disks")

    def progress(self, since: float) -> float | None:
        """Of the application or the engine's client that runs; 0 while a client copies files."""
        for engine in list(self.deployment.engines.values()):
            if (done := engine.progress()) is not None:
                return done
        clients = list(self.deployment.supervisor.processes.items())
        copying = (name for name, p in clients if p.returncode() is None)
        if any(name.startswith("transfer-") for name in copying):
            return 0.0
        return self.deployment.daemons.masters.application_progress(since)

    def copies(self) -> Copies | None:
        """What the NameNode says of its blocks; None where it does not answer.

        By its check of all files: its counters are seconds old, and take in files that ask for
        more copies than there are DataNodes.
        """
        masters = self.deployment.daemons.masters
        bean = masters.namenode_bean("FSNamesystemState")
        report = masters.file_check() if bean else ""
        if not report:
            return None
        holders = int(bean["NumLiveDataNodes"])
        wanting = wanting_copies(report, holders, self._datanodes())
        anew = [(name, t) for name, t in self._since.items() if name.startswith("datanode@")]
        serving = bean["FSState"] == "Operational" and all(masters.serves(*one) for one in anew)
        return Copies(holders, wanting, serving)

    def _datanodes(self) -> int:
        """DataNodes in service while nothing is broken."""
        daemons = self.deployment.daemons
        placed = (p for p in self.deployment.layout.placements if "datanode" in p.roles)
        return sum(p.host.name not in daemons.out for p in placed)

    def restore(self, *, copies: bool) -> None:
        """Wait until every daemon serves and, with ``copies``, every block has all copies."""
        daemons = self.deployment.daemons
        daemons.check_alive()
        daemons.wait_ready(_READY_LIMIT_S, fresh=dict(self._since))
        for engine in list(self.deployment.engines.values()):
            engine.recover()
        self._since.clear()
        if copies:
            self._wait_whole()

    def sure_s(self) -> float:
        """A holder that is silent for too long is dead at once, its copies follow later.

        They do at the next check for silent holders: every recheck interval, at steps of five
        seconds (HeartbeatManager).
        """
        given = self.deployment.layout.properties().get(_RECHECK, "")
        return 6.0 + (float(given) if given.isdigit() else _RECHECK_MS) / 1e3

    def _wait_whole(self) -> None:
        limit = time.monotonic() + _WHOLE_LIMIT_S
        while (found := self.copies()) is None or found.wanting or not found.serving:
            if time.monotonic() > limit:
                left = "it does not answer" if found is None else f"{found.wanting} want a copy"
                raise DeploymentError(
                    f"{_WHOLE_LIMIT_S:.0f} s after the faults were undone HDFS is not whole: {left}"
                )
            self.deployment.check_alive()
            time.sleep(_STEP_S)

    def _release(self, names: list[str]) -> list[Process]:
        found = self.deployment.daemons.release(names)
        for engine in list(self.deployment.engines.values()):
            found += engine.release(names)
        if len(found) < len(names) or not found:
            raise DeploymentError(f"{', '.join(names) or 'no daemon'} does not run")
        for name in names:
            self._since.pop(name, None)
        return found

    def _start(self, names: list[str]) -> None:
        """Start daemons that were killed, the masters first."""
        for name in sorted(names, key=lambda name: _MASTERS_FIRST.index(name.partition("@")[0])):
            self._since[name] = time.time()
            self._owner(name).restart(name)

    def _owner(self, name: str) -> Daemons | Engine:
        """Who starts a daemon: the engine that it is of, or Hadoop."""
        role, _, host = name.partition("@")
        for engine in list(self.deployment.engines.values()):
            if host in engine.placed(self.deployment.layout.cluster).get(role, ()):
                return engine
        return self.deployment.daemons

    def _refusal(self, part: str) -> NotRealisableError:
        return NotRealisableError(
            f"the testbed '{self.deployment.testbed}' cannot break {part}",
            remedy="use 'testbed: scaled', whose hosts have parts of their own.",
        )


def wanting_copies(report: str, holders: int, datanodes: int) -> int:
    """Blocks with fewer copies than they should have, by the text of the NameNode's check.

    A file that asks for more copies than there are DataNodes (TeraSort's partition file and
    the files of a job that is submitted ask for ten) should have as many as can be held now.
    """
    found = 0
    for target, live in _UNDER.findall(report):
        should = int(target) if int(target) <= datanodes else holders
        found += int(live) < should
    missing = _MISSING.search(report)
    return found + (int(missing[1]) if missing else 0)
