"""Hosts, ports, folders and flags of Kudu's daemons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.cluster import ROLES
from windtunnel.engines.ports import Ports, plan_ports
from windtunnel.engines.ycsb.sizes import CACHE_MB, MIB
from windtunnel.hosts.base import Host

MASTER, TSERVER = "kudu-master", "kudu-tserver"
CACHE = "block_cache_capacity_mb"
WORD = ROLES.main_classes("kudu")
"""The program's argument for each role."""
MASTER_MB = 256
_PORTS = {MASTER: {"rpc": 7051, "web": 8051}, TSERVER: {"rpc": 7050, "web": 8050}}
_MOST_REPLICAS = 7  # Kudu's own limit


def replicas(replication: int, servers: int) -> int:
    """Replicas of a table's data: HDFS's replication factor, at most one per server."""
    return max(1, min(replication, servers, _MOST_REPLICAS))


def cache_mb(settings: Mapping[str, str]) -> int:
    """Block cache of one tablet server, MiB; Kudu itself refuses an invalid number."""
    text = settings.get(f"kudu.{CACHE}", str(CACHE_MB)).strip()
    return int(text) if text.isdigit() else CACHE_MB


@dataclass(frozen=True)
class Site:
    """Hosts, ports and folders of one start of Kudu.

    ``hosts`` maps a role to its hosts, ``ports`` holds their ports, ``folders`` maps a host's name
    to this start's folders, one per disk. ``memory_mb`` is the limit of a tablet server.
    """

    hosts: Mapping[str, Sequence[Host]]
    ports: Ports
    folders: Mapping[str, Sequence[Path]]
    memory_mb: int

    def rpc(self, role: str, host: Host) -> str:
        """Address that a daemon serves on, IP address and port."""
        return f"{host.address}:{self.ports[role, host.name, 'rpc']}"

    def web(self, host: Host) -> str:
        """Address of a tablet server's web server, IP address and port."""
        return f"{host.address}:{self.ports[TSERVER, host.name, 'web']}"

    @property
    def master(self) -> str:
        """Address of the master."""
        return self.rpc(MASTER, self.hosts[MASTER][0])

    def flags(self, role: str, host: Host, own: Mapping[str, str]) -> list[str]:
        """Flags of a daemon; ``own`` are the description's, ``kudu.FLAG``, for all daemons
        (the size of the block cache: for tablet servers).

        They override sizes and choices of this method, but not addresses and folders.
        """
        memory = MASTER_MB if role == MASTER else self.memory_mb
        chosen = {
            # All hosts share this machine's clock, so they need no NTP; see docs/decisions/0022.
            "unlock_unsafe_flags": "true",
            "unlock_experimental_flags": "true",
            "time_source": "system_unsync",
            # Files grow by this; the default, 32 MiB, would use half a gigabyte for 100 MB of data.
            "log_container_preallocate_bytes": str(2 * MIB),
            # As HBase here: no authentication, no encryption.
            "rpc_authentication": "disabled",
            "rpc_encryption": "disabled",
            "memory_limit_hard_bytes": str(memory * MIB),
            CACHE: str(CACHE_MB),
        }
        if role == MASTER:
            # permit the replication factor of HDFS and the requested number of tablets
            chosen |= {"allow_unsafe_replication_factor": "true", "max_create_tablets_per_ts": "0"}
        folders = [folder / WORD[role] for folder in self.folders[host.name]]
        place = {
            "fs_wal_dir": f"{folders[0]}-log",
            "fs_data_dirs": ",".join(f"{folder}-data" for folder in folders),
            "rpc_bind_addresses": self.rpc(role, host),
            "webserver_interface": host.address,
            "webserver_port": str(self.ports[role, host.name, "web"]),
            "local_ip_for_outbound_sockets": host.address,
            "logtostderr": "true",
            # its other files must not be in the machine's /tmp
            "log_dir": str(self.folders[host.name][0]),
            "enable_minidumps": "false",
        }
        if role == TSERVER:
            place["tserver_master_addrs"] = self.master
        wanted = {name.removeprefix("kudu."): value for name, value in own.items()}
        if role == MASTER:  # the cache size is for tablet servers and may exceed its memory
            wanted.pop(CACHE, None)
        return [f"--{name}={value}" for name, value in {**chosen, **wanted, **place}.items()]


def plan_site(
    hosts: Mapping[str, Sequence[Host]],
    folders: Mapping[str, Sequence[Path]],
    memory_mb: int,
    *,
    own_networks: bool,
) -> Site:
    """Give every daemon its ports."""
    return Site(hosts, plan_ports(hosts, _PORTS, own_networks=own_networks), folders, memory_mb)
