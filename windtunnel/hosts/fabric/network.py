"""Namespaces and links of a fabric: a switch namespace with all bridges, one for each host.

::

    host w1 [eth0]==[p0] bridge of its rack [u0]==[c0] bridge core [program]--[wt-ID] root
    guest [eth0]--[g0.0] bridge of its host [h0]==[p0] bridge of its rack

``==`` is shaped on both ends: each end shapes what leaves it. All but the link to this
program lies in namespaces of the deployment, held by bind mounts in its own folder.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from windtunnel.errors import NotRealisableError
from windtunnel.hosts.fabric import syscalls
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.fabric.plan import FabricPlan, HostPlan
from windtunnel.hosts.fabric.shaping import Links, Shaper, kernel_kinds

_SWITCH = "switch"
_LARGEST_MTU = 65535  # of links between bridges: the hosts' own MTU decides


class Network:
    """The network of a fabric; its methods may be called from several threads.

    Parameters
    ----------
    deployment:
        Id of the deployment, which names the link to this program.
    folder:
        A folder of the deployment for the files that hold the namespaces.
    ledger:
        Where every change is noted first.
    """

    def __init__(self, deployment: str, folder: Path, ledger: Ledger) -> None:
        self.addresses: dict[str, str] = {}
        self.notes: list[str] = []
        self._deployment = deployment
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
        """Make all namespaces, bridges and links.

        Raises
        ------
        OSError, pyroute2.netlink.exceptions.NetlinkError
            If the kernel refuses.
        NotRealisableError
            If no addresses are free.
        """
        names = [_SWITCH, *(name for host in plan.hosts for name in ends(host))]
        self._ledger.note(
            *({"kind": "netns", "path": str(self.namespace(name))} for name in names),
            {"kind": "link", "name": self._deployment},
        )
        for name in names:
            syscalls.make_network(self.namespace(name))
            self._links[name] = Links(self.namespace(name))
        core = self._bridge("core")
        subnet = self._connect_program(core)
        racks = {}
        for number, rack in enumerate(plan.racks):
            racks[rack.name] = self._bridge(f"r{number}")
            up, down = f"u{number}", f"c{number}"
            self._uplinks[rack.name] = self._cable(up, racks[rack.name], down, core)
            self._ports[rack.name] = self._links[_SWITCH].index_of(up)
            self.set_uplink_rate(rack.name, rack.uplink_bytes_s)
        addresses = (f"{address}/{subnet.prefixlen}" for address in subnet.hosts())
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
        """Pull the cable of a host, a guest or a rack."""
        with self._lock:
            self._links[_SWITCH].link("set", index=self._ports[name], state="down")

    def mend(self, name: str) -> None:
        """Put the cable of a host, a guest or a rack back."""
        with self._lock:
            self._links[_SWITCH].link("set", index=self._ports[name], state="up")

    def counters(self, name: str) -> tuple[int, int]:
        """Bytes that a host or guest has received and sent since it was built."""
        sent, received = self._links[_SWITCH].counters(self._ports[name])
        return received, sent  # the switch's end sent what the host received

    def close(self) -> None:
        """Leave the namespaces, so that they can go."""
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
        """Join two bridges; returns the shapers of both ends."""
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
        self.set_nic_rate(host.name, host.nic_bytes_s)

    def _attach(self, name: str, port: str, bridge: int, addresses: Iterator[str]) -> list[Shaper]:
        """Give a namespace its eth0, whose other end is a port of a bridge."""
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
        """Half of a host's latency on the way out, half on the way in."""
        if not hosts:
            return
        if not kernel_kinds()["netem"]:
            names = ", ".join(host.name for host in hosts)
            self.notes.append(f"no latency on {names}: this kernel has no netem")
            return
        for host in hosts:
            for shaper in self._nics[host.name]:
                shaper.set_delay(host.latency_s / 2)

    def _connect_program(self, core: int) -> ipaddress.IPv4Network:
        """The one link into the machine's own namespace; returns the hosts' network."""
        from pyroute2 import IPRoute

        switch = self._links[_SWITCH]
        with IPRoute() as here:
            subnet = free_subnet(_networks_in_use(here), int(self._deployment[3:], 16))
            with Path(f"/proc/{os.getpid()}/ns/net").open("rb") as own:
                peer = {"ifname": self._deployment, "net_ns_fd": own.fileno()}
                switch.link("add", ifname="program", kind="veth", peer=peer)
            index = switch.index_of("program")
            switch.link("set", index=index, master=core, state="up")
            mine, address = here.link_lookup(ifname=self._deployment)[0], str(subnet[1])
            here.addr("add", index=mine, address=address, prefixlen=subnet.prefixlen)
            here.link("set", index=mine, state="up")
        return subnet


def ends(host: HostPlan) -> list[str]:
    """Names of the network ends of a host: its guests, or itself."""
    return [guest.name for guest in host.guests] or [host.name]


def free_subnet(taken: Iterable[ipaddress.IPv4Network], seed: int) -> ipaddress.IPv4Network:
    """A /16 that overlaps no network in use: of 10.0.0.0/8, else of the range for benchmarks.

    198.18.0.0/15 is kept for tests of network gear by RFC 2544. Raises NotRealisableError.
    """
    private = list(ipaddress.IPv4Network("10.0.0.0/8").subnets(new_prefix=16))
    start = seed % len(private)  # two deployments that start at once should not meet
    bench = ipaddress.IPv4Network("198.18.0.0/15").subnets(new_prefix=16)
    known = list(taken)
    for subnet in [*private[start:], *private[:start], *bench]:
        if not any(subnet.overlaps(network) for network in known):
            return subnet
    raise NotRealisableError(
        "no addresses are free for the virtual hosts: routes cover 10.0.0.0/8 and 198.18.0.0/15",
        remedy="take a route away (a VPN's, perhaps), or measure on another machine.",
    )


def _networks_in_use(links: Any) -> list[ipaddress.IPv4Network]:
    """Where the machine has routes to, in any table, but for default routes."""
    found = []
    for route in links.get_routes(family=socket.AF_INET):
        target = route.get_attr("RTA_DST")
        if target and route["dst_len"]:
            text = f"{target}/{route['dst_len']}"
            found.append(ipaddress.IPv4Network(text, strict=False))
    return found
