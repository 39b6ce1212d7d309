"""Short clients of an existing cluster."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.testbeds.attached.client import Client
from windtunnel.testbeds.attached.options import AttachedOptions


@pytest.mark.skipif(sys.platform != "linux", reason="the session is read from /proc")
def test_signals_of_the_terminal_do_not_end_a_client_that_ends_jobs(tmp_path: Path) -> None:
    """Ctrl-C and the end of a terminal are sent to all processes of the session."""
    program = tmp_path / "hadoop"
    program.write_text("#!/bin/sh\ncut -d' ' -f6 /proc/$$/stat\n")  # proc_pid_stat(5): session
    program.chmod(0o755)
    options = AttachedOptions(conf=str(tmp_path), hadoop=str(program))
    software: Any = SimpleNamespace(client_lib=tmp_path)

    session = int(Client(options, software).run("Main", []))
    assert session != os.getsid(0)
