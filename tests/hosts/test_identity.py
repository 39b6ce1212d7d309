"""Whether a process is the one that was meant."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from windtunnel.hosts.identity import alive, identity


def test_this_process_is_alive_and_an_ended_one_is_not() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stored = identity(process.pid)
    assert alive(stored)
    process.communicate(b"\n")
    assert not alive(stored)
    assert alive(identity(os.getpid()))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have epoch seconds only")
def test_the_clock_is_no_part_of_it() -> None:
    _, start, boot = identity(os.getpid())
    assert isinstance(start, int) and isinstance(boot, str)
    assert not alive([os.getpid(), start, "another boot"])
    assert not alive([os.getpid(), int(start) + 1, boot])


def test_entries_of_earlier_versions_are_understood() -> None:
    started = psutil.Process().create_time()
    assert alive([os.getpid(), started])
    assert not alive([os.getpid(), started - 100])


@pytest.mark.parametrize("stored", [None, [], ["x", "y"], {}, [1], 5, "owner"])
def test_other_data_is_no_process(stored: object) -> None:
    assert not alive(stored)
