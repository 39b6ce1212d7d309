"""Samples of power from management controllers: times, failures, what cannot be recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import bmc, webserver
from windtunnel.errors import ClusterAccessError, SetupError, UsageError
from windtunnel.hosts.rest import Access, RestClient
from windtunnel.testbeds.attached import power_samples
from windtunnel.testbeds.attached.power_samples import PowerSamples, footprint, open_power
from windtunnel.testbeds.attached.source_options import PowerOptions

HOSTS = {"master.example": False, "worker-1.example": True, "worker-2.example": True}
INTERVAL_S = 0.1  # shorter than permitted, to save time
REDFISH = {"protocol": "redfish", "address": "https://{host}-bmc.example"}


class FixedMeter:
    """A meter with a fixed power, or with an error."""

    def __init__(self, watts: float | None = 100.0) -> None:
        self.value = watts

    def watts(self) -> float:
        if self.value is None:
            raise ClusterAccessError("the controller does not answer", remedy="r", reason="down")
        return self.value


def options(**changes: Any) -> PowerOptions:
    return PowerOptions.model_validate({**REDFISH, **changes})


@pytest.fixture
def make() -> Iterator[Callable[..., PowerSamples]]:
    made: list[PowerSamples] = []

    def one(*watts: float | None, hosts: dict[str, bool] = HOSTS) -> PowerSamples:
        meters = {host: FixedMeter(value) for host, value in zip(hosts, watts, strict=False)}
        given = options().model_copy(update={"interval": INTERVAL_S})
        made.append(PowerSamples(given, hosts, meters))
        return made[-1]

    yield one
    for each in made:
        each.close()


def test_samples_cover_the_time_with_one_reading_before_and_one_after(
    make: Callable[..., PowerSamples],
) -> None:
    samples = make(50.0, 100.0, 150.0)
    assert samples.caveats() == []
    samples.start()
    time.sleep(2 * INTERVAL_S)
    since = time.time()
    time.sleep(11 * INTERVAL_S)
    until = time.time()
    made = samples.record(since, until)
    assert made.problems == [] and made.power_source == "metered: Redfish, 3 hosts"
    for host, watts in zip(HOSTS, (50.0, 100.0, 150.0), strict=True):
        own = [one for one in made.samples if one.host == host]
        assert {(one.metric, one.value) for one in own} == {("power", watts)}
        times = [one.time_s for one in own]
        assert times == sorted(times) and len(times) >= 11
        assert since - 2 * INTERVAL_S < times[0] <= since and times[-1] >= until


def test_a_trial_of_less_than_ten_intervals_has_no_power(
    make: Callable[..., PowerSamples],
) -> None:
    samples = make(50.0, 100.0, 150.0)
    made = samples.record(1000.0, 1000.0 + 9.9 * INTERVAL_S)
    assert list(made.samples) == [] and made.power_source is None
    assert made.problems == [
        "power is not recorded: the trial is shorter than 10 intervals of the meters (0 s each)"
    ]


def test_a_failed_meter_is_named_and_read_again(
    make: Callable[..., PowerSamples], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_samples, "_AGAIN_S", 2 * INTERVAL_S)
    samples = make(50.0, None)
    assert samples.caveats() == [
        "power: there is no address of a controller for 1 host: worker-2.example",
        "power: no reading of 1 host: worker-1.example (down)",
    ]
    samples.start()
    since = time.time()
    time.sleep(11 * INTERVAL_S)
    made = samples.record(since, time.time())
    without = "2 hosts: worker-1.example, worker-2.example"
    assert made.power_source == f"metered: Redfish, 1 hosts, without {without}"
    assert made.problems == [f"power: readings are missing of {without} (down)"]
    meter = samples._meters["worker-1.example"]
    assert isinstance(meter, FixedMeter)
    meter.value = 70.0
    time.sleep(4 * INTERVAL_S)
    since = time.time()
    time.sleep(11 * INTERVAL_S)
    made = samples.record(since, time.time())
    without = "1 host: worker-2.example"
    assert made.power_source == f"metered: Redfish, 2 hosts, without {without}"


def test_a_host_with_a_gap_has_no_samples(make: Callable[..., PowerSamples]) -> None:
    """Else the energy of some phases would be that of fewer hosts."""
    samples = make(50.0, 100.0, 150.0)
    since, until = 1000.0, 1000.0 + 20 * INTERVAL_S
    times = [since + (k - 0.5) * INTERVAL_S for k in range(22)]
    kept = {
        "master.example": times,
        "worker-1.example": [t for k, t in enumerate(times) if not 8 <= k <= 9],  # three intervals
        "worker-2.example": [t for k, t in enumerate(times) if k != 8],  # two
    }
    for host, found in kept.items():
        samples._readings[host].extend((t, 100.0) for t in found)
    made = samples.record(since, until)
    assert {row.host for row in made.samples} == {"master.example", "worker-2.example"}
    assert made.problems == ["power: readings are missing of 1 host: worker-1.example"]
    stale = make(50.0)
    stale._readings["master.example"].append((since - 60.0, 50.0))
    made = stale.record(since, until)
    assert list(made.samples) == [] and made.power_source is None
    assert made.problems[0].startswith("power is not recorded: readings are missing of 3 hosts")


def test_a_missing_program_is_an_error_of_the_set_up(make: Callable[..., PowerSamples]) -> None:
    class Missing(FixedMeter):
        def watts(self) -> float:
            raise SetupError("the program ipmitool is not installed", remedy="install it.")

    samples = make(50.0, hosts={"master.example": False})
    samples._meters = {"master.example": Missing()}
    with pytest.raises(SetupError, match="not installed"):
        samples.caveats()


def test_a_cluster_without_a_readable_meter_is_refused(make: Callable[..., PowerSamples]) -> None:
    with pytest.raises(ClusterAccessError, match="no meter can be read: the controller does not"):
        make(None, None, None).caveats()
    with pytest.raises(ClusterAccessError, match="no address of a controller"):
        make().caveats()


def test_controllers_by_redfish_are_read_with_tls_and_a_password(tmp_path: Path) -> None:
    certificate = webserver.certificate(tmp_path, "localhost")
    bmc.write_chassis(tmp_path / "files", {"1": bmc.power(214)})
    with bmc.redfish(tmp_path / "files", certificate) as url:
        password = tmp_path / "password"
        password.write_text(bmc.PASSWORD)
        given = options(
            address=None,
            addresses={"worker-1": url},
            user=bmc.USER,
            password_file=str(password),
            ca_file=str(certificate),
        )
        samples = open_power(given, HOSTS, {}, lambda **access: RestClient(Access(**access)))
        try:
            notes = samples.caveats()
            without = "2 hosts: master.example, worker-2.example"
            assert notes == [f"power: there is no address of a controller for {without}"]
            assert [watts for _, watts in samples._readings["worker-1.example"]] == [214.0]
        finally:
            samples.close()
        assert given.to_record() == {
            "protocol": "redfish", "chassis": None, "sensor": None, "interval": "10 s"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("hosts", "changes", "said"),
    [
        (("w1.rack1.example", "w1.rack2.example"), {}, "have the same controller"),
        (("w1", "w2"), {"addresses": {"w3": "https://bmc"}}, "has no host w3"),
        (("w1",), {"user": "me", "password_file": "/no/file"}, "does not exist"),
    ],
)
def test_addresses_and_files_are_checked(
    hosts: tuple[str, ...], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        open_power(options(**changes), dict.fromkeys(hosts, True), {}, RestClient)


@pytest.mark.parametrize("content", [b"", b"\nsecret", b"\xe4"])
def test_a_password_file_must_have_a_first_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    given = options(user="me", password_file=str(file))
    with pytest.raises(UsageError, match="password file"):
        open_power(given, HOSTS, {}, RestClient)


def test_hosts_with_addresses_as_names_keep_them() -> None:
    assert options().address_of("10.0.0.17") == "https://10.0.0.17-bmc.example"


def test_the_address_follows_from_the_name_of_the_host() -> None:
    given = options(
        addresses={"worker-2": "https://10.0.0.2", "master.example": "https://[fd00::1]"}
    )
    assert [given.address_of(host) for host in HOSTS] == [
        "https://[fd00::1]",
        "https://worker-1-bmc.example",
        "https://10.0.0.2",
    ]
    assert footprint(given) == [
        "Redfish: one GET of the power of the chassis to the controller (BMC) of each host every "
        "10 s"
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protocol": "snmp"}, "protocol"),
        ({"address": "{host}-bmc"}, "not an address of a controller"),
        ({"address": "https://me:pw@{host}"}, "not an address"),
        ({"address": "https://{host}/redfish/v1"}, "not an address"),
        ({"address": "https://{host} bmc"}, "not an address"),
        ({"address": "https://{host}:99999"}, "not an address"),
        ({"address": None, "addresses": {"w1": "https://"}}, "not an address"),
        ({"addresses": {"w1": "https://{host}"}}, "for 'address' only"),
        ({"address": "http://{host}", "user": "me", "password_file": "p"}, "without TLS"),
        ({"chassis": ""}, "at least 1 character"),
        ({"address": "https://bmc"}, "must contain '{host}'"),
        ({"address": None}, "addresses of the controllers are missing"),
        ({"sensor": "Power"}, "not an option of redfish"),
        ({"user": "me"}, "'user' needs 'password_file'"),
        ({"interval": "0.5 s"}, "at least 1 s"),
        ({"protocol": "ipmi"}, "ipmi needs 'user' and 'password_file'"),
        (
            {"protocol": "ipmi", "user": "me", "password_file": "p", "chassis": "1"},
            "not an option of ipmi",
        ),
        ({"protocol": "ipmi", "user": "me", "password_file": "p"}, "not an address"),
    ],
)
def test_options_that_cannot_be_used(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        options(**changes)
