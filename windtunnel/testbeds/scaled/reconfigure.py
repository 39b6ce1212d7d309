"""Changes a running model to another one: only what differs, while the cluster runs.

Limits of NICs, uplinks, disks, CPU and memory are changed live, workers are taken out of service
and back, and daemons that read changed settings or disks are restarted. Other differences raise
DeploymentError, and the runner then starts a new deployment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from windtunnel.cluster import Cluster
from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.engines.hadoop.layout import Layout
from windtunnel.engines.hadoop.readers import changed, roles_to_restart
from windtunnel.engines.storage_systems import needs_new_storage
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan
from windtunnel.testbeds.base import Notify
from windtunnel.testbeds.scaled.block_moves import blocks_of, move_blocks
from windtunnel.testbeds.scaled.deployment import ScaledDeployment, disks_by_node
from windtunnel.testbeds.scaled.live_limits import host_plans, plan_with_spares, shape
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.scale_model import scaled
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan

_READY_LIMIT_S = 300.0
_DELETION_LIMIT_S = 20.0
_WORKER = set(ROLES.workers(HADOOP))


class LiveDeployment(ScaledDeployment):
    """A scale model that can be changed while it runs."""

    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Change what differs; raises the errors of :func:`reconfigure`."""
        return reconfigure(self, cluster, self.notify)


def reconfigure(deployment: ScaledDeployment, cluster: Cluster, notify: Notify) -> list[str]:
    """Change a running deployment to ``cluster``; returns one line for each change.

    Raises
    ------
    DeploymentError
        If the difference requires a new deployment; earlier changes are not undone.
    """
    if cluster == deployment.cluster:
        return []
    model, plan = scaled(cluster, deployment.scale), fabric_plan(cluster, deployment.scale)
    refused = _refusal(deployment.cluster, deployment.fabric.plan, cluster, plan)
    if refused:
        raise DeploymentError(refused)
    leaving = _leaving_disks(deployment, plan)
    affected = _sets(model, plan) != _sets(deployment.model, deployment.shaped)
    with deployment.limits:
        done = shape(deployment.fabric, deployment.shaped, plan)
        deployment.shaped = plan_with_spares(deployment.shaped, plan)
    going, coming = _movers(deployment, model)
    if going or coming or affected:
        deployment.close_engines()
    deployment.cluster, deployment.model = cluster, model
    if going:
        with deployment.unshaped():
            deployment.membership.take_out(going)
        done.append(f"out of service: {_names(going)}")
    new = _new_layout(deployment, model, plan)
    done += _settle(deployment, new, leaving, [host.name for host in coming], notify)
    if coming:
        with deployment.unshaped():
            deployment.membership.bring_back(coming, _ready(deployment, notify))
        done.append(f"back in service: {_names(coming)}")
    deployment.note_placement()
    return done or ["no change that the model supports"]


def covers(larger: Cluster, cluster: Cluster, scale: Scale) -> bool:
    """Whether a running model that was built for ``larger`` can be changed to ``cluster``."""
    plans = [fabric_plan(one, scale) for one in (larger, cluster)]
    wanted = {node.name: set(node.roles) for node in cluster.nodes()}
    stand = {node.name: set(node.roles) for node in larger.nodes()}
    return not _refusal(larger, plans[0], cluster, plans[1]) and all(
        roles == wanted[name] if name in wanted else roles <= _WORKER
        for name, roles in stand.items()
    )


def _refusal(now: Cluster, built: FabricPlan, cluster: Cluster, plan: FabricPlan) -> str | None:
    """The reason why an existing fabric cannot be changed; None if it can."""
    old, new = host_plans(built), host_plans(plan)
    if cluster.software != now.software:
        return "other software requires a new deployment"
    if needs_new_storage(now, cluster):
        return "another storage system, or other settings of it, require a new deployment"
    if cluster.storage.kind != "hdfs" and _hosts_and_disks(plan) != _hosts_and_disks(built):
        return f"other hosts or disks of {cluster.storage.kind} require a new deployment"
    if cluster.storage.erasure_code != now.storage.erasure_code:
        return "another erasure code requires a new deployment"
    if plan.file_system != built.file_system:
        return "another file system requires a new deployment"
    if not new.keys() <= old.keys():
        return "additional hosts require a new deployment"
    if not {rack.name for rack in plan.racks} <= {rack.name for rack in built.racks}:
        return "other racks require a new deployment"
    for name, host in new.items():
        if _fixed(host) != _fixed(old[name]):
            return f"the difference on {name} requires a new deployment"
        sizes = {disk.name: disk.size_bytes for disk in old[name].disks}
        if any(sizes.get(disk.name) != disk.size_bytes for disk in host.disks):
            return f"other disks on {name} require a new deployment"
    return _refusal_of_roles(now, cluster)


def _refusal_of_roles(now: Cluster, cluster: Cluster) -> str | None:
    """The reason why the roles of the hosts cannot be changed; None if they can.

    Descriptions can contain roles that Hadoop does not start; placements do not have them. Any
    host can get or lose the role of a client.
    """
    before, after = (
        {node.name: set(node.roles) - {"client"} for node in one.nodes()} for one in (now, cluster)
    )
    for name, roles in before.items():
        if name not in after and not roles <= _WORKER:
            return f"{name} has roles whose removal requires a new deployment"
        if name in after and after[name] != roles:
            return f"other roles of {name} require a new deployment"
    return None


def _hosts_and_disks(plan: FabricPlan) -> dict[str, list[str]]:
    return {name: [disk.name for disk in host.disks] for name, host in host_plans(plan).items()}


def _sets(model: Cluster, plan: FabricPlan) -> tuple[object, ...]:
    """The properties of a model that engines read at their start."""
    disks = disks_by_node(plan)
    hosts = [
        (
            node.name,
            disks.get(node.name),
            node.guest.memory if node.guest else model.hosts[node.class_name].memory,
        )
        for node in model.nodes()
    ]
    return model.settings, model.storage, model.software, hosts


def _fixed(host: HostPlan) -> tuple[object, ...]:
    """The properties of an existing host that cannot be changed."""
    guests = tuple((guest.name, guest.cpuset, guest.cpu_cores) for guest in host.guests)
    controlled = host.controller_bytes_s is None
    return host.rack, host.cpuset, host.mtu, host.latency_s, controlled, guests


def _movers(deployment: ScaledDeployment, model: Cluster) -> tuple[list[Host], list[Host]]:
    """The workers that leave the service, and those that return to it."""
    wanted = {node.name: set(node.roles) - {"client"} for node in model.nodes()}
    going, coming = [], []
    for placement in deployment.layout.placements:
        name = placement.host.name
        out = name in deployment.daemons.out
        if name not in wanted and not out:
            going.append(placement.host)
        if name in wanted and out:
            # only hosts whose roles are all in the placement can have left the service
            if wanted[name] != set(placement.roles):
                raise DeploymentError(f"other roles of {name} require a new deployment")
            coming.append(placement.host)
    return going, coming


def _settle(
    deployment: ScaledDeployment,
    new: Layout,
    leaving: Mapping[str, Sequence[str]],
    coming: Sequence[str],
    notify: Notify,
) -> Iterator[str]:
    """Rewrite the settings and restart the daemons that read a changed one.

    ``leaving`` are the disks that DataNodes lose, by node.
    """
    daemons = deployment.daemons
    restart, names = _restarts(deployment.layout, new)
    out = {*daemons.out, *coming}
    restart = [name for name in restart if name.partition("@")[2] not in out]
    deployment.layout = daemons.layout = new
    with deployment.unshaped() if leaving or restart else nullcontext():
        if leaving:  # their blocks are moved to the remaining disks while nobody writes
            _empty(deployment, leaving)
        daemons.write_settings()
        if restart:
            order = ROLES.in_start_order(restart)
            _ready(deployment, notify)(daemons.restart_all(order))
            yield f"{', '.join(names)}: restarted {', '.join(order)}"
        elif names:
            yield f"{', '.join(names)}: job settings changed"


def _empty(deployment: ScaledDeployment, leaving: Mapping[str, Sequence[str]]) -> None:
    """Stop the DataNodes of some disks and move all blocks to their remaining disks."""
    folders = {n: [deployment.virtual[n].disks[d] for d in ds] for n, ds in leaving.items()}
    for node, names in leaving.items():  # the disks are limited again when they return
        _free_disks(deployment, deployment.virtual[node].machine, names)
    _wait_deleted(deployment, [disk for disks in folders.values() for disk in disks])
    daemons, used = deployment.daemons, disks_by_node(deployment.shaped)
    daemons.stop(f"datanode@{node}" for node in leaving if node not in daemons.out)
    for node, disks in folders.items():
        remaining = [deployment.virtual[node].disks[name] for name in used[node]]
        try:
            move_blocks(disks, remaining)
        except OSError as problem:  # such as a full disk of the model: a new cluster can still work
            raise DeploymentError(
                f"{node}: the blocks of its disks cannot move to the remaining disks: {problem}"
            ) from problem


def _free_disks(deployment: ScaledDeployment, machine: str, names: Sequence[str]) -> None:
    for disk in host_plans(deployment.fabric.plan)[machine].disks:
        if disk.name in names:
            free = DiskPlan(disk.name, disk.size_bytes)
            deployment.fabric.set_disk(machine, disk.name, free)


def _wait_deleted(deployment: ScaledDeployment, disks: Sequence[Path]) -> None:
    """Wait until DataNodes have removed the files of the last trial, which need not be moved.

    Heartbeats transmit the deletions, and DataNodes then remove the files gradually. The wait ends
    when no deletion is pending and no file was removed for a second. After the limit, the remaining
    files are moved, too.
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
    """The layout of a model, with unchanged workers that are out of service."""
    placements = {p.host.name: p for p in deployment.layout.placements}
    placements |= {p.host.name: p for p in deployment.placements(model, plan)}
    return deployment.layout_of(model, list(placements.values()))


def _restarts(old: Layout, new: Layout) -> tuple[list[str], list[str]]:
    """The daemons that read a property that differs on their host, and all such properties."""
    daemons, names = [], set(changed(old.properties(), new.properties()))
    for placement in new.placements:
        host = placement.host
        differing = changed(old.properties(host), new.properties(host))
        names.update(differing)
        roles = roles_to_restart(differing)
        daemons += [f"{role}@{host.name}" for role in placement.roles if role in roles]
    return daemons, sorted(names)


def _leaving_disks(deployment: ScaledDeployment, plan: FabricPlan) -> dict[str, list[str]]:
    """The disks that DataNodes no longer use after the change, by node."""
    before, after = disks_by_node(deployment.shaped), disks_by_node(plan)
    datanodes = [p.host.name for p in deployment.layout.placements if "datanode" in p.roles]
    found = {
        node: [name for name in before[node] if name not in after[node]]
        for node in datanodes
        if node in after
    }
    return {node: names for node, names in found.items() if names}


def _ready(deployment: ScaledDeployment, notify: Notify) -> Callable[[dict[str, float]], None]:
    return lambda fresh: deployment.daemons.wait_ready(_READY_LIMIT_S, notify, fresh)


def _names(hosts: Sequence[Host]) -> str:
    return ", ".join(host.name for host in hosts)
