"""Virtual hosts on this machine's kernel whose builder is killed or fails: no traces.

Other deployments come and go meanwhile, but none with virtual hosts: see ``GROUPS``.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.real.conftest import Cli, wait_for
from tests.support.fabrics import lasting, six_workers, standing
from windtunnel.errors import DeploymentError
from windtunnel.hosts.fabric.disks import Disks
from windtunnel.hosts.fabric.ledger import LEDGER
from windtunnel.hosts.fabric.state import capabilities, differences, machine_state
from windtunnel.hosts.leftovers import clean, registered

MISSING = [lack.what for lack in capabilities() if lack.fatal]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")


def test_a_failure_while_building_leaves_nothing(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, names = machine_state(), list[str]()

    def refuse(self: Disks, disk: object) -> None:
        raise OSError("this disk cannot be limited")

    monkeypatch.setattr(Disks, "_limit", refuse)
    with (
        pytest.raises(DeploymentError, match="cannot be limited"),
        standing(six_workers(), tmp_path, names.append),
    ):
        pytest.fail("it must not stand")
    assert lasting(now, names[0]) == []


@pytest.mark.parametrize("supervised", [True, False], ids=["supervisor", "clean"])
@pytest.mark.parametrize("moment_s", [0.05, 0.3, 0.6, 0.9, 1.2, None])
def test_kill_at_any_moment(
    state: Path, tmp_path: Path, moment_s: float | None, supervised: bool
) -> None:
    """``kill -9`` of the builder, with its supervisor or without; then all is as it was."""
    now = machine_state()
    command = [sys.executable, "-m", "tests.support.fabrics", str(tmp_path / "logs")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as builder:
        assert builder.stdout is not None
        name = builder.stdout.readline().strip()
        if moment_s is None:
            assert builder.stdout.readline() == "standing\n"
            assert len(differences(now, machine_state())) > 100
        else:
            time.sleep(moment_s * random.uniform(0.7, 1.3))
        for victim in [] if supervised else psutil.Process(builder.pid).children():
            victim.kill()
        builder.kill()
    if supervised:
        ledger = state / "deployments" / name / LEDGER
        wait_for(lambda: not ledger.exists(), "the supervisor's undoing", 60)
        assert lasting(now, name) == []
    assert f"removed the folder of {name}" in clean()
    assert lasting(now, name) == []


def test_a_killed_calibration_leaves_nothing(cli: Cli, state: Path) -> None:
    before = machine_state()
    running = cli.start("calibrate", "scaled")
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("network"):
            break
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.stdout.close()
    (mine,) = (entry for entry in registered() if entry.facts().get("cluster") == "calibration")
    wait_for(lambda: not (mine.folder / LEDGER).exists(), "the undoing", 60)
    wait_for(lambda: mine.id not in str(differences(before, machine_state())), "its end", 30)
    clean()
    assert not mine.folder.exists()
