"""Change a running model into another: only what differs, while the cluster runs.

What can be changed is shaped live (NICs, uplinks, disks, CPU, memory), taken out of service
and back (workers), or read anew by the daemons that read it (settings, disks). Everything
else is refused with DeploymentError: the runner then deploys anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from windtunnel.cluster import Cluster, format_bytes, format_rate
from windtunnel.engines.hadoop.layout import Layout
from windtunnel.engines.hadoop.readers import changed, roles_to_restart
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan
from windtunnel.testbeds.base import Tell
from windtunnel.testbeds.scaled.blocks import blocks_of, move_blocks
from windtunnel.testbeds.scaled.deployment import (
    ScaledDeployment,
    disks_by_node,
    host_plans,
)
from windtunnel.testbeds.scaled.fabric import fabric_plan
from windtunnel.testbeds.scaled.model import scaled
from windtunnel.testbeds.scaled.scale import Scale

_READY_LIMIT_S = 120.0
_DELETION_LIMIT_S = 20.0
_WORKER = {"datanode", "nodemanager"}
_MASTERS_FIRST = ("namenode", "resourcemanager", "datanode", "nodemanager", "historyserver")


def reconfigure(deployment: ScaledDeployment, cluster: Cluster, tell: Tell) -> list[str]:
    """Make a running deployment realise ``cluster``; one line for each change.

    Raises
    ------
    DeploymentError
        If the difference needs a new deployment; what was changed by then stays changed.
    """
    if cluster == deployment.cluster:
        return []
    model, plan = scaled(cluster, deployment.scale), fabric_plan(cluster, deployment.scale)
    refused = _refusal(deployment.cluster, deployment.fabric.plan, cluster, plan)
    if refused:
        raise DeploymentError(refused)
    done = [*_shape(deployment, plan)]
    going, coming = _movers(deployment, model)
    if going or coming or _sets(model) != _sets(deployment.model):
        deployment.close_engines()
    deployment.cluster, deployment.model = cluster, model
    if going:
        deployment.membership.take_out(going, model.replication)
        done.append(f"out of service: {_names(going)}")
    done += _settle(deployment, model, plan, [host.name for host in coming], tell)
    if coming:
        deployment.free_cpus()
        deployment.membership.bring_back(coming, _ready(deployment, tell))
        deployment.limit_cpus(plan_with_spares(deployment.shaped, plan))
        done.append(f"back in service: {_names(coming)}")
    deployment.shaped = plan_with_spares(deployment.shaped, plan)
    deployment.note_placement()
    return done or ["nothing that the model realises has changed"]


def covers(larger: Cluster, cluster: Cluster, scale: Scale) -> bool:
    """Whether a model that was built for ``larger`` can be changed into ``cluster`` as it runs."""
    plans = [fabric_plan(one, scale) for one in (larger, cluster)]
    wanted = {node.name: set(node.roles) for node in cluster.nodes()}
    stand = {node.name: set(node.roles) for node in larger.nodes()}
    return not _refusal(larger, plans[0], cluster, plans[1]) and all(
        roles == wanted[name] if name in wanted else roles <= _WORKER
        for name, roles in stand.items()
    )


def _refusal(now: Cluster, built: FabricPlan, cluster: Cluster, plan: FabricPlan) -> str | None:
    """What cannot be changed in a standing fabric; None if all can."""
    old, new = host_plans(built), host_plans(plan)
    if cluster.software != now.software:
        return "other software needs a new deployment"
    if plan.file_system != built.file_system:
        return "another file system needs a new deployment"
    if not new.keys() <= old.keys():
        return "hosts that do not stand need a new deployment"
    if not {rack.name for rack in plan.racks} <= {rack.name for rack in built.racks}:
        return "other racks need a new deployment"
    for name, host in new.items():
        if _fixed(host) != _fixed(old[name]):
            return f"what differs on {name} needs a new deployment"
        sizes = {disk.name: disk.size_bytes for disk in old[name].disks}
        if any(sizes.get(disk.name) != disk.size_bytes for disk in host.disks):
            return f"disks that {name} does not have need a new deployment"
    return None


def _sets(model: Cluster) -> tuple[object, ...]:
    """What engines read of a model when they start."""
    return model.settings, model.storage, model.software


def _fixed(host: HostPlan) -> tuple[object, ...]:
    """What of a host cannot be changed while it stands."""
    guests = tuple((guest.name, guest.cpuset, guest.cpu_cores) for guest in host.guests)
    controlled = host.controller_bytes_s is None
    return host.rack, host.cpuset, host.mtu, host.latency_s, controlled, guests


def _shape(deployment: ScaledDeployment, plan: FabricPlan) -> Iterator[str]:
    """Change the limits of hosts and racks; equal changes of several make one line."""
    fabric, old = deployment.fabric, host_plans(deployment.shaped)
    lines: dict[str, list[str]] = {}

    def note(what: str, name: str) -> None:
        lines.setdefault(what, []).append(name)

    for host in plan.hosts:
        was = old[host.name]
        if host.nic_bytes_s != was.nic_bytes_s:
            fabric.set_nic_rate(host.name, host.nic_bytes_s)
            note(f"NIC {_rate(was.nic_bytes_s)} -> {_rate(host.nic_bytes_s)}", host.name)
        if host.cpu_cores != was.cpu_cores:
            fabric.set_cpu(host.name, host.cpu_cores)
            note(f"CPU {_cores(was.cpu_cores)} -> {_cores(host.cpu_cores)}", host.name)
        for name, before, after in _memories(was, host):
            fabric.set_memory(name, after)
            note(f"memory {_bytes(before)} -> {_bytes(after)}", name)
        if host.controller_bytes_s != was.controller_bytes_s:
            fabric.set_controller_rate(host.name, host.controller_bytes_s)
            limit = _rate(host.controller_bytes_s)
            note(f"controller {_rate(was.controller_bytes_s)} -> {limit}", host.name)
        disks = {disk.name: disk for disk in was.disks}
        for disk in host.disks:
            before_disk = disks.get(disk.name)
            if before_disk != disk:
                fabric.set_disk(host.name, disk.name, disk)
                note(f"disk {_disk(before_disk)} -> {_disk(disk)}", f"{host.name}:{disk.name}")
    uplinks = {rack.name: rack.uplink_bytes_s for rack in deployment.shaped.racks}
    for rack in plan.racks:
        if rack.uplink_bytes_s != uplinks[rack.name]:
            fabric.set_uplink_rate(rack.name, rack.uplink_bytes_s)
            note(f"uplink {_rate(uplinks[rack.name])} -> {_rate(rack.uplink_bytes_s)}", rack.name)
    for what, names in lines.items():
        yield f"{what}: {', '.join(names)}"


def _memories(was: HostPlan, host: HostPlan) -> Iterator[tuple[str, int | None, int | None]]:
    """Limits that differ, in an order in which a guest never has more than its host."""
    pairs = [(host.name, was.memory_bytes, host.memory_bytes)]
    pairs += [
        (new.name, old.memory_bytes, new.memory_bytes)
        for old, new in zip(was.guests, host.guests, strict=True)
    ]
    grows = (host.memory_bytes or float("inf")) >= (was.memory_bytes or float("inf"))
    for name, before, after in pairs if grows else reversed(pairs):
        if before != after:
            yield name, before, after


def _movers(deployment: ScaledDeployment, model: Cluster) -> tuple[list[Host], list[Host]]:
    """Workers that leave, and those that come back."""
    wanted = {node.name: set(node.roles) for node in model.nodes()}
    going, coming = [], []
    for placement in deployment.layout.placements:
        name = placement.host.name
        out = name in deployment.daemons.out
        if name not in wanted and not out:
            if not set(placement.roles) <= _WORKER:
                raise DeploymentError(f"{name} has roles that cannot be taken away")
            going.append(placement.host)
        if name in wanted and out:
            coming.append(placement.host)
        if name in wanted and wanted[name] - {"client"} != set(placement.roles):
            raise DeploymentError(f"other roles of {name} need a new deployment")
    return going, coming


def _settle(
    deployment: ScaledDeployment,
    model: Cluster,
    plan: FabricPlan,
    coming: Sequence[str],
    tell: Tell,
) -> Iterator[str]:
    """Write the settings anew and restart the daemons that read one that differs."""
    old, new = deployment.layout, _new_layout(deployment, model, plan)
    daemons = deployment.daemons
    restart, names = _restarts(old, new)
    out = {*daemons.out, *coming}
    restart = [name for name in restart if name.partition("@")[2] not in out]
    leaving = _leaving_disks(deployment, plan)
    deployment.layout = daemons.layout = new
    if leaving:  # its blocks go to the disks that stay, while nobody writes
        folders = {n: [deployment.virtual[n].disks[d] for d in ds] for n, ds in leaving.items()}
        _wait_deleted(deployment, [disk for disks in folders.values() for disk in disks])
        daemons.stop(f"datanode@{node}" for node in leaving if node not in daemons.out)
        for node, disks in folders.items():
            host = deployment.virtual[node]
            stay = [host.disks[name] for name in disks_by_node(plan)[node]]
            move_blocks(disks, stay)
    daemons.write_settings()
    if restart:
        order = sorted(restart, key=lambda name: _MASTERS_FIRST.index(name.partition("@")[0]))
        deployment.free_cpus()
        _ready(deployment, tell)(daemons.restart_all(order))
        deployment.limit_cpus(plan_with_spares(deployment.shaped, plan))
        yield f"{', '.join(names)}: restarted {', '.join(order)}"
    elif names:
        yield f"{', '.join(names)}: job settings changed"


def _wait_deleted(deployment: ScaledDeployment, disks: Sequence[Path]) -> None:
    """Let DataNodes remove what the last trial wrote: else it is moved, at the disks' slow rate.

    They hear of it with their heartbeats and then remove files by and by: until none is wanted
    away and a second has passed in which none went. After the limit what is left is moved as well.
    """
    limit, before = time.monotonic() + _DELETION_LIMIT_S, -1
    while time.monotonic() < limit:
        pending = deployment.daemons.masters.pending_deletions()
        left = sum(len(blocks_of(disk)) for disk in disks)
        if not left or (not pending and left == before):
            return
        before = left
        time.sleep(1.0)


def _new_layout(deployment: ScaledDeployment, model: Cluster, plan: FabricPlan) -> Layout:
    """The layout of a model, with the workers that are out of service as they were."""
    placements = {p.host.name: p for p in deployment.layout.placements}
    placements |= {p.host.name: p for p in deployment.placements(model, plan)}
    return deployment.layout_of(model, list(placements.values()))


def _restarts(old: Layout, new: Layout) -> tuple[list[str], list[str]]:
    """Daemons that read a property that differs on their host, and all such properties."""
    daemons, names = [], set(changed(old.properties(), new.properties()))
    for placement in new.placements:
        host = placement.host
        differing = changed(old.properties(host), new.properties(host))
        names.update(differing)
        roles = roles_to_restart(differing)
        daemons += [f"{role}@{host.name}" for role in placement.roles if role in roles]
    return daemons, sorted(names)


def _leaving_disks(deployment: ScaledDeployment, plan: FabricPlan) -> dict[str, list[str]]:
    """Disks that DataNodes use now and no longer will, by node."""
    before, after = disks_by_node(deployment.shaped), disks_by_node(plan)
    datanodes = [p.host.name for p in deployment.layout.placements if "datanode" in p.roles]
    found = {
        node: [name for name in before[node] if name not in after[node]]
        for node in datanodes
        if node in after
    }
    return {node: names for node, names in found.items() if names}


def _ready(deployment: ScaledDeployment, tell: Tell) -> Callable[[dict[str, float]], None]:
    return lambda fresh: deployment.daemons.wait_ready(_READY_LIMIT_S, tell, fresh)


def plan_with_spares(old: FabricPlan, new: FabricPlan) -> FabricPlan:
    """The plan of what stands now: hosts that are out of service keep their limits."""
    known = host_plans(new)
    racks = {rack.name: rack for rack in new.racks}
    return replace(
        new,
        hosts=tuple(known.get(host.name, host) for host in old.hosts),
        racks=tuple(racks.get(rack.name, rack) for rack in old.racks),
    )


def _names(hosts: Sequence[Host]) -> str:
    return ", ".join(host.name for host in hosts)


def _rate(bytes_s: float | None) -> str:
    # rates of a model have no round numbers: three digits tell them apart
    return "unlimited" if bytes_s is None else format_rate(float(f"{bytes_s:.3g}"))


def _bytes(size: int | None) -> str:
    return "unlimited" if size is None else format_bytes(size)


def _cores(cores: float | None) -> str:
    return "unlimited" if cores is None else f"{cores:g} cores"


def _disk(disk: DiskPlan | None) -> str:
    if disk is None:
        return "absent"
    return f"{_rate(disk.read_bytes_s)} read, {_rate(disk.write_bytes_s)} write"
