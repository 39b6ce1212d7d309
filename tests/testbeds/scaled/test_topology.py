"""Racks as Hadoop is told: by rack, by physical host, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.testbeds.scaled.topology import racks, script

RACKED = {"network": {"spread_over": 2, "uplink": "1 Gb/s"}}


def model(**changes: object) -> Cluster:
    return apply_overrides(load_cluster("model-3"), changes)


def test_one_switch_is_no_topology() -> None:
    assert racks(model()) == {}


def test_hosts_stand_in_their_racks() -> None:
    found = racks(model(**RACKED))
    assert found["worker-1"] == found["worker-3"] != found["worker-2"]


def test_flat_hides_the_racks() -> None:
    assert racks(model(**RACKED, **{"storage.topology": "flat"})) == {}


def test_the_virtual_machines_of_a_host_are_a_rack() -> None:
    found = racks(load_cluster("vmware-2011-4vm"))
    assert found["worker-3-small-1"] == found["worker-3-large-2"] == "/worker-3"
    assert len(set(found.values())) == 7


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["worker-1"], ["/rack-1"]),
        (["10.0.0.3", "worker-1"], ["/rack-2", "/rack-1"]),
        (["10.0.0.33", "nobody"], ["/default-rack", "/default-rack"]),
    ],
)
def test_the_script_answers_for_names_and_addresses(
    tmp_path: Path, asked: list[str], said: list[str]
) -> None:
    file = tmp_path / "topology.sh"
    addresses = {"worker-1": "10.0.0.2", "worker-2": "10.0.0.3"}
    file.write_text(script({"worker-1": "/rack-1", "worker-2": "/rack-2"}, addresses))

    done = subprocess.run(["sh", str(file), *asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == said
