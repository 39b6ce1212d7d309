"""The daemons of a nameservice with two NameNodes: their set-up and their restart."""

from __future__ import annotations

from typing import Final

from windtunnel.engines.hadoop.ha import CONTROLLER_PORT, ID, JOURNAL, RPC
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Jvms
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, Process

ZOOKEEPER, CONTROLLER = "ha-zookeeper", "failover-controller"
_MAIN: Final = {
    ZOOKEEPER: "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    CONTROLLER: "org.apache.hadoop.hdfs.tools.DFSZKFailoverController",
}
_HEAP_MB: Final = 96


class Steps:
    """The set-up of a new nameservice, one step after another, and the restart of its daemons.

    ``running`` is where its own daemons are registered.
    """

    def __init__(self, jvms: Jvms, shared_running: dict[str, Process]) -> None:
        self._jvms = jvms
        jvms.masters.two_namenodes = True
        self._running = shared_running
        self._names = _hosts(jvms, "namenode")
        self._journals = _hosts(jvms, "journalnode")
        self._pending: list[Process] = []
        self._step = 0

    def begin(self) -> None:
        """Start ZooKeeper; the JournalNodes start with Hadoop's first daemons."""
        for host in self._journals:
            self._spawn_own(ZOOKEEPER, host)

    def advance(self) -> str:
        """Take the next step if the previous one is complete; what is missing, empty at the end."""
        if not self._finished():
            return "the set-up of the two NameNodes"
        first, second = self._names
        if self._step == 0:
            if not all(self._listens(host) for host in self._journals):
                return "the JournalNodes and ZooKeeper"
            self._command(first, "namenode", "-format", "-nonInteractive")
            self._pending.append(self._spawn(CONTROLLER, first, "-formatZK", "-nonInteractive"))
        elif self._step == 1:
            self._jvms.spawn(first, "namenode")
        elif self._step == 2:
            if not self._connects(first, self._jvms.layout.address(RPC, first)[1]):
                return "the first NameNode"
            self._spawn_own(CONTROLLER, first)
            self._command(second, "namenode", "-bootstrapStandby", "-nonInteractive")
        elif self._step == 3:
            self._jvms.spawn(second, "namenode")
            self._spawn_own(CONTROLLER, second)
        else:
            return self._roles()
        self._step += 1
        return "the set-up of the two NameNodes"

    def _roles(self) -> str:
        states = sorted(self._jvms.masters.namenode_states().values())
        return "" if states == ["active", "standby"] else "an active and a standby NameNode"

    def plays(self, name: str) -> bool:
        """Whether it starts a daemon itself."""
        return name.partition("@")[0] in _MAIN

    def restart(self, name: str) -> None:
        """Restart one of its daemons."""
        role, _, host_name = name.partition("@")
        self._spawn_own(role, next(h for h in self._jvms.layout.hosts if h.name == host_name))

    def _command(self, host: Host, role: str, *args: str) -> None:
        """Run a command of a role; its end is awaited and is no crash."""
        suffix = args[0]
        self._jvms.spawn(host, role, *args, suffix=suffix)
        self._pending.append(self._jvms.running.pop(f"{role}@{host.name}{suffix}"))

    def _finished(self) -> bool:
        """Whether all commands have ended; DeploymentError if one has failed."""
        codes = [(process, process.returncode()) for process in self._pending]
        for process, code in codes:
            if code:
                raise DeploymentError(
                    f"{process.name} failed (exit code {code})",
                    remedy="see the log.",
                    log=process.log,
                    tail=tail(process.log),
                )
        self._pending = [process for process, code in codes if code is None]
        return not self._pending

    def _spawn_own(self, role: str, host: Host) -> None:
        self._running[f"{role}@{host.name}"] = self._spawn(role, host)

    def _spawn(self, role: str, host: Host, *args: str) -> Process:
        words = [self._write_zookeeper(host)] if role == ZOOKEEPER else self._options(host)
        name = f"{role}{args[0] if args else ''}@{host.name}"
        main = _MAIN[role]
        return self._jvms.spawn_own(host, name, main, *words, *args, heap_mb=_HEAP_MB)

    def _options(self, host: Host) -> list[str]:
        own = self._jvms.layout.per_host[host.name]
        return [f"-D{name}={own[name]}" for name in (ID, CONTROLLER_PORT)]

    def _write_zookeeper(self, host: Host) -> str:
        """Write the configuration of a ZooKeeper server; returns its path."""
        folder, ports = host.root / "ha-zookeeper", self._jvms.layout.ha_ports
        rows: dict[str, object] = {
            "dataDir": folder,
            "clientPort": ports[host.name, "client"],
            "clientPortAddress": host.address,
            "admin.enableServer": "false",
            "tickTime": 1000,
            "initLimit": 20,
            "syncLimit": 10,
        }
        for number, peer in enumerate(self._journals, start=1):
            pair = f"{ports[peer.name, 'peer']}:{ports[peer.name, 'election']}"
            rows[f"server.{number}"] = f"{peer.name}:{pair}"
        host.write_text(folder / "myid", f"{self._journals.index(host) + 1}\n")
        text = "".join(f"{name}={value}\n" for name, value in rows.items())
        host.write_text(folder / "zoo.cfg", text)
        return str(folder / "zoo.cfg")

    def _listens(self, host: Host) -> bool:
        layout = self._jvms.layout
        ports = [layout.address(JOURNAL, host)[1], layout.ha_ports[host.name, "client"]]
        return all(self._connects(host, port) for port in ports)

    def _connects(self, host: Host, port: int) -> bool:
        with host.open_socket() as found:
            found.settimeout(1.0)
            return found.connect_ex((host.address, port)) == 0


def _hosts(jvms: Jvms, role: str) -> list[Host]:
    return [placement.host for placement in jvms.layout.placements if role in placement.roles]
