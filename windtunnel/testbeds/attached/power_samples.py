"""Samples of the power of the hosts of an existing cluster, from their management controllers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from windtunnel.cluster.quantity import format_duration
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.ipmi import Ipmi
from windtunnel.inspection.monitored import counted
from windtunnel.probes.readings import POWER
from windtunnel.results.sample import Recording, Sample
from windtunnel.testbeds.attached.host_samples import power_problem
from windtunnel.testbeds.attached.source_options import PowerOptions

if TYPE_CHECKING:  # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest import RestClient

_AT_A_TIME = 16
_AGAIN_S = 30.0  # until a meter that failed is read again
_MOST_READINGS = 50_000  # of a host: about six days with the default interval
_STEP_S = 0.05
PROTOCOLS = {"redfish": "Redfish", "ipmi": "IPMI"}


class Meter(Protocol):
    """The power meter of one host."""

    def watts(self) -> float:
        """The present power in watts; raises ClusterAccessError without a reading."""


def footprint(options: PowerOptions) -> list[str]:
    """The requests of :class:`PowerSamples`, for lists."""
    every = f"to the controller (BMC) of each host every {format_duration(options.interval)}"
    if options.protocol == "redfish":
        return [f"Redfish: one GET of the power of the chassis {every}"]
    reading = "dcmi power reading" if options.sensor is None else f"sdr get '{options.sensor}'"
    return [f"IPMI: one session with the privilege level USER, 'ipmitool {reading}', {every}"]


def open_power(
    options: PowerOptions, hosts: Mapping[str, bool], client: Callable[..., RestClient]
) -> PowerSamples:
    """The samples of each host with an address; ``client`` makes a client for Redfish."""
    addresses = {host: address for host in hosts if (address := options.address_of(host))}
    password = options.password_file and Path(options.password_file).expanduser()
    if options.protocol == "ipmi":
        assert options.user and password, "checked by the options"
        by_ipmi = {
            host: Ipmi(address, options.user, password, options.sensor, options.cipher)
            for host, address in addresses.items()
        }
        return PowerSamples(options, hosts, by_ipmi)
    # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest.redfish import Redfish

    given: dict[str, Any] = {"user": options.user, "password_file": password}
    if options.ca_file:
        given["ca_file"] = Path(options.ca_file).expanduser()
    shared = client(**given)
    by_redfish = {host: Redfish(shared, one, options.chassis) for host, one in addresses.items()}
    return PowerSamples(options, hosts, by_redfish, shared.close)


class PowerSamples:
    """Samples of the power of the hosts; see :class:`~.host_samples.HostSamples`.

    Parameters
    ----------
    hosts:
        The hosts of the cluster.
    meters:
        The meters by host.
    on_close:
        Closes the connections of the meters.
    """

    def __init__(
        self,
        options: PowerOptions,
        hosts: Mapping[str, bool],
        meters: Mapping[str, Meter],
        on_close: Callable[[], object] = lambda: None,
    ) -> None:
        self._on_close = on_close
        self._interval_s = options.interval
        self._protocol = PROTOCOLS[options.protocol]
        self._hosts = hosts
        self._meters = meters
        self._readings: dict[str, deque[tuple[float, float]]] = {
            host: deque(maxlen=_MOST_READINGS) for host in meters
        }
        self._failed: dict[str, tuple[float, ClusterAccessError]] = {}  # host -> time, error
        self._busy: set[str] = set()
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="power")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read all meters, at multiples of the interval."""
        self._thread = threading.Thread(target=self._follow, name="power", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End after the present readings, and close the connections."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._pool.shutdown(cancel_futures=True)
        self._on_close()

    def caveats(self) -> list[str]:
        """What the samples do not cover, in words. It reads all meters once.

        Raises
        ------
        ClusterAccessError
            If no meter can be read.
        """
        list(self._pool.map(self._read, self._meters))
        without = [host for host in self._hosts if host not in self._meters]
        if not self._meters:
            raise ClusterAccessError(
                f"power: there is no address of a controller for {counted(without)}",
                remedy="correct 'address' or 'addresses' of 'power'.",
                reason="no meter",
            )
        if len(self._failed) == len(self._meters):
            _, first = next(iter(self._failed.values()))
            raise ClusterAccessError(
                f"power: no meter can be read: {first.message}",
                remedy=first.remedy,
                reason=first.reason,
            )
        notes = []
        if without:
            notes.append(f"power: there is no address of a controller for {counted(without)}")
        if self._failed:
            _, first = next(iter(self._failed.values()))
            notes.append(f"power: no reading of {counted(list(self._failed))} ({first.message})")
        return notes

    def source(self) -> dict[str, Any]:
        """The source of the samples and their interval, for the provenance."""
        return {"power": {"source": self._protocol, "interval_s": round(self._interval_s, 1)}}

    def facts(self) -> dict[str, dict[str, Any]]:
        """None: meters have no facts of hosts."""
        return {}

    def record(self, since_s: float, until_s: float) -> Recording:
        """The samples between two times, with one reading before and one after them.

        It waits for the reading after the end, for at most two intervals. Earlier readings are
        dropped.
        """
        if problem := power_problem(since_s, until_s, self._interval_s):
            return Recording([], None, [problem])
        limit_s = until_s + 2 * self._interval_s
        while time.time() <= limit_s and any(
            host not in self._failed and not (readings and readings[-1][0] >= until_s)
            for host, readings in self._readings.items()
        ):
            time.sleep(_STEP_S)
        rows: list[Sample] = []
        without = [host for host in self._hosts if host not in self._meters]
        for host, readings in self._readings.items():
            found = list(readings)
            first = max((t for t, _ in found if t < since_s), default=since_s)
            last = min((t for t, _ in found if t > until_s), default=until_s)
            known = [(t, watts) for t, watts in found if first <= t <= last]
            rows += [Sample(t, host, *POWER.reading(watts)) for t, watts in known]
            if not known or known[0][0] > since_s or known[-1][0] < until_s:
                without.append(host)
            while readings and readings[0][0] < since_s - 2 * self._interval_s:
                readings.popleft()
        covered = {row.host for row in rows}
        problems = [f"power: readings are missing of {counted(sorted(without))}"] if without else []
        source = f"metered: {self._protocol}, {len(covered)} hosts" if covered else None
        return Recording(rows, source, problems)

    def _follow(self) -> None:
        while True:
            now = time.time()
            for host in self._meters:
                failed_at, _ = self._failed.get(host, (0.0, None))
                if host not in self._busy and now - failed_at >= _AGAIN_S:
                    self._busy.add(host)
                    self._pool.submit(self._read, host)
            if self._closed.wait(self._interval_s - time.time() % self._interval_s):
                return

    def _read(self, host: str) -> None:
        """Read a meter. The time is the middle between request and answer, of this machine."""
        began_s = time.time()
        try:
            watts = self._meters[host].watts()
            self._readings[host].append(((began_s + time.time()) / 2, watts))
            self._failed.pop(host, None)
        except ClusterAccessError as error:
            self._failed[host] = (time.time(), error)
        finally:
            self._busy.discard(host)
