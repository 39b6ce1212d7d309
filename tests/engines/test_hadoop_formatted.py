"""The kept files of a formatted NameNode."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.hadoop.formatted import keep, kept_file, restore
from windtunnel.hosts.local import LocalHost

VERSION = """\
#Mon Nov 23 12:00:00 UTC 2026
namespaceID=1
clusterID=CID-a
cTime=5
storageType=NAME_NODE
blockpoolID=BP-1-127.0.0.2-5
layoutVersion=-67
"""
IMAGE = bytes(range(256))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


def host(tmp_path: Path, name: str = "master") -> LocalHost:
    isolation = SimpleNamespace(account="windtunnel")
    supervisor: Any = SimpleNamespace(isolation=isolation)
    (tmp_path / "hosts").mkdir(exist_ok=True)
    return LocalHost(name, "127.0.0.9", tmp_path / "hosts" / name, tmp_path / "logs", supervisor)


def formatted(tmp_path: Path) -> LocalHost:
    made = host(tmp_path)
    folder = made.root / "name" / "current"
    folder.mkdir(parents=True)
    (folder / "VERSION").write_text(VERSION)
    (folder / "fsimage_0").write_bytes(IMAGE)
    (folder / "seen_txid").write_text("0\n")
    return made


def test_a_restored_folder_has_the_same_files_and_new_ids(tmp_path: Path) -> None:
    kept = kept_file(host(tmp_path), {"dfs.replication": "2"}, "3.5.0")
    keep(formatted(tmp_path), kept)
    found = []
    for name in ("second", "third"):
        other = host(tmp_path, name)
        assert restore(other, kept)
        folder = other.root / "name" / "current"
        assert (folder / "fsimage_0").read_bytes() == IMAGE
        assert (folder / "seen_txid").read_text() == "0\n"
        lines = (folder / "VERSION").read_text().splitlines()
        found.append(dict(line.split("=") for line in lines if "=" in line))
    for version in found:
        assert version["layoutVersion"] == "-67" and version["storageType"] == "NAME_NODE"
        assert "-127.0.0.9-" in version["blockpoolID"]
    for name in ("namespaceID", "clusterID", "blockpoolID"):
        assert len({"1", "CID-a", "BP-1-127.0.0.2-5", *(one[name] for one in found)}) == 5


def test_what_is_in_the_files_is_in_the_name_and_nothing_else(tmp_path: Path) -> None:
    def name(version: str = "3.5.0", **more: str) -> Path:
        settings = {"dfs.replication": "2", "yarn.x": "1", **more}
        return kept_file(
            host(tmp_path), {k.replace("__", "."): v for k, v in settings.items()}, version
        )

    same = name()
    assert name(**{"dfs.namenode.http-address": "h:1", "dfs.hosts": "/a/b", "yarn.x": "2"}) == same
    assert name(**{"dfs.datanode.http.address": "h:2", "dfs.datanode.address": "h:3"}) == same
    assert name("3.4.2") != same
    assert name(**{"dfs.permissions.superusergroup": "admins"}) != same


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"VERSION": "?"}', '{"VERSION": "YWJj"}'])
def test_an_unusable_file_is_no_file(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(text)

    assert not restore(host(tmp_path), kept)
    assert not (tmp_path / "hosts/master/name").exists()
    assert not restore(host(tmp_path), tmp_path / "missing.json")


def test_links_and_large_files_are_not_kept(tmp_path: Path) -> None:
    made, kept = formatted(tmp_path), tmp_path / "kept.json"
    (made.root / "name/current/link").symlink_to("/etc/hostname")
    keep(made, kept)
    assert not kept.exists()

    (made.root / "name/current/link").unlink()
    keep(made, kept)
    assert set(json.loads(kept.read_text())) == {"VERSION", "fsimage_0", "seen_txid"}
