"""Disks and NICs of hosts: which devices are counted, and what a host has."""

from __future__ import annotations

from dataclasses import dataclass

# Regular expressions for the whole name, without the bytes counted on another device as well, or in
# memory. They are valid in PromQL (RE2) and in Python.
NOT_DISKS = (
    "loop.*|z?ram.*|dm-.*|md.*|sr.*|fd.*|nbd.*|bcache.*|drbd.*|"
    "(h|s|v|xv)d[a-z]+[0-9]+|(nvme[0-9]+n|mmcblk)[0-9]+p[0-9]+"
)
NOT_NICS = (
    "lo|dummy.*|veth.*|vnet.*|docker.*|podman.*|lxc.*|br.*|virbr.*|ovs.*|bond.*|team.*|"
    "vlan.*|tun.*|tap.*|wg.*|cni.*|flannel.*|cali.*|cilium.*|kube.*|.*[.].*"
)


@dataclass(frozen=True)
class Machine:
    """What a host reports of itself: None or empty if it does not.

    ``nics_bytes_s`` has the rates of the NICs that are connected.
    """

    cpu_threads: int | None = None
    memory_bytes: int | None = None
    nics_bytes_s: tuple[float, ...] = ()
