"""Nothing outside the folder of a study is ever removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
        return self.paths.pop(path, b"") is None


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
    new_parent = not mine.has_parent()
    mine.create(1 << 30, {"study": "toy"})
    assert new_parent
    assert mine.quota
    marker = json.loads(files.paths[f"{mine.path}/{MARKER}"] or b"")
    assert (marker["id"], marker["study"]) == ("wt-1", "toy")

    mine.remove(with_parent=new_parent)
    assert files.paths == {"/user": None, "/user/me": None}
    mine.remove(with_parent=new_parent)


def test_a_parent_that_another_run_uses_stays() -> None:
    files = Files()
    first, second = folder(files), folder(files, "wt-2")
    assert not first.has_parent()
    first.create(1, {})
    assert second.has_parent()
    second.create(1, {})

    first.remove(with_parent=True)
    assert second.owned()


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
        mine.remove(with_parent=True)
    assert files.exists(mine.path)


def test_an_empty_folder_of_a_run_that_was_killed_is_removed() -> None:
    files = Files()
    mine = folder(files)
    files.make_folder(mine.path)

    mine.remove(with_parent=True)
    assert not files.exists(mine.parent)


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
