"""RAPL counters of a made-up kernel: watts, wrap-around, what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.probes.power import READERS, probe, rapl
from windtunnel.probes.power.rapl import Rapl, grown
from windtunnel.probes.sampler import Sampler

WRAP = 262_143_328_850


def domain(root: Path, folder: str, name: str, counter: int) -> Path:
    """A domain as the kernel shows it; returns its counter."""
    path = root / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{WRAP}\n")
    (path / "energy_uj").write_text(f"{counter}\n")
    return path / "energy_uj"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """Two sockets with cores and memory, and the platform domain that holds them all."""
    for socket in (0, 1):
        domain(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 1_000_000)
        domain(tmp_path, f"intel-rapl:{socket}:0", "core", 500_000)
        domain(tmp_path, f"intel-rapl:{socket}:1", "dram", 200_000)
    domain(tmp_path, "intel-rapl:2", "psys", 9_000_000)
    (tmp_path / "intel-rapl").mkdir()
    return tmp_path


def test_watts_are_joules_per_second_and_nothing_is_counted_twice(kernel: Path) -> None:
    reader = Rapl(kernel)
    assert list(reader.sample(10.0)) == []  # one reading of a counter tells no power
    domain(kernel, "intel-rapl:0", "package-0", 1_000_000 + 100_000_000)
    domain(kernel, "intel-rapl:1:1", "dram", 200_000 + 6_000_000)

    watts = dict(reader.sample(12.0))

    assert watts == {"package-0": 50.0, "package-1": 0.0, "dram-0": 0.0, "dram-1": 3.0}


def test_a_counter_that_wrapped_goes_on(kernel: Path) -> None:
    domain(kernel, "intel-rapl:0", "package-0", WRAP - 30_000_000)
    reader = Rapl(kernel)
    list(reader.sample(0.0))
    domain(kernel, "intel-rapl:0", "package-0", 20_000_000)

    assert dict(reader.sample(1.0))["package-0"] == pytest.approx(50.0)


@given(
    wraps_at=st.integers(2, 2**63),
    before=st.integers(0, 2**63),
    growth=st.integers(0, 2**63),
)
def test_growth_is_found_whatever_the_counter_shows(
    wraps_at: int, before: int, growth: int
) -> None:
    before, growth = before % wraps_at, growth % wraps_at
    assert grown(before, (before + growth) % wraps_at, wraps_at) == growth


def test_a_machine_without_counters_says_so_and_what_helps(tmp_path: Path) -> None:
    support = Rapl(tmp_path / "nothing").support()

    assert not support.works
    assert "no RAPL counters" in support.said
    assert "--csv" in support.remedy


def test_counters_for_root_only_say_so(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.read_text

    def guarded(path: Path, *args: object, **kwargs: object) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "read_text", guarded)
    support = Rapl(kernel).support()

    assert not support.works
    assert "not readable" in support.said
    assert "root" in support.remedy


def test_a_damaged_counter_is_no_support(kernel: Path) -> None:
    (kernel / "intel-rapl:0" / "max_energy_range_uj").write_text("soon")

    assert not Rapl(kernel).support().works


def test_the_sampler_takes_power_along(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rapl, "ROOT", kernel)
    monkeypatch.setattr(probe, "live_readers", lambda: [Rapl(kernel)])
    made = Sampler(dict)
    assert made.power_source is None
    made.rows += made._sample(100.0)
    domain(kernel, "intel-rapl:0", "package-0", 1_000_000 + 75_000_000)
    made.rows += made._sample(101.0)

    power = [row for row in made.rows if row.metric.startswith("power:")]
    assert (101.0, "this-machine", "power:package-0", "W", 75.0) in power
    assert {row[3] for row in power} == {"W"}
    assert str(made.power_source).startswith("rapl: ")


def test_every_reader_says_whether_it_works() -> None:
    for name, entry in READERS.items():
        support = entry.support()
        assert entry.name == name
        assert support.said
        assert support.works or support.remedy
