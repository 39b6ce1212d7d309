"""The fabric on this machine's kernel: what is set against what is got, and no traces.

Needs root on Linux; elsewhere all are skipped, with what is missing as the reason. Tests that
measure rates run with nothing beside them.
"""

from __future__ import annotations

import itertools
import json
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from pyroute2 import NetNS

from tests.real.conftest import wait_for
from tests.support.fabrics import MB, lasting, six_workers, standing
from windtunnel.engines.sockets import connect
from windtunnel.errors import NotRealisableError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric import probe
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, GuestPlan, HostPlan, RackPlan
from windtunnel.hosts.fabric.state import capabilities, machine_state
from windtunnel.hosts.local import LocalProcess
from windtunnel.testbeds.scaled.live_limits import shape, unlimited

MISSING = [lack.what for lack in capabilities() if lack.fatal]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")

MBIT = 1e6 / 8
WITHIN = 0.10
NAMES = (f"probe-{number}" for number in itertools.count())
PORTS = itertools.count(7000)
TABLE: list[str] = []

PLAN = FabricPlan(
    hosts=(
        HostPlan("a", "r1", disks=(DiskPlan("d0", 512 << 20), DiskPlan("d1", 512 << 20))),
        HostPlan("b", "r1", mtu=9000),
        HostPlan("c", "r2"),
        HostPlan(
            "v",
            "r1",
            disks=(DiskPlan("d0", 256 << 20),),
            guests=(GuestPlan("v1", cpu_cores=1.5), GuestPlan("v2", cpu_cores=0.4)),
        ),
        HostPlan(
            "k",
            "r2",
            disks=(DiskPlan("d0", 256 << 20), DiskPlan("d1", 256 << 20)),
            controller_bytes_s=20 * MB,
        ),
    ),
    racks=(RackPlan("r1"), RackPlan("r2")),
)


@pytest.fixture(scope="module")
def before(state: Path) -> Mapping[str, list[str]]:
    return machine_state()


@pytest.fixture(scope="module")
def fabric(
    before: Mapping[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fabric]:
    names: list[str] = []
    with standing(PLAN, tmp_path_factory.mktemp("logs"), names.append) as built:
        yield built
    print("\nwhat                        set      got unit    got/set", *TABLE, sep="\n")
    assert lasting(before, names[0]) == []


def start(fabric: Fabric, host: str, *words: object) -> LocalProcess:
    virtual, name = fabric.hosts[host], next(NAMES)
    argv = [sys.executable, "-I", probe.__file__, *map(str, words)]
    return virtual.spawn(ProcessSpec(name, argv, virtual.logs / name, virtual.root))


def result(process: LocalProcess) -> dict[str, float]:
    assert process.wait(60) == 0, process.log.read_text()
    answer: dict[str, float] = json.loads(process.log.read_text().splitlines()[-1])
    return answer


def transfer(fabric: Fabric, source: str, target: str, seconds: float = 2.5) -> float:
    """Bytes/s from one host to another; 0 if it cannot be reached."""
    port = next(PORTS)
    server = start(fabric, target, "serve", port)
    sender = start(fabric, source, "send", fabric.hosts[target].address, port, seconds)
    if not result(sender)["reached"]:
        server.kill()
        return 0.0
    return result(server)["rate"]


def compare(what: str, wanted: float, got: float, unit: str, scale: float) -> None:
    row = f"{what:22} {wanted / scale:8.2f} {got / scale:8.2f} {unit:7} {got / wanted:6.3f}"
    TABLE.append(row)
    assert wanted * (1 - WITHIN) <= got <= wanted * (1 + WITHIN), row


@pytest.mark.alone
def test_an_uplink_does_not_bind_within_its_rack(fabric: Fabric) -> None:
    fabric.set_uplink_rate("r1", 50 * MBIT)
    assert transfer(fabric, "a", "b", 0.5) > 2 * 50 * MBIT
    fabric.set_uplink_rate("r1", None)


@pytest.mark.parametrize("name", ["b", "r1"])
def test_a_cable_is_cut_and_mended(fabric: Fabric, name: str) -> None:
    source = "c"
    assert transfer(fabric, source, "b", 0.2) > 0
    fabric.cut(name)
    assert transfer(fabric, source, "b", 0.2) == 0
    fabric.mend(name)
    assert transfer(fabric, source, "b", 0.2) > 0


@pytest.mark.alone
def test_guests_share_the_wire_and_talk_without_it(fabric: Fabric) -> None:
    fabric.set_nic_rate("v", 100 * MBIT)
    assert transfer(fabric, "v1", "v2", 0.5) > 3 * 100 * MBIT
    ports = {name: next(PORTS) for name in ("v1", "v2")}
    servers = [start(fabric, "a", "serve", port) for port in ports.values()]
    address = fabric.hosts["a"].address
    for name, port in ports.items():
        start(fabric, name, "send", address, port, 3)
    total = sum(result(server)["rate"] for server in servers)
    compare("NIC of two guests", 100 * MBIT, total, "Mbit/s", MBIT)
    fabric.set_nic_rate("v", None)
    sent = {name: fabric.hosts[name].counters().sent_bytes for name in ports}
    assert min(sent.values()) > 3 * MB


@pytest.mark.alone
def test_a_cold_read_comes_from_the_disk_and_a_second_one_does_not(fabric: Fabric) -> None:
    host, rate = fabric.hosts["a"], 50
    file = host.disks["d0"] / "file"
    fabric.set_disk("a", "d0", DiskPlan("", 0))
    result(start(fabric, "a", "write", file, int(rate * MB * 3), "buffered"))
    assert host.drop_caches()
    fabric.set_disk("a", "d0", DiskPlan("", 0, rate * MB, rate * MB))
    earlier = host.counters().disks["d0"][0]
    got = result(start(fabric, "a", "read", file))["rate"]
    compare("disk read cold", rate * MB, got, "MB/s", MB)
    assert host.counters().disks["d0"][0] - earlier >= int(rate * MB * 3) // (1 << 20) << 20
    warm = result(start(fabric, "a", "read", file))["rate"]
    assert warm > 3 * rate * MB, "a second read comes from the page cache"


@pytest.mark.alone
def test_disks_of_a_host_are_slow_one_by_one(fabric: Fabric) -> None:
    """A limping disk does not slow its neighbour."""
    fabric.set_disk("a", "d0", DiskPlan("", 0, 50.0 * MB, 50.0 * MB))
    fabric.set_disk("a", "d1", DiskPlan("", 0, 50.0 * MB, 50.0 * MB))
    before = fabric.slow_disk("a", "d0", 0.1)
    files = [fabric.hosts["a"].disks[disk] / "file" for disk in ("d0", "d1")]
    both = [start(fabric, "a", "write", file, 15 * MB, "direct") for file in files]
    limping, sound = (result(process)["rate"] for process in both)
    compare("limping disk", 5 * MB, limping, "MB/s", MB)
    assert sound > 5 * limping
    fabric.set_disk("a", "d0", before)


@pytest.mark.alone
@pytest.mark.skipif(
    any("mkfs" in lack.what for lack in capabilities("xfs")),
    reason="disks with xfs need mkfs.xfs: install xfsprogs",
)
def test_disks_with_xfs_give_what_they_are_set_to(state: Path, tmp_path: Path) -> None:
    """Written buffered and direct, read cold; two disks of one host are copies of one image."""
    before, names = machine_state(), list[str]()
    disks = tuple(DiskPlan(name, 384 << 20, 50.0 * MB, 50.0 * MB) for name in ("d0", "d1"))
    plan = FabricPlan((HostPlan("x", "r1", disks=disks),), (RackPlan("r1"),), "xfs")
    with standing(plan, tmp_path, names.append) as built:
        host = built.hosts["x"]
        mounts = Path("/proc/self/mounts").read_text()
        assert all(f"{mount} xfs " in mounts for mount in host.disks.values())
        for disk, how in (("d0", "buffered"), ("d1", "direct")):
            write = ("write", host.disks[disk] / "file", 150 * MB, how)
            built.set_disk("x", disk, DiskPlan("", 0))
            result(start(built, "x", *write))  # the image grows, at the speed of the machine's disk
            built.set_disk("x", disk, DiskPlan("", 0, 50.0 * MB, 50.0 * MB))
            rate = result(start(built, "x", *write))["rate"]
            compare(f"xfs write {how}", 50 * MB, rate, "MB/s", MB)
        assert host.drop_caches()
        cold = result(start(built, "x", "read", host.disks["d0"] / "file"))["rate"]
        compare("xfs read cold", 50 * MB, cold, "MB/s", MB)
    assert lasting(before, names[0]) == []


def test_a_controller_cannot_come_later(fabric: Fabric) -> None:
    with pytest.raises(NotRealisableError, match="without a controller"):
        fabric.set_controller_rate("a", MB)


def spin(fabric: Fabric, *hosts: str, wanted: float) -> float:
    """Cores' worth that busy loops in hosts get together; skips if the machine has no more."""
    for _ in range(3):
        psutil.cpu_percent()
        together = [start(fabric, host, "spin", 2.5) for host in hosts]
        got = sum(result(process)["cores"] for process in together)
        busy = psutil.cpu_percent()
        if got > wanted * (1 - WITHIN):
            return got
    if busy > 95:
        pytest.skip(f"the machine is {busy:.0f} % busy: {got:.2f} of {wanted} cores were to be had")
    return got


@pytest.mark.alone
def test_a_quota_holds_a_host_back(fabric: Fabric) -> None:
    cores = 0.25
    fabric.set_cpu("c", cores)
    earlier = fabric.hosts["c"].counters()
    compare("CPU quota", cores, spin(fabric, "c", wanted=cores), "cores", 1)
    now = fabric.hosts["c"].counters()
    assert now.throttled_s > earlier.throttled_s
    assert now.cpu_s - earlier.cpu_s > 2.5 * cores * 0.8
    for factor in (0.5, 1.6):  # in force at once, for guests as well
        fabric.scale_cpu(factor)
        got = spin(fabric, "c", wanted=cores * factor)
        compare(f"CPU quota times {factor}", cores * factor, got, "cores", 1)
    fabric.set_cpu("c", None)
    fabric.scale_cpu(1.0)
    for quota in (2.0, None):  # of a host with a guest of more than one core
        fabric.set_cpu("v", quota)


def test_the_memory_limit_bounds_the_page_cache(fabric: Fabric) -> None:
    host, limit = fabric.hosts["a"], 48 << 20
    file = host.disks["d1"] / "file"
    fabric.set_disk("a", "d1", DiskPlan("", 0))
    fabric.set_memory("a", limit)
    result(start(fabric, "a", "write", file, 128 << 20, "buffered"))
    result(start(fabric, "a", "read", file))
    counters = host.counters()
    assert limit / 2 < counters.cached_bytes <= counters.memory_bytes <= limit
    fabric.set_memory("a", None)
    result(start(fabric, "a", "read", file))
    assert host.counters().cached_bytes > 100 << 20
    assert host.drop_caches()
    assert host.counters().cached_bytes < 4 << 20


def test_a_process_lives_in_its_host_and_dies_alone(fabric: Fabric) -> None:
    host = fabric.hosts["b"]
    script = "hostname; cat /etc/hosts; cat /sys/class/net/eth0/mtu 2>/dev/null; exec sleep 60"
    process = host.spawn(
        ProcessSpec("shell", ["/bin/sh", "-c", script], host.logs / "x", host.root)
    )
    wait_for(lambda: "v2" in host.logs.joinpath("x").read_text(), "the shell's words", 20)
    lines = host.logs.joinpath("x").read_text().splitlines()
    assert lines[0] == "b"
    assert f"{fabric.hosts['v2'].address} v2" in lines
    assert socket.gethostname() != "b"
    process.kill()
    assert process.wait(10) == -signal.SIGKILL


def test_the_program_reaches_its_hosts(fabric: Fabric) -> None:
    for name in ("a", "c", "v2"):
        port = next(PORTS)
        server = start(fabric, name, "serve", port)
        began = time.monotonic()
        while True:
            try:
                host = fabric.hosts[name]
                peer = connect(host.open_socket, host.address, port, 2)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < began + 20
                time.sleep(0.05)
        with peer:
            peer.sendall(bytes(1000))
            time.sleep(0.1)
            peer.sendall(bytes(1000))
        assert result(server)["rate"] > 0


def test_limits_are_the_same_after_they_were_lifted(state: Path, tmp_path: Path) -> None:
    plan = six_workers()
    free = unlimited(plan)

    def limits(fabric: Fabric) -> dict[str, list[str]]:
        """Disks by what this machine lists, NICs and CPUs of each host.

        Bytes that may be dirty are kept as a share of memory that was free when they were set.
        """
        found = {"blkio rules": machine_state()["blkio rules"]}
        found["bdi"] = [line for line in machine_state()["bdi"] if "max_ratio_fine" not in line]
        files = [
            folder / name
            for host in fabric.hosts.values()
            for folder in host._group.folders()
            for name in ("cpu.cfs_quota_us", "cpu.max")
        ]
        found["CPU"] = [file.read_text() for file in files if file.exists()]
        found["NIC"] = []
        for host in fabric.hosts:
            with NetNS(str(fabric._network.namespace(host))) as inside:
                found["NIC"] += [
                    str(queue.get_attr("TCA_OPTIONS")) for queue in inside.get_qdiscs()
                ]
        return found

    with standing(plan, tmp_path) as fabric:
        before = limits(fabric)
        assert shape(fabric, plan, free)
        lifted = limits(fabric)
        assert shape(fabric, free, plan)
        after = limits(fabric)
    assert all(lifted[kind] != before[kind] for kind in before), lifted
    assert after == before
