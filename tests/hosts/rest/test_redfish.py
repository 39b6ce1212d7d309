"""The power of a host by Redfish, from an emulator."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bmc import power, redfish, write_chassis
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
from windtunnel.hosts.rest.redfish import Redfish


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redfish")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with redfish(folder) as url:
        yield url


@pytest.fixture
def client() -> Iterator[RestClient]:
    with RestClient() as client:
        yield client


def test_the_power_is_that_of_the_whole_chassis(folder: Path, url: str, client: RestClient) -> None:
    write_chassis(folder, {"Bay": {}, "1": power(214)})
    meter = Redfish(client, url + "/")
    assert meter.watts() == 214.0
    write_chassis(folder, {"Bay": {}, "1": power(300.5)})
    assert meter.watts() == 300.5


def test_newer_controllers_have_environment_metrics(
    folder: Path, url: str, client: RestClient
) -> None:
    metrics = {"EnvironmentMetrics": {"PowerWatts": {"Reading": 187.2}}}
    write_chassis(folder, {"Self": metrics})
    assert Redfish(client, url).watts() == 187.2


def test_several_chassis_with_power_need_a_choice(
    folder: Path, url: str, client: RestClient
) -> None:
    write_chassis(folder, {"Enclosure": power(900), "Node": power(120)})
    with pytest.raises(ClusterAccessError, match="report power: Enclosure, Node"):
        Redfish(client, url).watts()
    assert Redfish(client, url, "Node").watts() == 120.0
    with pytest.raises(ClusterAccessError, match=r"no chassis 'Other' .*Enclosure, Node"):
        Redfish(client, url, "Other").watts()


@pytest.mark.parametrize("value", [None, "214 W", True, -1, 0, float("inf")])
def test_a_value_that_is_no_power_is_an_error(
    folder: Path, url: str, client: RestClient, value: object
) -> None:
    write_chassis(folder, {"1": power(214)})
    meter = Redfish(client, url)
    meter.watts()
    write_chassis(folder, {"1": power(value)})  # type: ignore[arg-type]
    with pytest.raises(ClusterAccessError, match="no reading of the power"):
        meter.watts()
    with pytest.raises(ClusterAccessError, match=r"no chassis of .* reports power"):
        meter.watts()
    write_chassis(folder, {"1": power(215)})
    assert meter.watts() == 215.0


def test_a_controller_with_new_paths_or_a_broken_chassis_is_read(
    folder: Path, url: str, client: RestClient
) -> None:
    write_chassis(folder, {"Old": power(214)})
    meter = Redfish(client, url)
    assert meter.watts() == 214.0
    shutil.rmtree(folder / "Chassis")
    write_chassis(folder, {"Backplane": power(1), "New": power(300)})
    (folder / "Chassis/Backplane/Power/index.json").unlink()
    with pytest.raises(ClusterAccessError) as caught:
        meter.watts()
    assert caught.value.reason == "not found"
    assert meter.watts() == 300.0
    (folder / "Chassis/Backplane/index.json").unlink()
    assert Redfish(client, url, "New").watts() == 300.0


def test_another_server_is_recognised(folder: Path, url: str, client: RestClient) -> None:
    write_chassis(folder, {})
    (folder / "index.json").write_text("{}")
    with pytest.raises(ClusterAccessError, match="does not answer as a Redfish service"):
        Redfish(client, url).watts()
    with pytest.raises(ClusterAccessError):
        Redfish(client, "http://localhost:1").watts()
