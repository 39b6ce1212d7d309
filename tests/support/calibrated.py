"""Made-up calibrations, and a fabric plan with every kind of shaped part."""

from __future__ import annotations

from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, GuestPlan, HostPlan, RackPlan
from windtunnel.results.calibration import CalibrationRecord, CalibrationResource

MB = 1e6

PLAN = FabricPlan(
    hosts=(
        HostPlan("master", "r1", nic_bytes_s=12.5 * MB),
        HostPlan(
            "worker",
            "r1",
            cpu_cores=0.5,
            memory_bytes=1 << 30,
            disks=(
                DiskPlan("d1", 1 << 30, 20 * MB, 10 * MB, write_iops=50),
                DiskPlan("d2", 1 << 30, 20 * MB, 10 * MB),
            ),
            nic_bytes_s=12.5 * MB,
        ),
        HostPlan(
            "big",
            "r2",
            cpu_cores=1.0,
            disks=(DiskPlan("d1", 1 << 30, 10 * MB, 10 * MB), DiskPlan("d2", 1 << 30)),
            controller_bytes_s=25 * MB,
            nic_bytes_s=25 * MB,
            guests=(GuestPlan("vm-1", cpu_cores=0.75, disks=("d1",)), GuestPlan("vm-2")),
        ),
    ),
    racks=(RackPlan("r1", 50 * MB), RackPlan("r2", 6 * MB)),
)


def resource(
    name: str = "worker out",
    set_: float | None = 12.5 * MB,
    *got: float,
    kind: str = "NIC",
    unit: str = "bytes/s",
) -> CalibrationResource:
    """A resource; left out, it gives what it is set to."""
    return CalibrationResource.of(kind, name, set_, unit, got or (set_ or 1.0,))


def record(*resources: CalibrationResource, boot: str = "here") -> CalibrationRecord:
    """A calibration; left out, of one NIC that is as set."""
    return CalibrationRecord(
        measured_at=1.7e9,
        took_s=21.4,
        boot=boot,
        kernel="6.1",
        windtunnel="0",
        resources=list(resources or (resource(),)),
        notes=["all disks at once are too much"],
    )
