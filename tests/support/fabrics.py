"""Small fabrics for tests: a register of their own, hosts with and without limits."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from windtunnel.hosts.base import ProcessSpec
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan, RackPlan
from windtunnel.hosts.fabric.state import differences, machine_state
from windtunnel.hosts.isolation.policy import confined, isolation
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient

MB = 1_000_000
_DEPLOYMENT = re.compile(r"wt-[0-9a-f]{8}")
_OF_LOOPS = ("loops", "bdi", "blkio rules")


def six_workers() -> FabricPlan:
    """Six workers and a master with four disks each, in two racks."""
    disks = tuple(DiskPlan(f"d{number}", 1 << 30, 20 * MB, 20 * MB) for number in range(4))
    names = ["master", *(f"worker-{number}" for number in range(1, 7))]
    hosts = tuple(
        HostPlan(
            name,
            f"rack-{place % 2 + 1}",
            cpu_cores=0.5,
            memory_bytes=1 << 30,
            disks=disks,
            nic_bytes_s=12.5 * MB,
        )
        for place, name in enumerate(names)
    )
    return FabricPlan(hosts, (RackPlan("rack-1", 50.0 * MB), RackPlan("rack-2", 50.0 * MB)))


@contextlib.contextmanager
def standing(
    plan: FabricPlan, logs: Path, notify: Callable[[str], object] = str
) -> Iterator[Fabric]:
    """A fabric that stands for a while and is undone; ``notify`` receives the deployment's id."""
    registration = Registration.create("scaled")
    notify(registration.id)
    logs.mkdir(parents=True, exist_ok=True)
    isolated = confined(isolation([logs]), registration.id, registration.folder, logs, [])
    log = logs / "supervisor.log"
    supervisor = SupervisorClient(registration.id, [registration.scratch], log, isolated)
    fabric = Fabric(registration, supervisor, logs)
    try:
        fabric.build(plan)
        yield fabric
    finally:
        supervisor.close()
        fabric.close()
        registration.forget()


def lasting(before: Mapping[str, list[str]], ours: str) -> list[str]:
    """Differences that last and are of this deployment, or none.

    Everything of a deployment has its name, except loop devices that have lost their file. Other
    programs and deployments may come and go meanwhile, but no others with loop devices.
    """
    found = ["unknown"]
    for _ in range(20):
        every = differences(before, machine_state())
        named = {line: set(_DEPLOYMENT.findall(line)) for line in every}
        found = [
            line
            for line, names in named.items()
            if names == {ours} or (not names and line.startswith(_OF_LOOPS))
        ]
        if not found:
            break
        time.sleep(0.5)
    return found


if __name__ == "__main__":  # a program to be killed: says its id, builds, says so, waits
    with standing(six_workers(), Path(sys.argv[1]), lambda name: print(name, flush=True)) as built:
        for host in built.hosts.values():  # a busy disk, and a child that has left its session
            file = host.disks["d0"] / "file"
            work = f"setsid sleep 600 & exec dd if=/dev/zero of={file} bs=1M count=64"
            argv = ["/bin/sh", "-c", work]
            host.spawn(ProcessSpec(f"{host.name}-work", argv, host.logs / "work", host.root))
        print("standing", flush=True)
        sys.stdin.read()
