"""Shapers on links: a token bucket for the rate, a delay if the kernel supports it.

Rates count bytes of the link layer: 1448 of the 1514 bytes of a full frame are TCP's
payload, so a transfer reaches 0.956 of the rate with the usual MTU.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from windtunnel.hosts import syscalls

USUAL_MTU = 1500
_TOP, _ROOT, _BELOW_TBF, _DELAY = 0xFFFFFFFF, 0x10000, 0x10001, 0x20000  # root, 1:, 1:1, 2:
_QUEUE_S = 0.05  # a full queue delays a packet by this time, as the man page of 'tc' suggests
# But a queue holds this number of full frames, because they do not shrink with the rate: at
# 781 kB/s with frames of 9,000 bytes, 50 ms are four frames. Six hosts that copied from each
# other lost thousands of segments, and transfers paused for minutes (docs/decisions/0038).
_QUEUE_FRAMES = 64
# The burst keeps tokens that arrive while a timer is late or this machine pauses (steal time): with
# a third of the time stolen, 20 ms gave 0.74 to 0.92 of the rate, 100 ms gave 0.93 to 0.956.
_BURST_S = 0.1
_LEAST_BURST_BYTES = 70_000  # one packet of the largest size that a veth forwards (64 KiB)
_DELAYED_PACKETS = 10_000  # netem drops further packets
_MOST_RATE_BYTES_S = 2**32 - 1  # the width of the field in the kernel's structure


class Links:
    """A thread inside a network namespace that sends requests to the kernel there.

    pyroute2 opens one socket per thread, at the first use: only a thread that stays inside never
    sends requests to another namespace. Requests raise pyroute2's NetlinkError.

    Parameters
    ----------
    namespace:
        The file that holds the namespace.
    """

    def __init__(self, namespace: Path) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=namespace.name)
        self._thread.submit(self._enter, namespace).result()

    def link(self, command: str, **facts: object) -> None:
        """Add, set or delete a link."""
        self._do("link", command, **facts)

    def addr(self, command: str, **facts: object) -> None:
        """Add or delete an address."""
        self._do("addr", command, **facts)

    def tc(self, command: str, *facts: object, **named: object) -> None:
        """Add, change or delete a queueing discipline."""
        self._do("tc", command, *facts, **named)

    def index_of(self, name: str) -> int:
        """Number of a link. Raises OSError if there is none."""
        found = self._do("link_lookup", ifname=name)
        if not found:
            raise OSError(errno.ENODEV, f"no link {name}")
        return int(found[0])

    def counters(self, index: int) -> tuple[int, int]:
        """Bytes received and sent by a link."""
        counted = self._do("get_links", index)[0].get_attr("IFLA_STATS64")
        return int(counted["rx_bytes"]), int(counted["tx_bytes"])

    def close(self) -> None:
        """Close the socket and end the thread, which would keep the namespace alive."""
        self._thread.submit(self._leave)
        self._thread.shutdown()

    def _do(self, method: str, *facts: object, **named: object) -> Any:
        def work() -> list[Any]:
            return list(getattr(self._socket, method)(*facts, **named))

        return self._thread.submit(work).result()

    def _enter(self, namespace: Path) -> None:
        from pyroute2 import IPRoute

        syscalls.enter_network(namespace)
        self._socket = IPRoute()

    def _leave(self) -> None:
        self._socket.close()


class Shaper:
    """Rate in bytes/s (None: unlimited) and delay in seconds of the traffic that leaves a link.

    ``frame_bytes`` is the largest size of a frame on the link; a change applies to the next rate.
    """

    def __init__(self, links: Links, index: int) -> None:
        self.frame_bytes = USUAL_MTU
        self._links = links
        self._index = index
        self._shaped = False
        self._delay_s = 0.0

    def set_rate(self, rate_bytes_s: float | None) -> None:
        """Set, change or remove the rate of the link, live."""
        if rate_bytes_s is None or rate_bytes_s > _MOST_RATE_BYTES_S:
            if self._shaped:
                self._links.tc("del", index=self._index, parent=_TOP)
            self._shaped = False
        else:
            rate = max(int(rate_bytes_s), 1)
            burst = max(int(rate * _BURST_S), _LEAST_BURST_BYTES)
            # without a rate, the delay is at the top, where the kernel only replaces it
            first = "replace" if self._delay_s else "add"
            self._links.tc(
                "change" if self._shaped else first,
                "tbf",
                self._index,
                handle=_ROOT,
                rate=rate,
                burst=burst,
                limit=burst + max(int(rate * _QUEUE_S), _QUEUE_FRAMES * self.frame_bytes),
            )
            self._shaped = True
        if self._delay_s:
            self.set_delay(self._delay_s)

    def set_delay(self, delay_s: float) -> None:
        """Delay every packet by this time. Raises NetlinkError if the kernel lacks netem."""
        below = {"parent": _BELOW_TBF} if self._shaped else {}
        microseconds = int(delay_s * 1e6)
        self._links.tc(
            "replace",
            "netem",
            self._index,
            handle=_DELAY,
            delay=microseconds,
            limit=10_000,
            **below,
        )
        self._delay_s = delay_s


def kernel_kinds() -> dict[str, bool]:
    """Which of bridge, veth, tbf and netem this kernel supports; tested in an unnamed namespace.

    Raises OSError if no namespace can be created, ImportError without pyroute2.
    """
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    def works(attempt: Callable[[Any], object]) -> bool:
        with IPRoute() as links:
            try:
                attempt(links)
            except NetlinkError:
                return False
        return True

    tries: dict[str, Callable[[Any], object]] = {
        "bridge": lambda links: links.link("add", ifname="b", kind="bridge"),
        "veth": lambda links: links.link("add", ifname="v", kind="veth", peer={"ifname": "w"}),
        "tbf": lambda links: links.tc("add", "tbf", 1, rate=10**6, burst=10**5, limit=10**5),
        "netem": lambda links: links.tc("add", "netem", 1, delay=1000),
    }
    return {
        kind: syscalls.in_new_network(lambda attempt=attempt: works(attempt))  # type: ignore[misc]
        for kind, attempt in tries.items()
    }
