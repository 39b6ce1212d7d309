"""Changing a running model: only what differs, live, or a clear refusal. The fabric is made up."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.hdfs import Hdfs
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.storage_system import Ground
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import ProcessSpec
from windtunnel.testbeds.scaled import reconfigure as live
from windtunnel.testbeds.scaled.deployment import disks_by_node
from windtunnel.testbeds.scaled.faults import ScaledFaults
from windtunnel.testbeds.scaled.reconfigure import LiveDeployment, covers, reconfigure
from windtunnel.testbeds.scaled.scale import FULL_SIZE
from windtunnel.testbeds.scaled.scale_model import scaled
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan

SOFTWARE = Software(Path("/java/bin/java"), "17.0.1", Path("/lib"), Path("/clib"), "3.5.0")


class Host:
    """A virtual host that starts nothing; its disks are plain folders."""

    account = "hadoop"
    open_socket = staticmethod(socket.socket)

    def __init__(self, name: str, number: int, folder: Path, disks: Sequence[str]) -> None:
        self.name, self.address, self.machine = name, f"10.9.0.{number}", name
        self.root, self.logs = folder / name, folder / "logs" / name
        self.disks = {disk: self.root / "disks" / disk for disk in disks}
        for place in self.disks.values():
            place.mkdir(parents=True)

    def write_text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def spawn(self, spec: ProcessSpec) -> Any:
        ended: list[int] = []
        return SimpleNamespace(
            name=spec.name,
            pid=1,
            returncode=lambda: None,
            kill=lambda: ended.append(-9),
            wait=lambda limit_s: ended[-1] if ended else None,
        )


class Recorder:
    """Notes every call of any method as (name, *arguments)."""

    def __init__(self, **facts: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.__dict__.update(facts)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((name, *arguments))


class Restarts(Daemons):
    """Real daemons' bookkeeping; which were waited for is noted."""

    fresh: Sequence[str] = ()

    def wait_ready(
        self, timeout_s: float, notify: Any = None, fresh: Mapping[str, float] | None = None
    ) -> None:
        self.fresh = list(fresh or {})


class Model(LiveDeployment):
    """A deployment of a made-up fabric."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.scale, self.cluster, self.software = FULL_SIZE, cluster, SOFTWARE
        self.logs = folder
        self.engines = {}
        self.limits = threading.Lock()
        self.model = self.built = scaled(cluster, FULL_SIZE)
        self.shaped = fabric_plan(cluster, FULL_SIZE)
        self.registration = SimpleNamespace(scratch=folder, folder=folder)  # type: ignore[assignment]
        disks = disks_by_node(self.shaped)
        self.virtual = {
            node.name: Host(node.name, i + 2, folder, disks[node.name])  # type: ignore[misc]
            for i, node in enumerate(self.model.nodes())
        }
        self.fabric = Recorder(plan=self.shaped)  # type: ignore[assignment]
        self.membership = Recorder()  # type: ignore[assignment]
        placements = self.placements(self.model, self.shaped)
        self.storage = Hdfs(Ground(cluster, placements, self.shared, own_networks=True))
        self.layout = self.plan(placements)
        self.daemons = Restarts(self.layout, self.storage, self.hosts_file, self.shared)
        pending = iter([7, 3, 0])
        self.daemons.masters = SimpleNamespace(  # type: ignore[assignment]
            pending_deletions=lambda: next(pending, 0)
        )
        for placement in self.layout.placements:
            for role in placement.roles:
                self.daemons.restart(f"{role}@{placement.host.name}")


@pytest.fixture
def deployment(tmp_path: Path) -> Model:
    return Model(load_cluster("model-3"), tmp_path)


def change(deployment: Model, **overrides: Any) -> list[str]:
    paths = {name.replace("__", "."): value for name, value in overrides.items()}
    cluster = apply_overrides(deployment.cluster, paths)
    return reconfigure(deployment, cluster, lambda text: None)


def fresh(deployment: Model) -> Sequence[str]:
    assert isinstance(deployment.daemons, Restarts)
    return deployment.daemons.fresh


def calls(part: object) -> list[tuple[Any, ...]]:
    assert isinstance(part, Recorder)
    return part.calls


def test_the_same_cluster_is_no_change(deployment: Model) -> None:
    assert reconfigure(deployment, deployment.cluster, lambda text: None) == []
    assert calls(deployment.fabric) == []


def test_a_nic_rate_is_two_calls_of_the_fabric_and_no_restart(deployment: Model) -> None:
    lines = change(deployment, hosts__worker__nics__0__rate="400 Mb/s")

    assert lines == ["NIC 12.5 MB/s -> 50 MB/s: worker-1, worker-2, worker-3"]
    rates = [("set_nic_rate", f"worker-{i}", 50e6) for i in (1, 2, 3)]
    assert calls(deployment.fabric) == rates
    assert not fresh(deployment)


@pytest.mark.parametrize(
    ("larger", "covered"),
    [
        ({"hosts.worker.count": 4}, True),
        ({"hosts.worker.count": 2}, False),
        ({"hosts.worker.disks.0.count": 3}, True),
        ({"hosts.worker.disks.0.size": "9 GiB"}, False),
        ({"hosts.worker.nics.0.rate": "1 Gb/s"}, True),
        ({"storage.file_system": "xfs"}, False),
        ({"storage.file_system": "ext4"}, True),  # which is what it has by default
        ({"hosts.master.roles": ["namenode", "resourcemanager"]}, False),
    ],
)
def test_what_was_built_for_a_larger_cluster_covers_a_smaller_one(
    larger: dict[str, Any], covered: bool
) -> None:
    cluster = apply_overrides(load_cluster("model-3"), {"storage.replication": 2})
    assert covers(apply_overrides(cluster, larger), cluster, FULL_SIZE) is covered


@pytest.mark.parametrize("role", ["secondarynamenode", "management", "hbase-master"])
def test_a_model_with_roles_that_hadoop_does_not_start_is_changed_live(
    tmp_path: Path, role: str
) -> None:
    roles = ["namenode", "resourcemanager", "historyserver", role]
    cluster = apply_overrides(
        load_cluster("model-3"), {"hosts.master.roles": roles, "storage.replication": 2}
    )
    smaller = apply_overrides(cluster, {"hosts.worker.count": 2})
    deployment = Model(cluster, tmp_path)

    assert covers(cluster, smaller, FULL_SIZE)
    assert reconfigure(deployment, smaller, lambda text: None)[0] == "out of service: worker-3"


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts.master.roles": ["namenode", "resourcemanager", "historyserver", "zookeeper"]},
        {"hosts.worker.roles": ["datanode", "nodemanager", "zookeeper"]},
    ],
)
def test_other_roles_are_refused_before_anything_changes(
    deployment: Model, changes: dict[str, Any]
) -> None:
    changed = apply_overrides(deployment.cluster, changes)
    with pytest.raises(DeploymentError, match="other roles of"):
        reconfigure(deployment, changed, lambda text: None)
    assert calls(deployment.fabric) == []


def test_a_host_with_daemons_of_other_engines_does_not_leave(tmp_path: Path) -> None:
    roles = ["datanode", "nodemanager", "zookeeper"]
    cluster = apply_overrides(
        load_cluster("model-3"), {"hosts.worker.roles": roles, "storage.replication": 2}
    )
    smaller = apply_overrides(cluster, {"hosts.worker.count": 2})
    assert not covers(cluster, smaller, FULL_SIZE)
    with pytest.raises(DeploymentError, match="worker-3 has roles whose removal requires"):
        reconfigure(Model(cluster, tmp_path), smaller, lambda text: None)


def test_a_worker_comes_back_with_the_same_roles_only(deployment: Model) -> None:
    whole = deployment.cluster
    change(deployment, hosts__worker__count=2, storage__replication=2)
    deployment.daemons.out.add("worker-3")
    host = whole.hosts["worker"].model_copy(update={"count": 1, "roles": ("datanode",)})
    workers = whole.hosts["worker"].model_copy(update={"count": 2})
    hosts = {**whole.hosts, "worker": workers, "worker-3": host}
    other = whole.model_copy(update={"hosts": hosts})
    with pytest.raises(DeploymentError, match="other roles of worker-3"):
        reconfigure(deployment, other, lambda text: None)


def test_back_again_is_a_change_as_well(deployment: Model) -> None:
    change(deployment, hosts__worker__nics__0__rate="400 Mb/s")
    change(deployment, hosts__worker__nics__0__rate="100 Mb/s")

    assert calls(deployment.fabric)[-1] == ("set_nic_rate", "worker-3", 12.5e6)


def test_cpu_memory_and_disks_are_shaped_live(deployment: Model) -> None:
    lines = change(
        deployment,
        hosts__worker__cpu__cores_per_socket=2,
        hosts__worker__memory="4 GiB",
        hosts__worker__disks__0__read_rate="30 MB/s",
    )

    made = {call[0] for call in calls(deployment.fabric)}
    assert made == {"set_cpu", "set_memory", "set_disk"}
    assert len(lines) == 3
    assert lines[0] == "CPU 1 cores -> 2 cores: worker-1, worker-2, worker-3"
    assert not fresh(deployment)


def test_settings_of_jobs_restart_nothing(deployment: Model) -> None:
    lines = change(deployment, **{"settings__mapreduce.task.io.sort.mb": 50})

    assert lines == ["mapreduce.task.io.sort.mb: job settings changed"]
    assert not fresh(deployment)
    assert "<value>50</value>" in (deployment.shared / "client-conf/mapred-site.xml").read_text()


@pytest.mark.parametrize(
    ("name", "value", "restarted"),
    [
        ("dfs.datanode.handler.count", 12, {f"datanode@worker-{i}" for i in (1, 2, 3)}),
        ("dfs.namenode.handler.count", 20, {"namenode@master"}),
        ("yarn.nodemanager.vmem-pmem-ratio", 3.0, {f"nodemanager@worker-{i}" for i in (1, 2, 3)}),
        ("yarn.resourcemanager.client.thread-count", 9, {"resourcemanager@master"}),
    ],
)
def test_a_daemon_setting_restarts_those_that_read_it(
    deployment: Model, name: str, value: object, restarted: set[str]
) -> None:
    lines = change(deployment, **{f"settings__{name}": value})

    assert set(fresh(deployment)) == restarted
    assert lines[0].startswith(f"{name}: restarted ")


def test_a_disk_less_restarts_the_workers_and_keeps_their_blocks(deployment: Model) -> None:
    worker = deployment.virtual["worker-2"]
    folder = worker.disks["disk-2"] / "hdfs/current/BP-1/current/finalized/subdir0/subdir3"
    folder.mkdir(parents=True)
    (folder / "blk_7").write_text("data")
    (folder / "blk_7_1001.meta").write_text("sums")

    change(deployment, hosts__worker__disks__0__count=1)

    roles = ("datanode", "nodemanager")
    assert set(fresh(deployment)) == {f"{role}@worker-{i}" for role in roles for i in (1, 2, 3)}
    kept = worker.disks["disk-1"] / folder.relative_to(worker.disks["disk-2"])
    assert (kept / "blk_7").read_text() == "data"
    assert (kept / "blk_7_1001.meta").read_text() == "sums"
    assert not list(folder.iterdir())
    folders = deployment.layout.properties(worker)["dfs.datanode.data.dir"]
    assert folders == f"file://{worker.disks['disk-1']}/hdfs"

    change(deployment, hosts__worker__disks__0__count=2)
    assert "disk-2" in deployment.layout.properties(worker)["dfs.datanode.data.dir"]


def test_blocks_that_do_not_fit_on_the_remaining_disks_need_a_new_deployment(
    deployment: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(live, "move_blocks", full)
    with pytest.raises(DeploymentError, match=r"cannot move to the remaining disks: .*No space"):
        change(deployment, hosts__worker__disks__0__count=1)


@pytest.mark.parametrize(
    ("name", "value", "anew"),
    [
        ("hosts.worker.disks.0.count", 1, True),
        ("hosts.worker.memory", "4 GiB", True),
        ("settings.kudu.block_cache_capacity_mb", 4, True),
        ("hosts.worker.disks.0.read_rate", "30 MB/s", False),
        ("hosts.worker.cpu.cores_per_socket", 2, False),
        ("hosts.worker.nics.0.rate", "1 Gb/s", False),
    ],
)
def test_engines_start_anew_where_what_they_were_sized_by_differs(
    deployment: Model, name: str, value: object, anew: bool
) -> None:
    deployment.engines = {"kudu": Recorder()}  # type: ignore[dict-item]
    change(deployment, **{name: value})
    assert (deployment.engines == {}) == anew


def test_workers_go_out_and_come_back(deployment: Model) -> None:
    lines = change(deployment, hosts__worker__count=2, storage__replication=2)
    worker = deployment.virtual["worker-3"]
    assert calls(deployment.membership) == [("take_out", [worker])]
    assert lines[0] == "out of service: worker-3"
    assert not fresh(deployment), "those that stay are left alone"

    deployment.daemons.out.add("worker-3")  # as take_out does
    lines = change(deployment, hosts__worker__count=3)
    assert [call[:2] for call in calls(deployment.membership)[1:]] == [("bring_back", [worker])]
    assert lines[-1] == "back in service: worker-3"


def test_the_shape_of_a_worker_that_is_out_is_remembered(deployment: Model) -> None:
    change(deployment, hosts__worker__count=2, storage__replication=2)
    deployment.daemons.out.add("worker-3")
    change(deployment, hosts__worker__nics__0__rate="400 Mb/s")
    change(deployment, hosts__worker__count=3)

    rates = nic_rates(deployment)
    assert {rates[f"worker-{number}"] for number in (1, 2, 3)} == {50e6}
    assert rates["master"] == 12.5e6


def test_what_takes_time_is_done_without_limits(
    deployment: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        deployment.daemons, "write_settings", lambda: seen.append(nic_rates(deployment))
    )
    change(deployment, settings__dfs__namenode__handler__count=20)
    assert set(seen[0].values()) == {None}, "while daemons are started again"
    assert None not in nic_rates(deployment).values(), "afterwards"

    change(deployment, hosts__worker__disks__0__count=1)
    left = [c for c in calls(deployment.fabric) if c[:3] == ("set_disk", "worker-1", "disk-2")]
    assert left[-1][3].read_bytes_s is None, "its blocks are moved at full speed"
    change(deployment, hosts__worker__disks__0__count=2)
    left = [c for c in calls(deployment.fabric) if c[:3] == ("set_disk", "worker-1", "disk-2")]
    assert left[-1][3].read_bytes_s == 20e6, "and it has its limits when it is back"


def test_limits_come_back_whatever_happens_without_them(deployment: Model) -> None:
    with pytest.raises(DeploymentError, match="made up"), deployment.unshaped():
        assert set(nic_rates(deployment).values()) == {None}
        raise DeploymentError("made up")
    limits = {call[0]: call for call in calls(deployment.fabric) if "worker-1" in call}
    assert limits["set_nic_rate"][2] == 12.5e6
    assert limits["set_cpu"][2] == 1.0
    assert limits["set_disk"][3].write_bytes_s == 20e6
    assert "set_memory" not in limits


def test_virtual_machines_have_no_quota_while_the_limits_are_lifted(tmp_path: Path) -> None:
    vms = [{"count": 2, "memory": "1 GiB", "vcpus": 2}]
    cluster = apply_overrides(load_cluster("model-3"), {"hosts.worker.vms": vms})
    deployment = Model(cluster, tmp_path)
    (worker,) = (host for host in deployment.shaped.hosts if host.name == "worker-1")
    guests = [guest.name for guest in worker.guests]

    def quotas() -> list[tuple[Any, ...]]:
        found = [call for call in calls(deployment.fabric) if call[1] in ("worker-1", *guests)]
        deployment.fabric.calls.clear()  # type: ignore[attr-defined]
        return found

    assert (worker.cpu_cores, worker.guests[0].cpu_cores) == (1.0, 2.0)
    with deployment.unshaped(cpu_only=True):
        lifted = [("set_guest_cpu", guest, None) for guest in guests]
        assert quotas() == [("set_cpu", "worker-1", None), *lifted], (
            "the first call gives the guests their quotas of the plan"
        )
    limited = [("set_guest_cpu", guest, 1.0) for guest in guests]
    assert quotas() == [("set_cpu", "worker-1", 1.0), *limited], "no more than the host's"


def test_a_fault_that_ends_while_the_limits_come_back_is_undone(
    deployment: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo = ScaledFaults(deployment).slow_nic("worker-3", 0.1)
    ending = threading.Thread(target=undo)
    limit = deployment.fabric.set_cpu

    def ends_now(host: str, cores: float | None) -> None:
        limit(host, cores)
        if cores is not None and ending.ident is None:
            ending.start()
            ending.join(0.3)

    with deployment.unshaped():
        monkeypatch.setattr(deployment.fabric, "set_cpu", ends_now)
    ending.join()
    assert nic_rates(deployment)["worker-3"] == 12.5e6


def test_hosts_that_are_gone_end_the_deployment_and_hide_no_cause(
    deployment: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError("/sys/fs/cgroup/cpu/wt-1")

    with pytest.raises(DeploymentError, match="supervisor"), deployment.unshaped():
        monkeypatch.setattr(deployment.fabric, "set_cpu", gone)
        raise DeploymentError("the supervisor of the daemons has died")
    with pytest.raises(DeploymentError, match="limits of the hosts cannot be changed"):
        change(deployment, hosts__worker__cpu__cores_per_socket=2)


def nic_rates(deployment: Model) -> dict[str, float | None]:
    """The last rate that each host's NIC was set to."""
    return {call[1]: call[2] for call in calls(deployment.fabric) if call[0] == "set_nic_rate"}


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts__worker__count": 4},
        {"hosts__worker__disks__0__count": 3},
        {"hosts__worker__nics__0__mtu": 9000},
        {"network": {"spread_over": 2, "uplink": "50 Mb/s"}},
        {"hosts__worker__vms": [{"count": 2, "memory": "1 GiB"}]},
        {"software__hadoop": "3.4"},
        {"hosts__worker__disks__0__controller_rate": "30 MB/s"},
    ],
)
def test_what_the_fabric_was_not_built_for_needs_a_new_one(
    deployment: Model, changes: dict[str, object]
) -> None:
    before = deployment.cluster
    with pytest.raises(DeploymentError, match="require"):
        change(deployment, **changes)
    assert deployment.cluster is before
    assert calls(deployment.fabric) == [], "refused before anything is touched"
