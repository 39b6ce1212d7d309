"""The power of a host by IPMI: the command, its output, and real controllers."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import bmc
from windtunnel.errors import ClusterAccessError, SetupError
from windtunnel.hosts import ipmi
from windtunnel.hosts.ipmi import Ipmi

needs_ipmitool = pytest.mark.skipif(
    shutil.which("ipmitool") is None, reason="not installed: ipmitool"
)
needs_simulator = pytest.mark.skipif(
    shutil.which("ipmi_sim") is None, reason="not installed: ipmi_sim (package openipmi)"
)


@pytest.fixture
def meter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ipmi:
    monkeypatch.setattr(ipmi, "_TRIES", ("-N", "1", "-R", "1"))
    password = tmp_path / "password"
    password.write_text(f"{bmc.PASSWORD}\n")
    return Ipmi("127.0.0.1", bmc.USER, password, cipher=3)


def read(meter: Ipmi) -> float:
    """A reading, once the controller answers."""
    until = time.monotonic() + 20
    while True:
        try:
            return meter.watts()
        except ClusterAccessError:
            if time.monotonic() > until:
                raise


@needs_ipmitool
def test_the_power_reading_of_dcmi(meter: Ipmi, tmp_path: Path) -> None:
    watts = tmp_path / "watts"
    watts.write_text("321")
    with bmc.dcmi(watts) as port:
        here = replace(meter, address=f"127.0.0.1:{port}")
        assert read(here) == 321.0
        watts.write_text("17")
        assert here.watts() == 17.0
        wrong = tmp_path / "wrong"
        wrong.write_text("other")
        with pytest.raises(ClusterAccessError, match="Unable to establish") as caught:
            replace(here, password_file=wrong).watts()
        assert "password" in caught.value.remedy and "other" not in str(caught.value)
    with pytest.raises(ClusterAccessError, match=rf"IPMI, 127.0.0.1:{port}: "):
        here.watts()


@needs_ipmitool
@needs_simulator
def test_a_sensor_in_watts(meter: Ipmi, tmp_path: Path) -> None:
    watts = tmp_path / "watts"
    watts.write_text("214")
    with bmc.sensor(tmp_path, watts) as port:
        here = replace(meter, address=f"127.0.0.1:{port}", sensor=bmc.SENSOR)
        assert read(here) == 214.0
        with pytest.raises(ClusterAccessError, match="Unable to find sensor id 'Other'") as caught:
            replace(here, sensor="Other").watts()
        assert "ipmitool sdr list" in caught.value.remedy
        # this controller has no DCMI
        with pytest.raises(ClusterAccessError, match="DCMI request failed"):
            replace(here, sensor=None).watts()


def test_the_password_is_on_no_command_line(meter: Ipmi) -> None:
    words = replace(meter, address="bmc-1.example:6230", sensor="Power").command()
    assert " ".join(words) == (
        "ipmitool -I lanplus -H bmc-1.example -p 6230 -L USER -N 1 -R 1 "
        f"-U reader -f {meter.password_file} -C 3 -c sdr get Power"
    )
    assert bmc.PASSWORD not in " ".join(words)


def test_a_name_of_the_hosts_file_is_replaced(meter: Ipmi) -> None:
    here = replace(meter, address="bmc-1:6230", names={"bmc-1": "10.9.0.1"})
    assert "-H 10.9.0.1 -p 6230" in " ".join(here.command())


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("bmc", "bmc", "623"),
        ("10.0.0.1:6230", "10.0.0.1", "6230"),
        ("fd00::17", "fd00::17", "623"),
        ("[fd00::17]:6230", "fd00::17", "6230"),
        ("[fd00::17]", "fd00::17", "623"),
    ],
)
def test_an_address_may_have_a_port(meter: Ipmi, address: str, host: str, port: str) -> None:
    words = list(replace(meter, address=address).command())
    assert words[words.index("-H") + 1] == host and words[words.index("-p") + 1] == port


def program(folder: Path, text: str) -> None:
    """A program that prints what some controllers answer."""
    file = folder / "ipmitool"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


DCMI = "Instantaneous power reading"


@pytest.mark.parametrize(
    ("sensor", "text"),
    [
        (None, f"echo '{DCMI}: 9 Watts'; echo 'Power reading state is: deactivated'"),
        ("Power", "echo 'Power,na,Watts,ns,7.1'"),
        ("Power", "echo 'Power,40,degrees C,ok,7.1'"),
        ("Power", "echo 'Power,,Watts,ok,7.1'"),
        ("Power", "echo 'Power,0,Watts,ok,7.1'"),
        (None, f"echo '{DCMI}: 0 Watts'"),
        (None, "true"),
    ],
)
def test_an_answer_without_watts_is_an_error(
    meter: Ipmi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sensor: str | None, text: str
) -> None:
    program(tmp_path, text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ClusterAccessError, match="no reading in watts"):
        replace(meter, sensor=sensor).watts()


def test_a_controller_that_hangs_has_a_limit(
    meter: Ipmi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(ipmi, "_LIMIT_S", 0.2)
    with pytest.raises(ClusterAccessError, match="no answer"):
        meter.watts()


def test_without_the_program_the_remedy_is_named(
    meter: Ipmi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="ipmitool is not installed") as caught:
        meter.watts()
    assert "apt install ipmitool" in caught.value.remedy
