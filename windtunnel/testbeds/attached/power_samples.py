"""Samples of the power of the hosts of an existing cluster, from their management controllers."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from windtunnel.cluster.quantity import format_duration
from windtunnel.errors import ClusterAccessError, UsageError, WindtunnelError
from windtunnel.hosts.ipmi import Ipmi
from windtunnel.inspection.monitored import counted
from windtunnel.probes.readings import POWER
from windtunnel.results.sample import Recording, Sample
from windtunnel.testbeds.attached.clocks import last_wait
from windtunnel.testbeds.attached.host_samples import power_problem
from windtunnel.testbeds.attached.source_options import PowerOptions

if TYPE_CHECKING:  # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest import RestClient

_AT_A_TIME = 128
_FAILURES = 3  # in succession; then a meter is read less often
_AGAIN_S = 30.0  # until such a meter is read again
_GAP = 2.5  # intervals without a reading that energy does not bridge (analysis/cost/power_curve.py)
_START_S = 60.0
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
    options: PowerOptions,
    hosts: Mapping[str, bool],
    names: Mapping[str, str],
    client: Callable[..., RestClient],
) -> PowerSamples:
    """The samples of each host with an address.

    Parameters
    ----------
    names:
        Name of a host or controller -> its address, for names that this machine cannot resolve.
    client:
        Makes a client for Redfish from attributes of ``hosts.rest.Access``.

    Raises
    ------
    UsageError
        If two hosts have the same controller, or a file cannot be read.
    """
    addresses = {host: address for host in hosts if (address := options.address_of(host))}
    _check_addresses(options, hosts, addresses)
    # httpx is slow to import, and 'plan' needs none
    from windtunnel.hosts.rest import Access
    from windtunnel.hosts.rest.redfish import Redfish

    given: dict[str, Any] = {}
    if options.user is not None and options.password_file is not None:
        given = {"user": options.user, "password_file": Path(options.password_file).expanduser()}
        access = Access(**given)
        access.check()
        access.password()
    if options.protocol == "ipmi":
        by_ipmi = {
            host: Ipmi(
                address,
                given["user"],
                given["password_file"],
                options.sensor,
                options.cipher,
                names,
            )
            for host, address in addresses.items()
        }
        return PowerSamples(options, hosts, by_ipmi)
    if options.ca_file:
        given["ca_file"] = Path(options.ca_file).expanduser()
    shared = client(**given)
    by_redfish = {host: Redfish(shared, one, options.chassis) for host, one in addresses.items()}
    return PowerSamples(options, hosts, by_redfish, shared.close)


def _check_addresses(
    options: PowerOptions, hosts: Mapping[str, bool], addresses: Mapping[str, str]
) -> None:
    """Raise UsageError if an address is of no host, or of two, whose power would count twice."""
    known = {*hosts, *(host.partition(".")[0] for host in hosts)}
    if unknown := sorted(set(options.addresses) - known):
        raise UsageError(
            f"'addresses' of 'power': the cluster has no host {', '.join(unknown)}",
            remedy=f"correct the names; the cluster has {counted(sorted(hosts))}.",
        )
    owners: dict[str, str] = {}
    for host, address in addresses.items():
        if address in owners:
            raise UsageError(
                f"'power': {owners[address]} and {host} have the same controller, {address}",
                remedy="write the address of each host in 'addresses'.",
            )
        owners[address] = host


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
        # host -> failures in succession, time and error of the last one
        self._failed: dict[str, tuple[int, float, WindtunnelError]] = {}
        self._busy: set[str] = set()
        self._closed = threading.Event()
        at_a_time = max(1, min(_AT_A_TIME, len(meters)))
        self._pool = ThreadPoolExecutor(at_a_time, thread_name_prefix="power")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read all meters, at multiples of the interval.

        It waits for the first reading, or failure, of each.
        """
        self._thread = threading.Thread(target=self._follow, name="power", daemon=True)
        self._thread.start()
        until_s = time.monotonic() + _START_S
        while time.monotonic() < until_s and any(
            not readings and host not in self._failed for host, readings in self._readings.items()
        ):
            time.sleep(_STEP_S)

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
        SetupError
            If a program is missing.
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
        errors = [error for _, _, error in self._failed.values()]
        if len(errors) == len(self._meters):
            first = errors[0]
            if not isinstance(first, ClusterAccessError):
                raise first
            raise ClusterAccessError(
                f"power: no meter can be read: {first.message}",
                remedy=first.remedy,
                reason=first.reason,
            )
        notes = []
        if without:
            notes.append(f"power: there is no address of a controller for {counted(without)}")
        if errors:
            # without the message: it has the address of the controller, and notes are published
            why = ", ".join(dict.fromkeys(_reason(error) for error in errors))
            notes.append(f"power: no reading of {counted(list(self._failed))} ({why})")
        return notes

    def source(self) -> dict[str, Any]:
        """The source of the samples and their interval, for the provenance."""
        return {"power": {"source": self._protocol, "interval_s": round(self._interval_s, 1)}}

    def facts(self) -> dict[str, dict[str, Any]]:
        """None: meters have no facts of hosts."""
        return {}

    def record(self, since_s: float, until_s: float) -> Recording:
        """The samples between two times, with one reading before and one after them.

        It waits for the reading after the end, for at most two intervals. Hosts with a gap have no
        samples: the energy of a phase would be that of other hosts than in the others.
        """
        if problem := power_problem(since_s, until_s, self._interval_s):
            return Recording([], None, [problem])
        limit_s = last_wait(until_s, self._interval_s)
        while time.monotonic() <= limit_s and any(
            self._failures(host) < _FAILURES and not (readings and readings[-1][0] >= until_s)
            for host, readings in self._readings.items()
        ):
            time.sleep(_STEP_S)
        rows: list[Sample] = []
        without = [host for host in self._hosts if host not in self._meters]
        for host, readings in self._readings.items():
            known = _covering(list(readings), since_s, until_s, _GAP * self._interval_s)
            rows += [Sample(t, host, *POWER.reading(watts)) for t, watts in known]
            if not known:
                without.append(host)
            while readings and readings[0][0] < since_s - _GAP * self._interval_s:
                readings.popleft()
        covered = len({row.host for row in rows})
        if not covered:
            return Recording([], None, [f"power is not recorded: {self._missing(without)}"])
        source = f"metered: {self._protocol}, {covered} hosts"
        if not without:
            return Recording(rows, source, [])
        source += f", without {counted(sorted(without))}"
        return Recording(rows, source, [f"power: {self._missing(without)}"])

    def _missing(self, hosts: Sequence[str]) -> str:
        """The hosts without power, and why."""
        failed = dict(self._failed)  # threads change it
        known = [failed[host][2] for host in hosts if host in failed]
        reasons = dict.fromkeys(_reason(error) for error in known)
        why = f" ({', '.join(reasons)})" if reasons else ""
        return f"readings are missing of {counted(sorted(hosts))}{why}"

    def _follow(self) -> None:
        while True:
            now = time.time()
            for host in self._meters:
                _, failed_at, _ = self._failed.get(host, (0, 0.0, None))
                rested = self._failures(host) < _FAILURES or now - failed_at >= _AGAIN_S
                if host not in self._busy and rested:
                    self._busy.add(host)
                    self._pool.submit(self._read, host)
            if self._closed.wait(self._interval_s - time.time() % self._interval_s):
                return

    def _failures(self, host: str) -> int:
        """How often a meter failed in succession."""
        return self._failed.get(host, (0, 0.0, None))[0]

    def _read(self, host: str) -> None:
        """Read a meter. The time of the reading is that of the answer, of this machine.

        A controller can search its sensors before it reads one, so the answer is nearer to the
        reading than the request.
        """
        try:
            watts = self._meters[host].watts()
            self._readings[host].append((time.time(), watts))
            self._failed.pop(host, None)
        except (WindtunnelError, OSError) as error:
            failed = (self._failures(host) + 1, time.time(), _as_access_error(error))
            self._failed[host] = failed
        finally:
            self._busy.discard(host)


def _as_access_error(error: WindtunnelError | OSError) -> WindtunnelError:
    if isinstance(error, WindtunnelError):
        return error
    return ClusterAccessError(
        f"power: {error.strerror or error}",
        remedy="check the limits of this account for open files and processes "
        "('ulimit -n', 'ulimit -u').",
        reason="system error",
    )


def _reason(error: WindtunnelError) -> str:
    return error.reason if isinstance(error, ClusterAccessError) else "not installed"


def _covering(
    readings: Sequence[tuple[float, float]], since_s: float, until_s: float, gap_s: float
) -> Sequence[tuple[float, float]]:
    """The readings from one before a time to one after another; none if there is a gap."""
    first = max((t for t, _ in readings if t <= since_s), default=math.inf)
    last = min((t for t, _ in readings if t >= until_s), default=-math.inf)
    known = [(t, watts) for t, watts in readings if first <= t <= last]
    apart = [later - earlier for (earlier, _), (later, _) in pairwise(known)]
    return known if apart and max(apart) <= gap_s else []
