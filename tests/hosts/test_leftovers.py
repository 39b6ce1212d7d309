"""The register of deployments, and the removal of what dead ones left, and only that."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from windtunnel import durable
from windtunnel.errors import ResultsError
from windtunnel.hosts import owner_lock
from windtunnel.hosts.leftovers import (
    Registration,
    clean,
    clean_this_machine,
    registered,
    state_root,
)
from windtunnel.hosts.owner_lock import LOCK
from windtunnel.hosts.supervisor import MARKER

OWNER = """\
import os, subprocess, sys, time
from windtunnel.hosts.leftovers import Registration
entry = Registration.create("local")
entry.update(cluster="toy")
(entry.scratch / "block").write_text("data")
if sys.argv[1] == "parent":
    child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
    (entry.scratch / "child").write_text(str(child.pid))
if sys.argv[1] == "forked":
    child = os.fork()
    if child == 0:
        time.sleep(600)
    (entry.scratch / "child").write_text(str(child))
print(entry.id, flush=True)
time.sleep(600 if sys.argv[1] != "dead" else 0)
"""


@contextmanager
def sleeper(**env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, perhaps with our mark in its environment."""
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, **env})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def owner(kind: str) -> Iterator[str]:
    """A deployment of another process, which lives or has died; its id."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, kind], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    process.stdout.close()
    if kind == "dead":
        process.wait()
    try:
        yield name
    finally:
        process.kill()
        process.wait()


def entry_of(name: str) -> Registration:
    return next(entry for entry in registered() if entry.id == name)


def test_a_registration_is_there_with_owner_and_marker_before_anything_starts(
    state: Path,
) -> None:
    entry = Registration.create("local")

    assert entry.folder == state / "deployments" / entry.id
    assert entry.facts()["owner"][0] == os.getpid()
    assert entry.facts()["testbed"] == "local"
    assert (entry.scratch / ".windtunnel-scratch").read_text() == entry.id
    assert entry.owner_alive()
    assert [found.id for found in registered()] == [entry.id]


def test_facts_are_added_and_survive(state: Path) -> None:
    entry = Registration.create("local")
    entry.update(endpoints={"namenode": "http://127.1.2.3:20001/"})
    entry.update(interactive=True)

    facts = entry_of(entry.id).facts()
    assert facts["interactive"]
    assert facts["endpoints"] == {"namenode": "http://127.1.2.3:20001/"}
    assert facts["testbed"] == "local"


def test_a_half_written_update_leaves_the_old_facts(state: Path) -> None:
    entry = Registration.create("local")
    (entry.folder / "deployment.json.new").write_text('{"owner": [')

    assert entry_of(entry.id).owner_alive()


def test_a_registration_survives_the_death_of_its_owner(state: Path) -> None:
    with owner("dead") as name:
        entry = entry_of(name)
        assert not entry.owner_alive()
        assert entry.facts()["cluster"] == "toy"
        assert (entry.scratch / "block").is_file()


def test_a_process_id_that_was_given_to_another_process_is_not_the_owner(state: Path) -> None:
    entry = Registration.create("local")
    me = psutil.Process()
    entry.update(owner=[me.pid, me.create_time() - 100])
    entry.release()

    assert not entry.owner_alive()


def test_entries_of_another_machine_that_shares_the_folder_are_kept(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    monkeypatch.setattr("windtunnel.hosts.identity._MACHINE_ID", file)
    file.write_text("a" * 32)
    entry = Registration.create("local")
    entry.update(owner=[1, 0.0], machine="edge-2")
    entry.release()
    assert not entry.owner_alive()

    file.write_text("b" * 32)
    assert entry.owner_alive()
    (line,) = clean()
    assert line.startswith(f"kept {entry.id}: run 'windtunnel clean' on its machine or in its con")
    assert "edge-2; if it no longer exists, " in line
    assert line.endswith(f"'windtunnel clean --forget {entry.id}' removes its entry")
    assert "--id" not in line
    entry.update(attached={"cluster_id": "CID-1"})
    assert f"'windtunnel clean --id {entry.id}'" in clean()[0]
    assert entry.scratch.is_dir()


def test_the_owner_of_another_container_is_alive_by_its_lock(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process number has no meaning here, and images of containers have no machine id."""
    monkeypatch.setattr("windtunnel.hosts.leftovers.machine_id", str)
    with owner("live") as name:
        entry = entry_of(name)
        entry.update(owner=[2**22 + 1, 5, "boot"], processes="pid:[1]")
        assert entry.owner_alive()
        assert clean() == []
        assert (entry.scratch / "block").is_file()
    assert not entry.owner_alive()
    assert clean() == [f"removed the folder of {name}"]


def test_without_a_lock_a_process_of_another_container_may_run(state: Path) -> None:
    with owner("dead") as name:
        entry = entry_of(name)
        (entry.folder / LOCK).unlink()
        assert not entry.owner_alive(), "an entry of an earlier version, by its process"
        entry.update(processes="pid:[1]")
        assert entry.owner_alive()
        (line,) = clean()
        assert line.startswith(f"kept {name}: ")
        assert (entry.scratch / "block").is_file()


def test_a_file_system_without_locks_leaves_the_process(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    entry = Registration.create("local")
    assert owner_lock.held(entry.folder) is None
    assert entry.owner_alive()
    entry.update(owner=[2**22 + 1, 5, "boot"])
    assert not entry.owner_alive()
    assert entry.forget() == [], "an entry without a ledger needs no lock"
    assert not entry.folder.exists()


def test_processes_of_the_owner_do_not_hold_its_lock(state: Path) -> None:
    with owner("parent") as name:
        child = int((entry_of(name).scratch / "child").read_text())
        try:
            assert entry_of(name).owner_alive()
            parent = psutil.Process(entry_of(name).facts()["owner"][0])
            parent.kill()
            parent.wait(60)
            assert not entry_of(name).owner_alive()
            assert psutil.pid_exists(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_child_whose_program_has_not_started_does_not_keep_the_owner_alive(state: Path) -> None:
    """Between fork and exec it has a copy of the lock; on a busy machine that takes a while."""
    with owner("forked") as name:
        child = int((entry_of(name).scratch / "child").read_text())
        try:
            parent = psutil.Process(entry_of(name).facts()["owner"][0])
            parent.kill()
            parent.wait(60)
            assert owner_lock.held(entry_of(name).folder)
            assert clean() == [f"removed the folder of {name}"]
        finally:
            os.kill(child, signal.SIGKILL)


def test_after_a_boot_of_the_machine_the_lock_counts(state: Path) -> None:
    with owner("live") as name:
        entry = entry_of(name)
        pid, start, _ = entry.facts()["owner"]
        entry.update(owner=[pid, start, "an earlier boot"])
        assert entry.owner_alive()
    assert not entry.owner_alive()


def test_clean_removes_processes_and_folders_of_the_dead_alone(state: Path) -> None:
    with (
        owner("dead") as dead,
        owner("live") as live,
        sleeper(**{MARKER: dead}) as left_behind,
        sleeper(**{MARKER: live}) as of_the_living,
        sleeper(**{MARKER: "wt-not-in-the-register"}) as of_another_register,
        sleeper() as foreign,
    ):
        (state / "deployments" / "mine.txt").write_text("not a deployment")
        lines = clean()

        assert left_behind.wait(60) is not None
        for spared in (of_the_living, of_another_register, foreign):
            assert spared.poll() is None
        assert [entry.id for entry in registered()] == [live]
        assert (entry_of(live).scratch / "block").is_file()
        assert (state / "deployments" / "mine.txt").is_file()
        assert not (state / "deployments" / dead).exists()
        assert any(f"process {left_behind.pid}" in line for line in lines)
        assert f"removed the folder of {dead}" in lines
        assert clean() == [], "a second time there is nothing to do"


def test_an_entry_stays_until_all_that_is_elsewhere_is_removed(state: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OWNER, "dead"], capture_output=True, text=True, check=True
    )
    id_ = done.stdout.strip()

    assert clean(lambda entry: ["no answer"]) == [f"NOT removed, of {id_}: no answer"]
    assert [entry.id for entry in registered()] == [id_]
    assert clean(lambda entry: []) == [f"removed the folder of {id_}"]
    assert registered() == []


def test_before_a_study_the_rest_of_dead_ones_is_removed_from_this_machine(state: Path) -> None:
    """A container of YARN, which detaches itself, survives if program and supervisor are killed."""
    notes: list[str] = []
    with (
        owner("dead") as dead,
        owner("dead") as attached,
        owner("live") as live,
        sleeper(**{MARKER: dead}) as container,
        sleeper(**{MARKER: live}) as of_the_living,
    ):
        entry_of(attached).update(attached={"cluster_id": "CID-1"})
        clean_this_machine(notes.append)
        assert container.wait(60) is not None
        assert of_the_living.poll() is None
        assert {entry.id for entry in registered()} == {attached, live}
    lead = "left by a command that was killed: "
    assert notes == [
        f"{lead}ended process {container.pid} (sleep) of {dead}",
        f"{lead}removed the folder of {dead}",
    ]


def test_a_study_leaves_runs_of_other_containers_to_the_command_clean(state: Path) -> None:
    """Those of earlier versions have no lock and do not state their container."""
    notes: list[str] = []
    with owner("dead") as other, owner("dead") as older, sleeper(**{MARKER: older}) as container:
        entry_of(other).update(processes="pid:[1]")
        entry_of(older).update(processes=None)
        (entry_of(older).folder / owner_lock.LOCK).unlink()
        clean_this_machine(notes.append)
        assert container.poll() is None
        assert {entry.id for entry in registered()} == {other, older}
    assert notes == []


def test_clean_names_the_storage_in_which_data_can_be_left(state: Path) -> None:
    entry = Registration.create("local")
    entry.update(owner=None, outside="the bucket bench of https://s3")
    entry.release()

    first, second = clean()
    assert first == f"removed the folder of {entry.id}"
    assert "left in the bucket bench of https://s3: the next cluster" in second


def test_clean_on_a_machine_without_any_run_does_nothing(state: Path) -> None:
    assert clean() == []
    assert not state.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": null}', '{"owner": ["x", "y"]}'])
def test_a_damaged_entry_counts_as_dead_and_is_removed(state: Path, text: str) -> None:
    entry = Registration.create("local")
    (entry.folder / "deployment.json").write_text(text)
    entry.release()

    assert clean() == [f"removed the folder of {entry.id}"]
    assert registered() == []


def test_an_entry_that_is_just_being_made_is_never_seen_without_its_owner(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    write, replace = Path.write_text, Path.replace

    def look() -> None:
        seen.extend(entry.owner_alive() for entry in registered())

    def watched_write(self: Path, text: str) -> int:
        look()
        return write(self, text)

    def watched_replace(self: Path, target: Path) -> Path:
        look()
        return replace(self, target)

    monkeypatch.setattr(Path, "write_text", watched_write)
    monkeypatch.setattr(Path, "replace", watched_replace)
    Registration.create("local")

    assert all(seen), "a 'windtunnel clean' at that moment would have removed it"


def test_the_name_of_a_new_entry_survives_a_power_failure(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[Path, list[str]]] = []
    flush = durable.flush

    def watched(path: Path) -> None:
        flushed.append((path, [entry.id for entry in registered()]))
        flush(path)

    monkeypatch.setattr(durable, "flush", watched)
    entry = Registration.create("local")
    assert flushed[-1] == (state / "deployments", [entry.id])


def test_clean_removes_entries_whose_owner_died_while_it_registered_them(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windtunnel.hosts.leftovers.machine_id", lambda: "this machine")
    dead, none, new, live, other = (Registration.create("local") for _ in range(5))
    dead.update(owner=None)
    new.update(owner=None)
    other.update(owner=None, machine_id="another machine")
    (none.folder / "deployment.json").unlink()
    for entry in (dead, none, new, other):
        entry.release()
    for entry in (dead, none, new, live, other):
        entry.folder = entry.folder.rename(entry.folder.with_name(f".{entry.id}"))
        if entry is not new:
            os.utime(entry.folder, (0, 0))

    lines = clean()
    assert sorted(lines) == sorted(
        f"removed the incomplete folder of {entry.id}" for entry in (dead, none)
    )
    assert not dead.folder.exists() and not none.folder.exists()
    assert new.folder.exists() and live.folder.exists() and other.folder.exists()
    assert clean() == []


def test_a_state_folder_that_cannot_be_written_is_named(
    readonly_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDTUNNEL_STATE", str(readonly_disk / "state"))
    with pytest.raises(ResultsError, match="Read-only file system") as caught:
        Registration.create("local")
    assert "WINDTUNNEL_STATE" in caught.value.remedy


def test_the_state_folder_can_be_chosen(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_root() == state
    monkeypatch.delenv("WINDTUNNEL_STATE")
    assert state_root().name == "windtunnel"


def test_the_state_folder_has_no_symbolic_links(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports mounts without them; otherwise they would never be undone."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for chosen in (tmp_path / "link", tmp_path / "real" / "deep" / ".."):
        monkeypatch.setenv("WINDTUNNEL_STATE", str(chosen))
        assert state_root() == tmp_path / "real"
    monkeypatch.delenv("WINDTUNNEL_STATE")
    for variable in ("XDG_STATE_HOME", "HOME"):  # macOS has the second one only
        monkeypatch.setenv(variable, str(tmp_path / "link"))
    assert (tmp_path / "real") in state_root().parents


def test_forget_removes_the_whole_entry(state: Path) -> None:
    entry = Registration.create("local")
    (entry.scratch / "block").write_text("data")
    entry.forget()

    assert registered() == []
    assert json.loads(json.dumps(entry.facts())) == {}
