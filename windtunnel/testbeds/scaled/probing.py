"""The test bench of a fabric: it runs probes in the hosts and computes the measured rates."""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric import probe as program
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.groups import period_us
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.local import LocalProcess
from windtunnel.results.calibration import WITHIN
from windtunnel.testbeds.scaled.shaped import PAGE_BYTES, Blocks, Flow, Probe, Shaped, Spin, Stage

FLOW_S, DISK_S, SPIN_S = 1.5, 2.0, 1.5
SPIN_PERIODS = 30  # unused time of one period can be used later: an error of 3 %
LONGER = 3  # factor of the time of repeated measurements, which reduces the effect of pauses
AGAIN = 4  # maximum number of repetitions; two of five values can be wrong by other work
MOST_BYTES = 256 << 20  # maximum of the first probe, for fast disks
UNLIMITED_BYTES, UNLIMITED_S = 96 << 20, 0.5
_NEAR = 0.7 * WITHIN  # a deviation from here on is measured again
_WARMUP_S = 0.3
_LEAST_BYTES, _LEAST_OPERATIONS = 2 << 20, 8
_BLOCKS_AT_LEAST = 16
_START_S, _START_EACH_S = 0.3, 0.06  # time to start all probes of a batch, on two cores
_PATIENCE_S = 90.0
_FIRST_PORT = 7000
_UNIT = {"1/s": PAGE_BYTES}  # bytes of a probe per unit; 1 for other units


@dataclass(frozen=True)
class Outcome:
    """Bytes, operations or CPU seconds, with the start and end of their measurement."""

    amount: float
    began: float
    ended: float


class Bench:
    """Measures resources of an existing fabric.

    ``plan`` contains the current limits of NICs, uplinks and disks, and the CPU quotas, which are
    set only while CPUs are measured.
    """

    def __init__(self, fabric: Fabric, plan: FabricPlan) -> None:
        self.plan = plan
        self._fabric = fabric
        self._names = (f"probe-{number}" for number in itertools.count())
        self._ports = itertools.count(_FIRST_PORT)
        self._free_cpus()

    def change(self, plan: FabricPlan) -> None:
        """Change the limits of NICs, uplinks, disks and controllers that differ in another plan."""
        racks = {rack.name: rack for rack in self.plan.racks}
        hosts = {host.name: host for host in self.plan.hosts}
        for rack in plan.racks:
            if rack != racks[rack.name]:
                self._fabric.set_uplink_rate(rack.name, rack.uplink_bytes_s)
        for host in plan.hosts:
            was = hosts[host.name]
            if host.nic_bytes_s != was.nic_bytes_s:
                self._fabric.set_nic_rate(host.name, host.nic_bytes_s)
            if host.controller_bytes_s != was.controller_bytes_s:
                self._fabric.set_controller_rate(host.name, host.controller_bytes_s)
            disks = {disk.name: disk for disk in was.disks}
            for disk in host.disks:
                if disk != disks.get(disk.name):
                    self._fabric.set_disk(host.name, disk.name, disk)
        racks |= {rack.name: rack for rack in plan.racks}
        hosts |= {host.name: host for host in plan.hosts}
        self.plan = FabricPlan(tuple(hosts.values()), tuple(racks.values()), plan.file_system)

    def measure(self, stage: Stage, batch: Sequence[Shaped]) -> dict[Shaped, list[float]]:
        """The measured rates of a batch; those with large deviations are measured again, longer."""
        found = {part: [got] for part, got in self._run(stage, batch, 1).items()}
        for _ in range(AGAIN):
            doubtful = {part.group for part, got in found.items() if _doubtful(part, got)}
            again = [part for part in batch if part.group in doubtful]
            if not again:
                break
            for part, got in self._run(stage, again, LONGER).items():
                found[part].append(got)
        return found

    def _run(self, stage: Stage, batch: Sequence[Shaped], longer: float) -> dict[Shaped, float]:
        """Measure a batch once: all its probes start at the same time."""
        rates: dict[Probe, float | None] = {}
        for part in sorted(batch, key=lambda part: len(part.probes)):
            shares = part.shares or [part.set] * len(part.probes)
            for probe, rate in zip(part.probes, shares, strict=True):
                rates.setdefault(probe, rate)
        probes = list(rates)
        if stage == "write buffered":
            os.sync()  # the kernel slows down all writers while it flushes other data
        if stage == "read cold":
            self._cool(probes, rates, longer)
        quotas_s = self._quotas_s() if stage == "CPU" else 0.0
        at = time.monotonic() + _START_S + _START_EACH_S * len(probes) + quotas_s
        runs = {probe: self._start(probe, rates.get(probe), at, longer) for probe in probes}
        if stage == "CPU":
            time.sleep(max(0.0, at - time.monotonic() - _START_S / 2 - quotas_s))
            self._limit_cpus()
        try:
            outcomes = {probe: _outcome(process) for probe, process in runs.items()}
        finally:
            if stage == "CPU":
                self._free_cpus()
        got = {part: together([outcomes[probe] for probe in part.probes]) for part in batch}
        return {part: rate / _UNIT.get(part.unit, 1) for part, rate in got.items()}

    def _start(self, probe: Probe, rate: float | None, at: float, longer: float) -> LocalProcess:
        if isinstance(probe, Spin):
            seconds = UNLIMITED_S if rate is None else spin_s(rate, longer)
            return self._spawn(probe.end, "spin", seconds, probe.processes, at)
        if isinstance(probe, Flow):
            port, seconds = next(self._ports), UNLIMITED_S if rate is None else FLOW_S * longer
            server = self._spawn(probe.target, "serve", port, _WARMUP_S, seconds)
            address = self._fabric.hosts[probe.target].address
            self._spawn(probe.source, "send", address, port, seconds + 2 * _WARMUP_S, at)
            return server
        size, block = self._size(probe, rate, longer)
        if probe.how == "read cold":
            how = "direct" if probe.operations else "buffered"
            return self._spawn(probe.end, "read", self._file(probe), how, block, size, at)
        how = probe.how.split()[1]
        return self._spawn(probe.end, "write", self._file(probe), size, how, block, at)

    def _size(self, probe: Blocks, rate: float | None, longer: float) -> tuple[int, int]:
        """The bytes of a probe, and the size of a block."""
        seconds = DISK_S * longer
        if probe.operations:
            return max(_LEAST_OPERATIONS, round((rate or 0) * seconds)) * PAGE_BYTES, PAGE_BYTES
        size = probe_bytes(rate, longer)
        block = 1 << min(20, int(math.log2(size / _BLOCKS_AT_LEAST)))
        return size // block * block, block

    def _file(self, probe: Blocks) -> Path:
        return self._fabric.hosts[probe.end].disks[probe.disk] / "probe"

    def _cool(
        self, probes: Iterable[Probe], rates: Mapping[Probe, float | None], longer: float
    ) -> None:
        """Ensure that the files to read are long enough and not cached."""
        writers = []
        for probe in probes:
            assert isinstance(probe, Blocks)
            file, (size, block) = self._file(probe), self._size(probe, rates.get(probe), longer)
            if not file.is_file() or file.stat().st_size < size:
                writers.append(self._spawn(probe.end, "write", file, size, "direct", block))
        for writer in writers:
            _outcome(writer)
        for name in {probe.end for probe in probes if isinstance(probe, Blocks)}:
            if not self._fabric.hosts[name].drop_caches():
                raise DeploymentError(f"the page cache of {name} cannot be emptied")

    def _spawn(self, end: str, *words: object) -> LocalProcess:
        host, name = self._fabric.hosts[end], next(self._names)
        argv = [sys.executable, "-I", str(program.__file__), *map(str, words)]
        return host.spawn(ProcessSpec(name, argv, host.logs / f"{name}.log", host.root))

    def _quotas_s(self) -> float:
        """Time to set all quotas: up to two periods for hosts with the same one, one after another.

        The first of them waits for its period, the others for theirs, which start in turn.
        """
        kinds = itertools.groupby(host.cpu_cores for host in self.plan.hosts)
        return sum(2 * period_us(cores) / 1e6 for cores, _ in kinds if cores is not None)

    def _limit_cpus(self) -> None:
        for host in self.plan.hosts:
            self._fabric.set_cpu(host.name, host.cpu_cores)

    def _free_cpus(self) -> None:
        for host in self.plan.hosts:
            self._fabric.set_cpu(host.name, None)
            for guest in host.guests:
                self._fabric.set_guest_cpu(guest.name, None)


def probe_bytes(rate_bytes_s: float | None, longer: float = 1) -> int:
    """The bytes that a probe moves on a disk with this rate."""
    if rate_bytes_s is None:
        return UNLIMITED_BYTES
    most = min(rate_bytes_s * DISK_S, MOST_BYTES) * longer
    return max(_LEAST_BYTES, int(most))


def spin_s(cores: float, longer: float = 1) -> float:
    """The time for which a probe uses CPU under a quota: at least 30 of its periods."""
    return max(SPIN_S * longer, SPIN_PERIODS * period_us(cores) / 1e6)


def together(outcomes: Sequence[Outcome]) -> float:
    """The joint rate of several probes, from the first start to the last end."""
    taken_s = max(one.ended for one in outcomes) - min(one.began for one in outcomes)
    return sum(one.amount for one in outcomes) / taken_s if taken_s > 0 else 0.0


def _doubtful(part: Shaped, got: Sequence[float]) -> bool:
    return part.set is not None and abs(median(got) / part.set - 1) >= _NEAR


def _outcome(process: LocalProcess) -> Outcome:
    """The result that a probe prints. Raises DeploymentError."""
    code = process.wait(_PATIENCE_S)
    said = process.log.read_text(errors="replace") if process.log.exists() else ""
    try:
        words = json.loads(said.splitlines()[-1])
        return Outcome(words["amount"], words["began"], words["ended"])
    except (LookupError, ValueError, TypeError):
        end = "printed no result" if code is None else f"ended with code {code}"
        raise DeploymentError(
            f"a probe of the calibration {end}",
            remedy="run the same command again when the machine has less other load.",
            tail="\n".join(said.splitlines()[-5:]),
        ) from None
