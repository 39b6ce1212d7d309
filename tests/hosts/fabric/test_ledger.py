"""The ledger: whatever moment the death comes at, undoing brings the old state back."""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.hosts import syscalls
from windtunnel.hosts.fabric import undo as undo_module
from windtunnel.hosts.fabric.ledger import LEDGER, Ledger, Record, read, undo
from windtunnel.hosts.leftovers import Registration, clean


class DeathError(BaseException):
    """The process ends here."""


class Machine:
    """A made-up machine: things stand on each other, a value is shared with others."""

    def __init__(self) -> None:
        self.things: dict[str, str] = {}  # a thing and what it stands on
        self.values = {"shared": "old"}
        self.steps_left = 10**9

    def step(self) -> None:
        if self.steps_left == 0:
            raise DeathError
        self.steps_left -= 1

    def make(self, name: str, base: str) -> None:
        self.step()
        assert not base or base in self.things
        self.things[name] = base

    def remove(self, record: Record) -> None:
        self.step()
        name = str(record["name"])
        if name in self.things.values():
            raise OSError(f"{name} is busy")
        self.things.pop(name, None)

    def put_back(self, record: Record) -> None:
        self.step()
        self.values[str(record["name"])] = str(record["text"])

    @property
    def kinds(self) -> dict[str, Callable[[Record], None]]:
        return {"thing": self.remove, "value": self.put_back}


def build(machine: Machine, folder: Path, plan: list[tuple[str, int]]) -> None:
    """A tower of things for each entry, every one noted first; then the shared value."""
    ledger = Ledger(folder)
    for name, height in plan:
        floors = [f"{name}{floor}" for floor in range(height)]
        ledger.note(*({"kind": "thing", "name": floor} for floor in floors))
        for below, floor in zip(["", *floors], floors, strict=False):
            machine.make(floor, below)
        ledger.note({"kind": "value", "name": "shared", "text": "old"})
        machine.step()
        machine.values["shared"] = name


def run_until_death(machine: Machine, steps: int, work: Callable[[], object]) -> None:
    machine.steps_left = steps
    try:
        work()
    except DeathError:
        pass
    finally:
        machine.steps_left = 10**9


PLANS = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 4)), unique_by=lambda t: t[0])


@given(PLANS, st.integers(0, 30), st.lists(st.integers(0, 20), max_size=3), st.integers(0, 40))
def test_any_death_at_any_step_of_building_and_undoing_leaves_the_old_state(
    plan: list[tuple[str, int]], death: int, undo_deaths: list[int], torn: int
) -> None:
    machine = Machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_until_death(machine, death, lambda: build(machine, folder, plan))
        with (folder / LEDGER).open("ab") as file:  # the death tore the next record
            file.write(b'{"kind": "thing", "name": "never made, with a long name"}'[:torn])
        for steps in undo_deaths:
            run_until_death(machine, steps, lambda: undo(folder, machine.kinds))
        assert undo(folder, machine.kinds) == []
        assert machine.things == {}
        assert machine.values == {"shared": "old"}
        assert not (folder / LEDGER).exists()
        assert undo(folder, machine.kinds) == []


def test_what_cannot_be_undone_stays_in_the_ledger_and_the_rest_goes(tmp_path: Path) -> None:
    machine = Machine()
    build(machine, tmp_path, [("a", 1), ("b", 2)])
    machine.things["foreign"] = "a0"

    problems = undo(tmp_path, machine.kinds)

    assert problems == ['{"kind": "thing", "name": "a0"}: a0 is busy']
    assert read(tmp_path) == [{"kind": "thing", "name": "a0"}]
    del machine.things["foreign"]
    assert undo(tmp_path, machine.kinds) == []
    assert machine.things == {}


def test_a_kind_of_a_later_version_is_reported_and_kept(tmp_path: Path) -> None:
    Ledger(tmp_path).note({"kind": "warp"}, {"nothing": 1})
    assert len(undo(tmp_path, Machine().kinds)) == 2
    assert len(read(tmp_path)) == 2


def test_a_record_after_a_failed_write_is_still_read(tmp_path: Path) -> None:
    (tmp_path / LEDGER).write_bytes(b'{"kind": "thi')
    Ledger(tmp_path).note({"kind": "value", "name": "x", "text": "y"})
    assert read(tmp_path) == [{"kind": "value", "name": "x", "text": "y"}]


def test_a_ledger_that_cannot_be_read_is_kept_and_reported(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mounts, loop devices and control groups are known from it alone."""
    entry = Registration.create("scaled")
    entry.update(owner=None)
    entry.release()
    value = entry.folder / "limit"
    Ledger(entry.folder).note({"kind": "value", "path": str(value), "text": "old"})
    read_bytes = Path.read_bytes

    def fail(self: Path) -> bytes:
        if self.name == LEDGER:
            raise OSError(errno.EIO, "Input/output error")
        return read_bytes(self)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        with pytest.raises(OSError, match="Input/output error"):
            read(entry.folder)
        line = f"{entry.folder / LEDGER}: Input/output error"
        assert undo_module.undo(entry.folder) == [line]
        assert clean() == [f"NOT removed, of {entry.id}: {line}"]
    assert len(read(entry.folder)) == 1
    value.write_text("new")
    assert undo_module.undo(entry.folder) == []
    assert value.read_text() == "old"


def test_a_folder_that_is_gone_needs_no_undoing(tmp_path: Path) -> None:
    assert undo(tmp_path / "gone", {}) == []


def test_kinds_are_content_when_nothing_is_there(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    ledger = Ledger(tmp_path)
    for kind in ("netns", "mount", "cgroup", "value", "folder"):
        ledger.note({"kind": kind, "path": gone, "text": "0"})
    ledger.note({"kind": "loop", "index": 987654, "image": gone})
    assert {str(record["kind"]) for record in read(tmp_path)} == set(undo_module.KINDS)
    assert undo_module.undo(tmp_path) == []


def test_paths_of_earlier_versions_are_compared_without_the_links_of_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = "deployments/wt-12345678/scratch"
    real, link = tmp_path / "real", tmp_path / "link"
    (real / inside).mkdir(parents=True)
    link.symlink_to(real)
    mounted = {f"{real}/{inside}/disk", "/disk"}
    (real / inside / "made-by-a-daemon").symlink_to("/")
    detached: list[int] = []

    def unmount(path: Path, *, lazily: bool) -> None:
        mounted.remove(str(path))

    monkeypatch.setattr(undo_module, "mount_points", lambda: mounted)
    monkeypatch.setattr(syscalls, "unmount", unmount)
    monkeypatch.setattr(
        Path, "exists", lambda self: str(self) != "/sys/block/loop7" or not detached
    )
    monkeypatch.setattr(syscalls, "loop_fact", lambda index, name: f"{real}/{inside}/image")
    monkeypatch.setattr(syscalls, "loop_detach", detached.append)
    monkeypatch.setattr(syscalls, "loop_remove", lambda index: None)
    undo_module.KINDS["mount"]({"path": f"{link}/{inside}/disk"})
    undo_module.KINDS["mount"]({"path": f"{link}/{inside}/made-by-a-daemon/disk"})
    undo_module.KINDS["loop"]({"index": 7, "image": f"{link}/{inside}/image"})
    assert mounted == {"/disk"}, "what a daemon has linked is not the deployment's"
    assert detached == [7]


def test_folders_and_values_are_put_back_by_the_program_that_the_supervisor_runs(
    tmp_path: Path,
) -> None:
    value, folder = tmp_path / "limit", tmp_path / "ours"
    value.write_text("new")
    (folder / "deep").mkdir(parents=True)
    ledger = Ledger(tmp_path)
    ledger.note({"kind": "folder", "path": str(folder)})
    ledger.note({"kind": "value", "path": str(value), "text": "old"})

    command = [sys.executable, "-m", "windtunnel.hosts.fabric.undo", str(tmp_path)]
    subprocess.run(command, check=True)

    assert value.read_text() == "old"
    assert not folder.exists()


def test_clean_undoes_a_dead_deployment_and_keeps_its_entry_if_it_cannot(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Registration.create("scaled")
    value = tmp_path / "limit"
    Ledger(entry.folder).note({"kind": "value", "path": str(value), "text": "old"})
    assert clean() == [], "it lives"
    entry.update(owner=None)
    entry.release()

    def refuse(record: Record) -> None:
        raise OSError("not today")

    with monkeypatch.context() as patch:
        patch.setitem(undo_module.KINDS, "value", refuse)
        (line,) = clean()
        assert "not today" in line
        assert entry.folder.is_dir()
    assert clean() == [f"removed the folder of {entry.id}"]
    assert value.read_text() == "old"
