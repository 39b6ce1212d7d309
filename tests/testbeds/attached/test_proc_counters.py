"""The counters of /proc: formats of several kernels, rates between two readings, restarts."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.testbeds.attached.proc_counters import (
    SAMPLER,
    Counters,
    parse_counters,
    samples,
)

# Linux 5.14 (RHEL 9): two disks, one with a partition and a logical volume; one NIC in a bond
TEXT = """\
uptime 1000.50
load 2.25
cpu 100 10 50 800 20 5 5 10 0 0
MemTotal:       16384000 kB
MemFree:         2000000 kB
MemAvailable:   12288000 kB
Buffers:          100000 kB
Cached:          8192000 kB
SwapCached:            0 kB
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo: 777 1 0 0 0 0 0 0 777 1 0 0 0 0 0 0
  eno1: 5000 10 0 0 0 0 0 0 3000 8 0 0 0 0 0 0
 bond0: 5000 10 0 0 0 0 0 0 3000 8 0 0 0 0 0 0
   8       0 sda 100 0 2000 40 50 0 1000 30 0 600 70 0 0 0 0 0 0
   8       1 sda1 100 0 2000 40 50 0 1000 30 0 600 70 0 0 0 0 0 0
 259       0 nvme0n1 10 0 100 4 5 0 200 3 0 90 7 0 0 0 0 0 0
 253       0 dm-0 100 0 2000 40 50 0 1000 30 0 600 70 0 0 0 0 0 0
"""
KIB = 1024


def later(before: Counters, seconds: float = 10.0, **changes: object) -> Counters:
    moved = replace(before, time_s=before.time_s + seconds, uptime_s=before.uptime_s + seconds)
    return replace(moved, **changes)  # type: ignore[arg-type]


def values(before: Counters, after: Counters) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples("worker", before, after)}


def test_devices_are_counted_once() -> None:
    read = parse_counters(TEXT, 7.0)
    assert read.disks == {"sda": (2000 * 512, 1000 * 512, 600), "nvme0n1": (51200, 102400, 90)}
    assert read.nics == {"eno1": (5000, 3000)}
    assert (read.time_s, read.uptime_s, read.load) == (7.0, 1000.5, 2.25)
    assert read.memory_used == (16384000 - 12288000) * KIB
    assert read.page_cache == 8192000 * KIB


def test_a_kernel_without_an_estimate_of_available_memory_has_one() -> None:
    text = TEXT.replace("MemAvailable:   12288000 kB\n", "")
    assert parse_counters(text, 0).memory_used == (16384000 - 2000000 - 100000 - 8192000) * KIB


@pytest.mark.parametrize("missing", ["uptime 1000.50\n", "cpu 100 10 50 800 20 5 5 10 0 0\n"])
def test_a_host_without_these_files_is_an_error(missing: str) -> None:
    with pytest.raises(ValueError, match=r"its /proc has no (uptime|cpu)"):
        parse_counters(TEXT.replace(missing, ""), 0)


def test_rates_are_means_over_the_interval_of_the_host() -> None:
    before = parse_counters(TEXT, 100.0)
    after = later(
        before,
        cpu={**before.cpu, "user": 175, "idle": 815, "system": 60},
        disks={"sda": (2000 * 512 + 10_000_000, 1000 * 512, 5600), "nvme0n1": (51200, 202400, 90)},
        nics={"eno1": (25_005_000, 3000)},
    )
    found = values(before, after)
    assert found["cpu_user"] == 0.75 and found["cpu_system"] == 0.1 and found["cpu_idle"] == 0.15
    assert found["disk_read"] == 1e6 and found["disk_write"] == 1e4
    assert found["disk_busy:sda"] == 0.5 and found["disk_busy:nvme0n1"] == 0
    assert found["net_received"] == 2.5e6 and found["net_sent"] == 0
    times = {sample.metric: sample.time_s for sample in samples("worker", before, after)}
    assert times["cpu_user"] == 105.5 and times["load_1min"] == 110.5


def test_a_restarted_host_has_no_samples_of_that_interval() -> None:
    before = parse_counters(TEXT, 100.0)
    assert samples("worker", before, replace(before, time_s=110.0, uptime_s=3.0)) == []


def test_a_device_that_appears_or_starts_anew_is_omitted_once() -> None:
    before = parse_counters(TEXT, 100.0)
    disks = {"sda": (0, 0, 0), "nvme0n1": (151200, 102400, 90), "sdb": (9_000_000, 0, 0)}
    found = values(before, later(before, disks=disks))
    assert found["disk_read"] == 1e4
    assert "disk_busy:sda" not in found and "disk_busy:sdb" not in found


ticks = st.lists(st.integers(0, 10**12), min_size=8, max_size=8)


@given(ticks, ticks, st.integers(0, 10**15), st.integers(0, 10**15))
def test_shares_are_fractions_and_rates_are_not_negative(
    first: list[int], second: list[int], then: int, now: int
) -> None:
    read = parse_counters(TEXT, 0.0)
    states = list(read.cpu)
    before = replace(read, cpu=dict(zip(states, first, strict=True)), nics={"eno1": (then, then)})
    after = later(read, cpu=dict(zip(states, second, strict=True)), nics={"eno1": (now, now)})
    found = values(before, after)
    assert all(value >= 0 for value in found.values())
    shares = [value for name, value in found.items() if name.startswith("cpu_")]
    assert not shares or sum(shares) == pytest.approx(1)


def test_the_program_runs_on_this_machine() -> None:
    argv = ["sh", "-c", SAMPLER]
    done = subprocess.run(argv, input="\n\n", capture_output=True, text=True, check=True)
    first, second, rest = done.stdout.split("\n=\n")
    read = [parse_counters(text, time.time()) for text in (first, second)]
    assert read[1].uptime_s >= read[0].uptime_s and rest == ""
    assert read[0].memory_used > 0
