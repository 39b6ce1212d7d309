"""What a run leaves on a cluster whose daemons answer only in part."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cluster_web import CLUSTER, ClusterWeb, application
from tests.testbeds.attached.test_own_folder import Files
from windtunnel.errors import StudyStoppedError
from windtunnel.hosts import leftovers
from windtunnel.hosts.leftovers import Registration
from windtunnel.testbeds.attached import remains
from windtunnel.testbeds.attached.access import ClusterAccess, open_access
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.own_folder import OwnFolder
from windtunnel.testbeds.attached.remains import clean_entry, end_and_remove, remove_earlier

RUN = "wt-12345678"


class PartlyDown(ClusterWeb):
    """A cluster of which some paths have no answer."""

    down: tuple[str, ...] = ()

    def answer(self, target: str) -> dict[str, Any] | None:
        return None if target.startswith(self.down) else super().answer(target)


@pytest.fixture
def web() -> PartlyDown:
    return PartlyDown(applications=[application("1", RUN), application("2", "wt-others")])


NEW: dict[str, Any] = {"new_ancestor": "/user/me/windtunnel"}
EARLIER: dict[str, Any] = {"new_parent": True}


def end(web: PartlyDown, conf: Path, files: Files, above: dict[str, Any] = NEW) -> list[str]:
    """End a run with one application and one folder; returns what is left.

    ``above`` is what its entry states about the folders above.
    """
    access = open_access(AttachedOptions(conf=str(conf)), conf, None)
    made: Any = files
    folder = OwnFolder(made, "/user/me/windtunnel", RUN)
    folder.create(1, {})

    def kill(ids: list[str]) -> None:
        web.applications = [one for one in web.applications if one["id"] not in ids]

    clients: Any = SimpleNamespace(edge=None, kill=kill)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterAccess, "own_folder", lambda *_: folder)
        access.clients = clients
        facts = {"attached": {"cluster_id": CLUSTER, **above}}
        entry: Any = SimpleNamespace(id=RUN, facts=lambda: facts)
        try:
            return end_and_remove(access, entry)
        finally:
            access.close()


def numbers(web: PartlyDown) -> list[str]:
    return [one["id"].rpartition("_")[2] for one in web.applications]


@pytest.mark.parametrize(("down", "above"), [((), NEW), ((), EARLIER), (("/ws/v1/history",), NEW)])
def test_nothing_is_left_without_the_history_server(
    down: tuple[str, ...], above: dict[str, Any], web: PartlyDown, conf: Path
) -> None:
    web.down = down
    files = Files()
    assert end(web, conf, files, above) == []
    assert numbers(web) == ["2"]
    assert set(files.paths) == {"/user", "/user/me"}


def test_the_folder_is_removed_without_the_resourcemanager(web: PartlyDown, conf: Path) -> None:
    web.down = ("/ws/v1/cluster",)
    files = Files()
    (left,) = end(web, conf, files)
    assert "/ws/v1/cluster/info" in left
    assert set(files.paths) == {"/user", "/user/me"}


def test_applications_are_ended_without_the_namenode(web: PartlyDown, conf: Path) -> None:
    web.down = ("/jmx",)
    files = Files()
    (left,) = end(web, conf, files)
    assert "/jmx" in left
    assert numbers(web) == ["2"]
    assert f"/user/me/windtunnel/{RUN}" in files.paths


def test_nothing_is_removed_from_another_cluster(web: PartlyDown, conf: Path) -> None:
    web.beans["NameNodeInfo"]["ClusterId"] = "CID-other"
    files = Files()
    (left,) = end(web, conf, files)
    assert "now that of the cluster CID-other" in left
    assert numbers(web) == ["1", "2"]
    assert f"/user/me/windtunnel/{RUN}" in files.paths


@pytest.mark.parametrize(
    "facts",
    [
        {"options": {"conf": "c", "of_another_version": 1}, "hadoop": "3.5", "cluster_id": CLUSTER},
        {"options": {"conf": "c"}, "hadoop": "3.5"},
        {"cluster_id": CLUSTER},
        {"options": "damaged", "hadoop": "3.5", "cluster_id": CLUSTER},
        ["damaged"],
    ],
)
def test_an_entry_that_cannot_be_read_does_not_stop_the_removal_of_others(
    facts: Any, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable, other = Registration.create("attached"), Registration.create("attached")
    unreadable.update(attached=facts, owner=None)
    other.update(owner=None)
    for entry in (unreadable, other):
        entry.release()
    monkeypatch.setattr(leftovers, "marks", list)
    lines = leftovers.clean(clean_entry)
    (kept,) = [line for line in lines if line.startswith("NOT")]
    assert f"of {unreadable.id}: the entry cannot be read (" in kept
    assert f"removed the folder of {other.id}" in lines
    assert [entry.id for entry in leftovers.registered()] == [unreadable.id]
    assert not list(unreadable.folder.glob("tickets-*"))


def dead(cluster: str) -> Registration:
    """The entry of a run on a cluster whose owner was killed."""
    entry = Registration.create("attached")
    entry.update(attached={"cluster_id": cluster}, owner=None)
    entry.release()
    return entry


def test_a_study_removes_what_its_killed_command_left_on_the_same_cluster(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, live = dead(CLUSTER), dead("CID-other"), Registration.create("attached")
    live.update(attached={"cluster_id": CLUSTER})
    cleaned: list[str] = []
    notes: list[str] = []

    def clean_it(entry: Registration) -> list[str]:
        cleaned.append(entry.id)
        return []

    monkeypatch.setattr(remains, "clean_entry", clean_it)
    remove_earlier(CLUSTER, notes.append)
    assert cleaned == [one.id]
    assert {entry.id for entry in leftovers.registered()} == {other.id, live.id}
    assert notes == [
        f"{one.id} was killed: its jobs and its folder on the cluster are removed first",
        f"left by a command that was killed: removed the folder of {one.id}",
    ]


def test_a_study_does_not_start_next_to_jobs_of_a_killed_one(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = dead(CLUSTER)
    monkeypatch.setattr(remains, "clean_entry", lambda entry: ["application 7 is still running"])
    with pytest.raises(StudyStoppedError) as caught:
        remove_earlier(CLUSTER, lambda text: None)
    assert f"application 7 is still running (of {one.id})" in caught.value.message
    assert "windtunnel clean" in caught.value.remedy
    assert [entry.id for entry in leftovers.registered()] == [one.id]
