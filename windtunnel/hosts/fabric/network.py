"""Namespaces and links of a fabric: a switch namespace with all bridges, one namespace per host.

::

    host w1 [eth0]==[p0] bridge of its rack [u0]==[c0] bridge core [program]--[eth0] supervisor
    guest [eth0]--[g0.0] bridge of its host [h0]==[p0] bridge of its rack

``==`` is shaped on both ends: each end shapes its outgoing traffic. Bind mounts in the deployment's
own folder hold the namespaces, except that of the supervisor, which exists as long as the
supervisor; this program's sockets are created there. No link leads out of the deployment.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Iterator
from pathlib import Path

from windtunnel.hosts import syscalls
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.fabric.plan import FabricPlan, HostPlan
from windtunnel.hosts.fabric.shaping import USUAL_MTU, Links, Shaper, kernel_kinds

_SWITCH = "switch"
# of the hosts; it has no route to or from other networks
_SUBNET = ipaddress.IPv4Network("10.82.0.0/16")
_LARGEST_MTU = 65535  # of links between bridges: the hosts' own MTU decides


class Network:
    """The network of a fabric; its methods may be called from several threads.

    Parameters
    ----------
    program:
        The file of the namespace of this program's sockets: the supervisor's.
    folder:
        A folder of the deployment for the files that hold the namespaces.
    ledger:
        Records every change before it is made.
    """

    def __init__(self, program: Path, folder: Path, ledger: Ledger) -> None:
        self.addresses: dict[str, str] = {}
        self.notes: list[str] = []
        self._program = program
        self._folder = folder
        self._ledger = ledger
        self._lock = threading.RLock()
        self._links: dict[str, Links] = {}  # by namespace
        self._ports: dict[str, int] = {}  # host, guest or rack: its link in the switch
        self._nics: dict[str, list[Shaper]] = {}
        self._uplinks: dict[str, list[Shaper]] = {}

    def namespace(self, name: str) -> Path:
        """The file that holds the namespace of a host or guest."""
        return self._folder / f"{name}.net"

    def build(self, plan: FabricPlan) -> None:
        """Create all namespaces, bridges and links.

        Raises
        ------
        OSError, pyroute2.netlink.exceptions.NetlinkError
            If the kernel refuses.
        """
        names = [_SWITCH, *(name for host in plan.hosts for name in ends(host))]
        self._ledger.note(*({"kind": "netns", "path": str(self.namespace(name))} for name in names))
        for name in names:
            syscalls.make_network(self.namespace(name))
            self._links[name] = Links(self.namespace(name))
        core = self._bridge("core")
        self._connect_program(core)
        racks = {}
        for number, rack in enumerate(plan.racks):
            racks[rack.name] = self._bridge(f"r{number}")
            up, down = f"u{number}", f"c{number}"
            self._uplinks[rack.name] = self._cable(up, racks[rack.name], down, core)
            frame = max((h.mtu for h in plan.hosts if h.rack == rack.name), default=USUAL_MTU)
            self._set_frame(self._uplinks[rack.name], frame)
            self._ports[rack.name] = self._links[_SWITCH].index_of(up)
            self.set_uplink_rate(rack.name, rack.uplink_bytes_s)
        addresses = (f"{address}/{_SUBNET.prefixlen}" for address in _SUBNET.hosts())
        next(addresses)  # this program's
        for number, host in enumerate(plan.hosts):
            self._host(number, host, racks[host.rack], addresses)
        self._delay([host for host in plan.hosts if host.latency_s])

    def set_nic_rate(self, host: str, rate_bytes_s: float | None) -> None:
        """Set the rate of a host's NIC in both directions, live."""
        with self._lock:
            for shaper in self._nics[host]:
                shaper.set_rate(rate_bytes_s)

    def set_uplink_rate(self, rack: str, rate_bytes_s: float | None) -> None:
        """Set the rate of a rack's uplink in both directions, live."""
        with self._lock:
            for shaper in self._uplinks[rack]:
                shaper.set_rate(rate_bytes_s)

    def set_mtu(self, name: str, mtu: int) -> None:
        """Set the MTU of a host without guests, or of a guest, live."""
        with self._lock:
            own = self._links[name]
            own.link("set", index=own.index_of("eth0"), mtu=mtu)
            self._links[_SWITCH].link("set", index=self._ports[name], mtu=mtu)

    def cut(self, name: str) -> None:
        """Disconnect a host, a guest or a rack."""
        with self._lock:
            self._links[_SWITCH].link("set", index=self._ports[name], state="down")

    def mend(self, name: str) -> None:
        """Reconnect a host, a guest or a rack."""
        with self._lock:
            self._links[_SWITCH].link("set", index=self._ports[name], state="up")

    def counters(self, name: str) -> tuple[int, int]:
        """Bytes that a host or guest has received and sent since it was built."""
        sent, received = self._links[_SWITCH].counters(self._ports[name])
        return received, sent  # the switch's end sent what the host received

    def close(self) -> None:
        """Leave the namespaces, so that they can be removed."""
        with self._lock:
            while self._links:
                self._links.popitem()[1].close()

    def _bridge(self, name: str) -> int:
        switch = self._links[_SWITCH]
        switch.link("add", ifname=name, kind="bridge")
        index = switch.index_of(name)
        switch.link("set", index=index, state="up")
        return index

    def _cable(self, one: str, bridge: int, other: str, other_bridge: int) -> list[Shaper]:
        """Connect two bridges; returns the shapers of both ends."""
        switch = self._links[_SWITCH]
        switch.link("add", ifname=one, kind="veth", peer={"ifname": other})
        shapers = []
        for name, master in ((one, bridge), (other, other_bridge)):
            index = switch.index_of(name)
            switch.link("set", index=index, master=master, mtu=_LARGEST_MTU, state="up")
            shapers.append(Shaper(switch, index))
        return shapers

    def _host(self, number: int, host: HostPlan, rack: int, addresses: Iterator[str]) -> None:
        if host.guests:
            bridge = self._bridge(f"h{number}b")
            self._nics[host.name] = self._cable(f"h{number}", bridge, f"p{number}", rack)
            self._ports[host.name] = self._links[_SWITCH].index_of(f"p{number}")
            for place, guest in enumerate(host.guests):
                self._attach(guest.name, f"g{number}.{place}", bridge, addresses)
        else:
            self._nics[host.name] = self._attach(host.name, f"p{number}", rack, addresses)
        for name in ends(host):
            self.set_mtu(name, host.mtu)
        self._set_frame(self._nics[host.name], host.mtu)
        self.set_nic_rate(host.name, host.nic_bytes_s)

    def _set_frame(self, shapers: list[Shaper], frame_bytes: int) -> None:
        for shaper in shapers:
            shaper.frame_bytes = frame_bytes

    def _attach(self, name: str, port: str, bridge: int, addresses: Iterator[str]) -> list[Shaper]:
        """Create the eth0 of a namespace, whose other end is a port of a bridge."""
        switch, own = self._links[_SWITCH], self._links[name]
        with self.namespace(name).open("rb") as namespace:
            peer = {"ifname": "eth0", "net_ns_fd": namespace.fileno()}
            switch.link("add", ifname=port, kind="veth", peer=peer)
        self._ports[name] = switch.index_of(port)
        switch.link("set", index=self._ports[name], master=bridge, state="up")
        eth0, (address, prefix) = own.index_of("eth0"), next(addresses).split("/")
        own.link("set", index=own.index_of("lo"), state="up")
        own.addr("add", index=eth0, address=address, prefixlen=int(prefix))
        own.link("set", index=eth0, state="up")
        self.addresses[name] = address
        return [Shaper(own, eth0), Shaper(switch, self._ports[name])]

    def _delay(self, hosts: list[HostPlan]) -> None:
        """Add half of a host's latency to outgoing and half to incoming packets."""
        if not hosts:
            return
        if not kernel_kinds()["netem"]:
            names = ", ".join(host.name for host in hosts)
            self.notes.append(f"no latency on {names}: this kernel has no netem")
            return
        for host in hosts:
            for shaper in self._nics[host.name]:
                shaper.set_delay(host.latency_s / 2)

    def _connect_program(self, core: int) -> None:
        """Create the link to the namespace of this program's sockets."""
        switch, own = self._links[_SWITCH], Links(self._program)
        try:
            with self._program.open("rb") as namespace:
                peer = {"ifname": "eth0", "net_ns_fd": namespace.fileno()}
                switch.link("add", ifname="program", kind="veth", peer=peer)
            switch.link("set", index=switch.index_of("program"), master=core, state="up")
            mine = own.index_of("eth0")
            own.addr("add", index=mine, address=str(_SUBNET[1]), prefixlen=_SUBNET.prefixlen)
            own.link("set", index=mine, state="up")
        finally:
            own.close()


def ends(host: HostPlan) -> list[str]:
    """Names of the network ends of a host: its guests, or itself."""
    return [guest.name for guest in host.guests] or [host.name]
