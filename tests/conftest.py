"""For all tests: ``tests.support`` is importable, also in child processes; no deadlines."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

# before the first import of numpy: threads of a test compete with the other process (as in the CLI)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import psutil
import pytest
from hypothesis import settings

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
)

gc.set_threshold(50_000, 20, 20)  # as in the CLI: most objects of tests live as long as the process

# a busy machine is no failure
settings.register_profile("windtunnel", deadline=None)
settings.load_profile("windtunnel")


@pytest.fixture(scope="session", autouse=True)
def charts() -> Iterator[None]:
    """Reports that a test makes in its own process start no process for their charts."""
    from tests.support.drawing import DrawerHere

    with pytest.MonkeyPatch.context() as patch:
        for name in ("windtunnel.report.chart_process", "windtunnel.report.html"):
            if name in sys.modules:
                patch.setattr(sys.modules[name], "Drawer", DrawerHere)
        yield


MEMORY = Path("/dev/shm")
PREFIX = "windtunnel-tests-"
LEAST_FREE_BYTES = 3 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--in-memory`` for tests that flush many small files to a disk."""
    text = "temporary folders in memory, if this machine has a file system there"
    parser.addoption("--in-memory", action="store_true", help=text)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: a sixth of the time, a test waits for something."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the temporary folder before pytest does; processes of xdist get a part of it."""
    if config.option.in_memory and not config.option.basetemp and _memory_is_usable():
        _remove_stale_folders()
        config.option.basetemp = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=MEMORY)
        config.add_cleanup(partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))


def _remove_stale_folders() -> None:
    """Folders of killed runs would keep their memory until the machine restarts."""
    for folder in MEMORY.glob(f"{PREFIX}*"):
        if not psutil.pid_exists(int(folder.name.removeprefix(PREFIX).partition("-")[0])):
            shutil.rmtree(folder, ignore_errors=True)


def _memory_is_usable() -> bool:
    """Whether there is room, and tests can execute the programs that they write."""
    if sys.platform != "linux" or not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > LEAST_FREE_BYTES


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A register of deployments of this test alone."""
    folder = tmp_path / "state"
    monkeypatch.setenv("WINDTUNNEL_STATE", str(folder))
    return folder


def _mount(folder: Path, *options: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root on Linux: it mounts a small file system")
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 96 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    _mount(folder, "size=96k")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def readonly_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system on which nothing can be written, by root neither."""
    folder = tmp_path / "readonly"
    folder.mkdir()
    _mount(folder, "ro")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
