"""The files of a Ceph cluster: its configuration and the keys of its daemons and clients."""

from __future__ import annotations

import base64
import os
import string
import struct
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windtunnel.cluster import Cluster
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.hosts.base import Host

MIB: Final = 1 << 20
DATA_POOL, METADATA_POOL, FILE_SYSTEM = "data", "metadata", "windtunnel"
CLIENT: Final = "hadoop"
MON, MGR, OSD, MDS, RGW = "mon", "mgr", "osd", "mds", "rgw"
FUSE: Final = "ceph-fuse"  # a client that mounts CephFS
_PORTS: Final = (3300, 6789)  # of a monitor: messenger 2 and 1
_CACHE_MB: Final = 128  # of an OSD and of a metadata server
# resident memory, measured: an OSD under load, a gateway under load, one of the others
OSD_MB, GATEWAY_MB, MASTER_MB = 320, 200, 150
_AES: Final = 1  # CEPH_CRYPTO_AES
_KEY_BYTES: Final = 16

_CAPS: Final = {
    MON: {"mon": "allow *"},
    MGR: {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
    OSD: {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"},
    MDS: {
        "mon": "allow profile mds",
        "osd": "allow rwx",
        "mds": "allow *",
        "mgr": "allow profile mds",
    },
    # it creates its own pools
    RGW: {"mon": "allow rw", "osd": "allow rwx", "mgr": "allow rw"},
    "client.admin": {"mon": "allow *", "osd": "allow *", "mds": "allow *", "mgr": "allow *"},
    # the p permits to set the object size of a file
    f"client.{CLIENT}": {"mon": "allow r", "osd": "allow rw", "mds": "allow rwp"},
}


@dataclass(frozen=True)
class Daemon:
    """A daemon of Ceph: its role, its id within Ceph, its host and the folder of its data.

    ``disk`` counts the disks of its host from 0; only OSDs are on other disks than the first.
    """

    role: str
    id: str
    host: Host
    folder: Path
    disk: int = 0

    @property
    def name(self) -> str:
        """The name in the deployment: ``ROLE@HOST``, and ``osd.2@HOST`` for a second disk."""
        number = f".{self.disk + 1}" if self.disk else ""
        return f"{self.role}{number}@{self.host.name}"

    @property
    def entity(self) -> str:
        """The name in Ceph."""
        own = f"{self.role}.{self.id}"
        return f"client.{own}" if self.role == RGW else own


def plan_daemons(
    cluster: Cluster, placements: Sequence[Placement], roles: Collection[str]
) -> list[Daemon]:
    """The daemons of ``roles``: one of each role on its hosts, and an OSD for each disk."""
    by_name = {placement.host.name: placement for placement in placements}
    found = []
    for role in roles:
        if role == OSD:
            continue
        for number, node in enumerate(cluster.nodes_with(role)):
            host = by_name[node.name].host
            # the id of a metadata server may not begin with a digit
            letter = string.ascii_lowercase[number]
            found.append(Daemon(role, letter, host, host.root / f"ceph-{role}"))
    disks = [
        (by_name[node.name], disk)
        for node in cluster.nodes_with(OSD)
        for disk in range(by_name[node.name].disks)
    ]
    for number, (placement, disk) in enumerate(disks):
        folders = placement.data_folders
        base = folders[disk] if folders else placement.host.root / f"disk-{disk + 1}"
        found.append(Daemon(OSD, str(number), placement.host, base / "ceph-osd", disk))
    return found


def new_key() -> str:
    """A key of cephx: type, time of creation, length and bytes, in base 64 (CryptoKey::encode)."""
    now = time.time_ns()
    seconds, nanoseconds = divmod(now, 1_000_000_000)
    head = struct.pack("<HIIH", _AES, seconds, nanoseconds, _KEY_BYTES)
    return base64.b64encode(head + os.urandom(_KEY_BYTES)).decode()


def keyring(entities: Sequence[str]) -> str:
    """The text of a keyring with new keys: ``mon.``, ``osd.0``, ``client.admin`` ..."""
    lines = []
    for entity in entities:
        caps = _CAPS.get(entity) or _CAPS[entity.removeprefix("client.").partition(".")[0]]
        lines += [f"[{entity}]", f"\tkey = {new_key()}"]
        lines += [f'\tcaps {service} = "{cap}"' for service, cap in caps.items()]
    return "\n".join(lines) + "\n"


def only(entity: str, text: str) -> str:
    """The part of a keyring with the key of one entity."""
    start = text.index(f"[{entity}]")
    end = text.find("\n[", start)
    return text[start : None if end < 0 else end + 1]


def configuration(
    daemons: Sequence[Daemon],
    keys: Path,
    settings: Mapping[str, str],
    *,
    separate_hosts: bool,
) -> str:
    """The text of ``ceph.conf``.

    Parameters
    ----------
    keys:
        The keyring.
    settings:
        Options of the description: ``settings.ceph.NAME``.
    separate_hosts:
        Whether replicas must be on different hosts.
    """
    mons = [daemon.host.address for daemon in daemons if daemon.role == MON]
    options = {
        "fsid": str(uuid.uuid4()),
        "mon_host": ",".join(f"[v2:{a}:{_PORTS[0]}/0,v1:{a}:{_PORTS[1]}/0]" for a in mons),
        "mon_initial_members": ",".join(d.id for d in daemons if d.role == MON),
        "keyring": str(keys),
        "admin_socket": "",
        "log_to_stderr": "true",
        "err_to_stderr": "true",
        "log_file": "",
        "mon_cluster_log_file": "",
        "crash_dir": "",
        "auth_allow_insecure_global_id_reclaim": "false",
        "mon_warn_on_insecure_global_id_reclaim": "false",
        # the state that the manager reports is otherwise up to 5 s old
        "mgr_stats_period": "1",
        "mgr_tick_period": "1",
        "mon_tick_interval": "1",
        "mgr_initial_modules": "",
        "debug_mon": "0/5",
        "mon_data_avail_crit": "1",
        "mon_data_avail_warn": "2",
        "mon_allow_pool_size_one": "true",
        "mon_max_pg_per_osd": "1000",
        "osd_pool_default_pg_autoscale_mode": "off",
        "osd_crush_chooseleaf_type": "1" if separate_hosts else "0",
        "osd_crush_update_on_start": "true",
        "bluestore_cache_autotune": "false",
        "bluestore_cache_size": str(_CACHE_MB * MIB),
        "mds_cache_memory_limit": str(_CACHE_MB * MIB),
        # Hadoop's own accounts are not those of this machine
        "client_permissions": "false",
        "client_mount_timeout": "60",
        **settings,
    }
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())
