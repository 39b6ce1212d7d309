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
from windtunnel.analysis.bottleneck.usage import usages
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


def test_everything_of_storage_hosts_crosses_the_network(tmp_path: Path) -> None:
    found = used(tmp_path, APART, external=["store"])
    assert found["network"] == pytest.approx(2 * WRITTEN + READ + SHUFFLED * 2 / 3)


def test_storage_hosts_run_no_tasks() -> None:
    limits = capacity({"hosts": APART, "storage": {"external": ["store"]}})
    assert (limits.workers, limits.cores) == (3, 12.0)
    assert limits.disk_read == 8e6
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
