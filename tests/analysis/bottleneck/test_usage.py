"""The rates that counters imply: parity, storage hosts, and each treatment's own storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.bottleneck.physical_limits import (
    Capacity,
    capacity,
    limits_by_treatment,
)
from windtunnel.analysis.bottleneck.usage import Usage, usages
from windtunnel.cluster import load_cluster
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Metric, Trial

READ, WRITTEN, SHUFFLED = 60e6, 30e6, 12e6
PARTS: dict[str, Any] = {
    "cpu": {"sockets": 1, "cores_per_socket": 4},
    "disks": [{"read_rate": "1 MB/s", "write_rate": "1 MB/s"}],
    "nics": [{"rate": "10 Gb/s"}],
}
WORKERS = {"worker": {"count": 3, "roles": ["datanode", "nodemanager"], **PARTS}}
APART = {
    "worker": {"count": 3, "roles": ["nodemanager"], **PARTS},
    "store": {"count": 5, "roles": ["datanode"], **PARTS},
}


def trial_of(found: Results) -> Trial:
    """The first trial, whose first phase moves known amounts in ten seconds."""
    amounts = {
        "hdfs_bytes_read": READ,
        "hdfs_bytes_written": WRITTEN,
        "reduce_shuffle_bytes": SHUFFLED,
    }
    metrics = {name: Metric(value=value, unit="bytes") for name, value in amounts.items()}
    (first, *_) = found.trials
    phase = first.phases[0].model_copy(update={"elapsed_s": 10.0, "metrics": metrics})
    return first.model_copy(update={"phases": [phase], "parameters": {"replication": 2}})


def used(path: Path, hosts: dict[str, Any], **storage: Any) -> dict[str, float]:
    """Bytes of each resource in the ten seconds."""
    trial = trial_of(read_results(study_folder(path / "results", Plan(trials=2))))
    limits = {trial.treatment.id: capacity({"hosts": hosts, "storage": storage})}
    return {one.resource: one.used * 10 for one in usages([trial], limits)}


def test_additional_replicas_and_the_shuffle_cross_the_network(tmp_path: Path) -> None:
    found = used(tmp_path, WORKERS)
    assert found["disk write"] == pytest.approx(2 * WRITTEN)
    assert found["network"] == pytest.approx(WRITTEN + SHUFFLED * 2 / 3)


def test_quotas_that_followed_the_cores_are_the_limit_of_their_phase(tmp_path: Path) -> None:
    trial = trial_of(read_results(study_folder(tmp_path / "results", Plan(trials=2))))
    trial.phases[0].metrics["cpu_time"] = Metric(value=30.0, unit="s")
    limits = {trial.treatment.id: capacity({"hosts": WORKERS, "storage": {}})}

    def share() -> float | None:
        return next(one.share for one in usages([trial], limits) if one.resource == "CPU")

    assert share() == pytest.approx(3 / 12)
    trial.phases[0].metrics["quota_factor"] = Metric(value=1.25, unit="ratio")
    assert share() == pytest.approx(3 / 15)


def test_an_erasure_code_writes_parity_and_spreads_all_cells(tmp_path: Path) -> None:
    found = used(tmp_path, WORKERS, erasure_code="XOR-2-1")
    assert found["disk write"] == pytest.approx(1.5 * WRITTEN)
    assert found["network"] == pytest.approx((1.5 * WRITTEN + READ + SHUFFLED) * 2 / 3)


def test_with_an_erasure_code_a_single_worker_moves_nothing(tmp_path: Path) -> None:
    one = {"worker": {**WORKERS["worker"], "count": 1}}
    found = used(tmp_path, one, erasure_code="XOR-2-1")
    assert found["network"] == 0


def test_storage_hosts_and_hosts_with_tasks_have_nics_of_their_own(tmp_path: Path) -> None:
    """The direction with more bytes counts, on the hosts with the larger utilisation."""
    found = used(tmp_path / "tasks", APART, external=["store"])
    assert found["network"] == pytest.approx(READ + SHUFFLED * 2 / 3)
    few = {**APART, "store": {**APART["store"], "count": 3}}
    found = used(tmp_path / "stores", few, external=["store"])
    assert found["network"] == pytest.approx(READ + WRITTEN), "one additional replica is sent on"


def test_with_an_erasure_code_tasks_send_all_cells(tmp_path: Path) -> None:
    many = {**APART, "store": {**APART["store"], "count": 50}}
    found = used(tmp_path, many, external=["store"], erasure_code="RS-3-2", kind="hdfs")
    assert found["network"] == pytest.approx(max(READ, 5 / 3 * WRITTEN) + SHUFFLED * 2 / 3)


def rows(path: Path, hosts: dict[str, Any], **amounts: float) -> dict[str, Usage]:
    """The use of each resource in ten seconds, with separate storage hosts."""
    trial = trial_of(read_results(study_folder(path, Plan(trials=2))))
    metrics = {name: Metric(value=value, unit="bytes") for name, value in amounts.items()}
    phase = trial.phases[0].model_copy(update={"metrics": metrics})
    trial = trial.model_copy(update={"phases": [phase]})
    limits = {trial.treatment.id: capacity({"hosts": hosts, "storage": {"external": ["store"]}})}
    return {one.resource: one for one in usages([trial], limits)}


def test_full_nics_of_the_hosts_with_tasks_are_full(tmp_path: Path) -> None:
    hosts = {
        "worker": {**APART["worker"], "count": 4},
        "store": {**APART["store"], "count": 12},
    }
    found = rows(tmp_path, hosts, hdfs_bytes_read=10 * 40e9 / 8)["network"]
    assert (found.used, found.limit, found.share) == pytest.approx((5e9, 5e9, 1.0))


def test_data_is_read_from_the_disks_of_the_storage_hosts(tmp_path: Path) -> None:
    fast = [{"read_rate": "400 MB/s", "write_rate": "400 MB/s"}]
    hosts = {
        "worker": {**APART["worker"], "disks": []},
        "store": {**APART["store"], "count": 12, "disks": fast},
    }
    found = rows(tmp_path / "a", hosts, hdfs_bytes_read=24e9, file_bytes_read=1e6)["disk read"]
    assert (found.limit, found.share) == pytest.approx((12 * 400e6, 0.5))
    # the disks of the hosts with tasks can be the bottleneck if they read much and are unknown
    found = rows(tmp_path / "b", hosts, hdfs_bytes_read=12e9, file_bytes_read=1e9)["disk read"]
    assert (found.used, found.share, found.state) == (1e8, None, "unknown")
    hosts["worker"] = APART["worker"]
    found = rows(tmp_path / "c", hosts, hdfs_bytes_read=12e9, file_bytes_read=24e6)["disk read"]
    assert (found.limit, found.share) == pytest.approx((3e6, 0.8))


def test_storage_hosts_run_no_tasks() -> None:
    limits = capacity({"hosts": APART, "storage": {"external": ["store"]}})
    assert (limits.workers, limits.cores) == (3, 12.0)
    assert (limits.disk_read, limits.store_disk_read) == (3e6, 5e6)
    assert limits.external


def test_each_treatment_on_a_shared_machine_has_its_own_storage(tmp_path: Path) -> None:
    cluster = load_cluster("local-3").plain()
    folder = study_folder(tmp_path / "results", Plan(trials=4, cluster=cluster))
    found = read_results(folder)
    coded = {"hosts.worker.count": 5, "storage.erasure_code": "RS-3-2"}
    treatments = [
        one.model_copy(update={"overrides": coded}) if one.id == "tuned" else one
        for one in found.study.treatments
    ]
    study = found.study.model_copy(
        update={"testbed": "local", "kind": "measured", "treatments": treatments}
    )
    trials = [
        one.model_copy(update={"treatment": {t.id: t for t in treatments}[one.treatment.id]})
        for one in found.trials
    ]
    limits: dict[str, Capacity] = limits_by_treatment(Results(found.path, study, trials))
    plain, with_code = limits["stock"], limits["tuned"]
    assert plain.stored_per_byte is None
    assert with_code.stored_per_byte == pytest.approx(5 / 3)
    assert (plain.workers, with_code.workers) == (3, 5)
    assert plain.network is None and with_code.network is None, "no described NIC was used"
