"""Durable writes: whole or as before, flushed before they are named, full disks named."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import windtunnel
from windtunnel import durable
from windtunnel.errors import ResultsError, SetupError, StorageFullError


def failing(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def test_a_file_is_written_with_the_usual_permissions(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    durable.write_text(file, "grüße")
    durable.write_text(file, "größer")
    plain = tmp_path / "plain"
    plain.touch()

    assert file.read_bytes() == "größer".encode()
    assert file.stat().st_mode == plain.stat().st_mode
    assert sorted(tmp_path.iterdir()) == [file, plain]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "facts.json"
    file.write_text("old")

    def full(handle: int) -> None:
        raise failing(errno.ENOSPC)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        durable.write_text(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_content_is_flushed_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    fsync, replace = os.fsync, Path.replace

    def spy_fsync(handle: int) -> None:
        inode = os.fstat(handle).st_ino
        steps.append("folder" if inode == tmp_path.stat().st_ino else "content")
        fsync(handle)

    def spy_replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(Path, "replace", spy_replace)
    durable.write_text(tmp_path / "a", "x")
    assert steps == ["content", "rename", "folder"]

    steps.clear()
    (tmp_path / "b.new").write_text("x")
    assert durable.move_into_place(tmp_path / "b.new", tmp_path / "b").read_text() == "x"
    assert steps == ["content", "rename", "folder"]

    steps.clear()
    durable.append(tmp_path / "c", b"1")
    durable.append(tmp_path / "c", b"2")
    assert (tmp_path / "c").read_bytes() == b"12"
    assert steps == ["content", "folder", "content"]


def test_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "shared"
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: durable.write_text(file, text), texts))
    assert file.read_text() in texts
    assert list(tmp_path.iterdir()) == [file]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 255)
    durable.write_bytes(file, b"1")
    assert file.read_bytes() == b"1"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_what_is_full_is_a_storage_error(code: int) -> None:
    with (
        pytest.raises(StorageFullError, match=os.strerror(code)) as caught,
        durable.storage_errors("out cannot be written", remedy="other", space="free some space"),
    ):
        raise failing(code)
    assert caught.value.remedy == "free some space"


def test_another_reason_is_the_given_error() -> None:
    for kind in (ResultsError, SetupError):
        with (
            pytest.raises(kind, match="out cannot be written: Permission denied") as caught,
            durable.storage_errors("out cannot be written", remedy="chmod", error=kind),
        ):
            raise failing(errno.EACCES)
        assert caught.value.remedy == "chmod"


def test_other_errors_pass() -> None:
    with (
        pytest.raises(ValueError, match="mine"),
        durable.storage_errors("out cannot be written", remedy=""),
    ):
        raise ValueError("mine")


def test_nobody_else_flushes_files() -> None:
    package = Path(windtunnel.__file__).parent
    flushing = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if "os.fsync(" in file.read_text(encoding="utf-8")
    }
    measuring = {"hosts/fabric/probe.py", "testbeds/scaled/machine.py"}
    clients = {file for file in flushing if file.startswith("workloads/client/")}
    tested = {"engines/storage_checks/posix_program.py"}  # what file systems promise of a flush
    assert flushing == {"durable.py"} | measuring | clients | tested
