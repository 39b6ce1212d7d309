"""Addresses of clients and daemons, by what Hadoop makes of them and not by their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.audited import Files, audited, changed
from windtunnel.audit.result import Result, Status


def addresses(folder: Path, files: Files) -> list[Result]:
    return [r for r in audited(folder, files).results if r.check == "hdfs-addresses"]


@pytest.mark.parametrize(
    ("system", "rpc", "status"),
    [
        ("hdfs://nn:8020", "nn.example.com:8020", Status.PASS),
        ("hdfs://nn.example.com", "NN:8020", Status.PASS),
        ("hdfs://nn.example.com", "nn.example.org:8020", Status.FAIL),
        ("hdfs://nn:8020", "nn2.example.com:8020", Status.FAIL),
        ("hdfs://nn:8020", "nn.example.com:9000", Status.FAIL),
        ("hdfs://10.0.0.1:8020", "10.0.0.2:8020", Status.FAIL),
        ("hdfs://[fd00::1]:8020", "[fd00::1]:8020", Status.PASS),
        ("hdfs://[fd00::1]:8020", "[fd00::2]:8020", Status.FAIL),
        ("hdfs://nn:8020", "[::]:8020", Status.PASS),
    ],
)
def test_the_host_of_clients_is_compared_with_that_of_the_name_node(
    system: str, rpc: str, status: Status, tmp_path: Path
) -> None:
    files = changed(core={"fs.defaultFS": system}, hdfs={"dfs.namenode.rpc-address": rpc})
    assert [r.status for r in addresses(tmp_path, files)] == [status]


def test_the_old_and_the_new_name_of_an_address_are_one_property(tmp_path: Path) -> None:
    both = {"dfs.http.address": "nn:9870", "dfs.namenode.http-address": "nn:9870"}
    found = addresses(tmp_path / "one", changed(hdfs=both))
    assert [r.status for r in found] == [Status.PASS]
    other = {"dfs.http.address": "nn:9870", "dfs.namenode.https-address": "nn:9870"}
    (found_other,) = addresses(tmp_path / "two", changed(hdfs=other))
    assert found_other.status is Status.FAIL
    said = "dfs.namenode.https-address and dfs.namenode.http-address are both nn:9870"
    assert found_other.observed == said
