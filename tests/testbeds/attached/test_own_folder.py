"""Nothing outside the folder of a study is ever removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from windtunnel.engines.deployment import FileStatus
from windtunnel.errors import DeploymentError
from windtunnel.testbeds.attached.own_folder import MARKER, OwnFolder


class Files:
    """A file system: path -> content; folders are paths with None."""

    def __init__(self) -> None:
        self.paths: dict[str, bytes | None] = {"/user": None, "/user/me": None}
        self.refuses_quota = False
        self.policies: list[tuple[str, str | None]] = []

    def exists(self, path: str) -> bool:
        return path in self.paths

    def make_folder(self, path: str) -> None:
        parts = path.split("/")
        for number in range(2, len(parts) + 1):
            self.paths.setdefault("/".join(parts[:number]), None)

    def write(self, path: str, content: bytes) -> None:
        self.paths[path] = content

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        return self.paths[path] or b""

    def set_space_quota(self, path: str, size_bytes: int) -> None:
        if self.refuses_quota:
            raise DeploymentError("Access denied for user me. Superuser privilege is required")

    def set_storage_policy(self, path: str, policy: str | None) -> None:
        self.policies.append((path, policy))

    def delete(self, path: str) -> None:
        self.paths = {p: c for p, c in self.paths.items() if not f"{p}/".startswith(f"{path}/")}

    def remove_empty(self, path: str) -> bool:
        if any(p.startswith(f"{path}/") for p in self.paths):
            return False
        return self.paths.pop(path, b"absent") != b"absent"

    def list_files(self, path: str) -> list[FileStatus]:
        return [FileStatus(one, len(c), 1) for one, c in self._in(path) if c is not None]

    def folders(self, path: str) -> list[str]:
        return [one for one, content in self._in(path) if content is None]

    def _in(self, path: str) -> list[tuple[str, bytes | None]]:
        return [(p, c) for p, c in self.paths.items() if p.rpartition("/")[0] == path]


def folder(files: Files, id_: str = "wt-1") -> OwnFolder:
    made: Any = files
    return OwnFolder(made, "/user/me/windtunnel", id_)


def test_a_storage_policy_is_set_on_a_folder_that_is_created() -> None:
    files = Files()
    mine = folder(files)
    trials = f"{mine.path}/trials"
    mine.set_policy(trials, None)
    assert files.policies == [], "there is no folder and no policy"
    mine.set_policy(trials, "ALL_SSD")
    mine.set_policy(trials, None)
    assert files.policies == [(trials, "ALL_SSD"), (trials, None)]
    assert trials in files.paths
    with pytest.raises(DeploymentError, match="is not inside"):
        mine.set_policy("/user/me", "ALL_SSD")


def test_what_a_study_created_is_removed_with_an_empty_parent() -> None:
    files = Files()
    mine = folder(files)
    above = mine.new_ancestor()
    mine.create(1 << 30, {"study": "toy"})
    assert above == "/user/me/windtunnel"
    assert mine.quota
    marker = json.loads(files.paths[f"{mine.path}/{MARKER}"] or b"")
    assert (marker["id"], marker["study"]) == ("wt-1", "toy")

    mine.remove(above)
    assert files.paths == {"/user": None, "/user/me": None}
    mine.remove(above)


def test_a_parent_that_another_run_uses_stays() -> None:
    files = Files()
    first, second = folder(files), folder(files, "wt-2")
    above = first.new_ancestor()
    first.create(1, {})
    assert second.new_ancestor() is None
    second.create(1, {})

    first.remove(above)
    assert second.owned()


@pytest.mark.parametrize("other", [None, "/data/team/other"])
def test_all_folders_above_that_a_study_created_are_removed_if_empty(other: str | None) -> None:
    files = Files()
    files.make_folder("/data")
    made: Any = files
    mine = OwnFolder(made, "/data/team/bench/runs", "wt-1")
    above = mine.new_ancestor()
    assert above == "/data/team"
    mine.create(1, {})
    if other:
        files.make_folder(other)
    mine.remove(above)
    rest = {path for path in files.paths if path.startswith("/data")}
    assert rest == ({"/data", "/data/team", other} if other else {"/data"})


def test_a_quota_that_is_refused_is_no_error() -> None:
    files = Files()
    files.refuses_quota = True
    mine = folder(files)
    mine.create(1, {})

    assert not mine.quota
    assert mine.owned()


@pytest.mark.parametrize(
    ("name", "content"),
    [("data", b"x"), (MARKER, b"{"), (MARKER, b"[]"), (MARKER, b'{"id": "wt-9"}')],
)
def test_a_folder_without_the_marker_of_the_run_is_not_removed(name: str, content: bytes) -> None:
    files = Files()
    mine = folder(files)
    files.make_folder(mine.path)
    files.write(f"{mine.path}/{name}", content)

    with pytest.raises(DeploymentError, match="no marker of this run"):
        mine.remove(mine.parent)
    assert files.exists(mine.path)


@pytest.mark.parametrize("marker", [False, True])
def test_an_empty_folder_of_a_run_that_was_killed_is_removed(marker: bool) -> None:
    files = Files()
    mine = folder(files)
    files.make_folder(mine.path)

    if marker:
        files.write(f"{mine.path}/{MARKER}", b"")
    mine.remove(mine.parent)
    assert not files.exists(mine.parent)


def test_an_empty_marker_next_to_other_files_is_kept() -> None:
    files = Files()
    mine = folder(files)
    files.make_folder(f"{mine.path}/data")
    files.write(f"{mine.path}/{MARKER}", b"")
    with pytest.raises(DeploymentError, match="no marker of this run"):
        mine.remove()
    assert files.exists(f"{mine.path}/{MARKER}")


def test_a_folder_that_exists_is_not_taken() -> None:
    files = Files()
    files.make_folder("/user/me/windtunnel/wt-1")

    with pytest.raises(DeploymentError, match="exists already"):
        folder(files).create(1, {})


@pytest.mark.parametrize(
    "path",
    [
        "/user/me",
        "/user/me/windtunnel/wt-1",
        "/user/me/windtunnel/wt-10/x",
        "/user/me/windtunnel/wt-1/../wt-2",
        "/",
        "",
    ],
)
def test_nothing_outside_is_deleted(path: str) -> None:
    files = Files()
    mine = folder(files)
    mine.create(1, {})

    before = dict(files.paths)
    with pytest.raises(DeploymentError, match="is not inside"):
        mine.delete(path)
    assert files.paths == before
    mine.delete(f"{mine.path}/trials/r01")
