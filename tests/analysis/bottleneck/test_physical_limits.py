"""The limits of the hardware: what each host of a description provides, and which hosts count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.models import known
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.bottleneck.physical_limits import capacity, limits_by_host
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.results.folder import Results, read_results
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan

GBIT = 1.25e8
EDITS: dict[str, dict[str, Any]] = {
    "measured NIC": {"hosts.worker.nics.0.measured_rate": "9 Gb/s"},
    "port of the switch": {"network.switch.port_rate": "1 Gb/s"},
    "array": {"hosts.worker.disks.0.layout": "raid6"},
    "controller": {"hosts.worker.disks.0.controller_rate": "300 MB/s"},
    "degraded": {
        "hosts.worker.degraded": [
            {"host": 1, "part": "nic", "to": 0.1},
            {"host": 3, "part": "disk", "index": 0, "to": 0.5},
        ]
    },
}


def changed(**values: Any) -> Cluster:
    """The known cluster with other values of its class of workers."""
    given = {f"hosts.worker.{key}": value for key, value in values.items()}
    return apply_overrides(known(), {"storage.replication": 1, **given})


def results(path: Path, cluster: Cluster) -> Results:
    study_folder(path, Plan(trials=2, cluster=cluster.model_dump(mode="json")))
    found = read_results(path)
    study = found.study.model_copy(update={"testbed": "made-up"})
    return Results(found.path, study, found.trials)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_each_host_has_the_limits_that_a_scale_model_sets(
    tmp_path: Path, edit: dict[str, Any]
) -> None:
    cluster = apply_overrides(known(), edit)
    found = results(tmp_path, cluster)
    limits = limits_by_host(found)[found.study.treatments[0].id]
    plan = fabric_plan(cluster, Scale(rate=1.0, data=1.0))
    workers = [host for host in plan.hosts if host.name != "master"]
    for host in workers:
        read = sum(disk.read_bytes_s or 0 for disk in host.disks)
        most = host.controller_bytes_s or read
        assert limits[host.name].network == pytest.approx(host.nic_bytes_s)
        assert limits[host.name].disk_read == pytest.approx(min(read, most))
    assert not limits["master"].worker
    whole = capacity(cluster)
    assert whole.network == pytest.approx(sum(host.nic_bytes_s or 0 for host in workers))


def test_a_degraded_nic_is_the_limit_of_its_host(tmp_path: Path) -> None:
    cluster = changed(degraded=[{"host": 1, "part": "nic", "to": 0.1}])
    found = results(tmp_path, cluster)
    limits = limits_by_host(found)[found.study.treatments[0].id]
    assert limits["worker-2"].network == GBIT
    assert limits["worker-1"].network == 10 * GBIT
    assert capacity(cluster).network == 31 * GBIT


def test_a_degraded_processor_has_a_lower_quota_and_as_many_threads() -> None:
    cluster = changed(degraded=[{"host": 0, "part": "cpu", "to": 0.5}])
    assert capacity(cluster).cores == 4 * 8
    assert capacity(cluster, smt_gain=1.25).cores == 3.5 * 4 * 1.25


def test_hosts_with_the_role_alone_run_tasks() -> None:
    three = {index: ["datanode", "nodemanager"] for index in range(3)}
    found = capacity(changed(roles=["client"], extra_roles=three))
    assert (found.workers, found.cores, found.network) == (3, 24, 30 * GBIT)
    one = capacity(changed(count=9, roles=["datanode"], extra_roles={0: ["nodemanager"]}))
    assert (one.workers, one.cores) == (1, 8)
    assert one.network == 90 * GBIT, "hosts with data count"
    assert not one.external


def test_virtual_machines_have_the_roles() -> None:
    guests = "[client]\n    vms: [{count: 2, roles: [datanode, nodemanager]}]"
    cluster = known(("  worker:", "  server:"), ("[datanode, nodemanager]", guests))
    found = capacity(apply_overrides(cluster, {"hosts.master.count": 2}))
    assert (found.workers, found.cores) == (4, 32)


def test_separate_storage_hosts_have_limits_of_their_own() -> None:
    disks = [{"count": 2, "read_rate": "200 MB/s", "write_rate": "100 MB/s"}]
    nics = [{"rate": "25 Gb/s"}]
    given = changed(disks=[{"use": "os", "read_rate": "90 MB/s"}]).model_dump(mode="json")
    given["hosts"]["worker"]["roles"] = ["nodemanager"]
    given["hosts"]["store"] = {"count": 12, "roles": ["datanode"], "disks": disks, "nics": nics}
    given["storage"]["external"] = ["store"]
    found = capacity(Cluster.model_validate(given))
    assert found == capacity(given)
    assert found.external
    del given["hosts"]["store"]["roles"]
    assert capacity({**given, "name": None}).external, "also of an incomplete description"
    assert (found.network, found.store_network) == (40 * GBIT, 300 * GBIT)
    assert (found.store_disk_read, found.store_disk_write) == (12 * 400e6, 12 * 200e6)
    assert (found.disk_read, found.disk_write) == (4 * 90e6, None), "tasks spill to their own hosts"


def test_an_incomplete_description_has_the_limits_that_it_states() -> None:
    stated = changed().model_dump(mode="json", exclude_none=True)
    del stated["hosts"]["master"]
    assert capacity(stated).network == 40 * GBIT
    assert capacity(stated).cores == 32
