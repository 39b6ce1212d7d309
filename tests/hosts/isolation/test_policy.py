"""What is said, and refused, where a machine cannot isolate a cluster."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.errors import NotRealisableError, SetupError
from windtunnel.hosts.isolation import account as accounts
from windtunnel.hosts.isolation import policy
from windtunnel.hosts.isolation.confine import Confinement, Place
from windtunnel.hosts.isolation.folders import make_private, refuse_shared, write_below
from windtunnel.hosts.isolation.policy import FLAG, Isolation, refusal
from windtunnel.hosts.isolation.view import Shown

OPEN = Isolation("the machine's", open_because="no namespaces", remedy="Do this.")


def as_user(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)


@pytest.fixture(params=["linux", "darwin"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "platform", request.param)
    return str(request.param)


def test_root_is_refused_without_the_flag_and_told_both_remedies(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, 0)
    text = refusal(OPEN, permit_open=False, unguarded=["kudu"])
    assert "no namespaces" in text and "Do this." in text and FLAG in text
    assert ("kudu" in text) == (system == "linux")
    # on Linux Hadoop's own daemons refuse others: root may start them
    assert bool(refusal(OPEN, permit_open=False)) == (system == "darwin")
    assert refusal(OPEN, permit_open=True, unguarded=["kudu"]) == ""
    assert refusal(Isolation("own"), permit_open=False, unguarded=["kudu"]) == ""


def test_an_ordinary_user_starts_and_reads_what_it_means(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, 1000)
    assert refusal(OPEN, permit_open=False, unguarded=["kudu"]) == ""
    said = {"linux": "Java daemons refuse the connections", "darwin": "every account on this"}
    assert "\n" not in OPEN.caveat and said[system] in OPEN.caveat
    assert Isolation("own").caveat == ""
    assert "run as root (why)" in Isolation("own", root_because="why").caveat


def test_a_network_that_cannot_be_made_is_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "_tried", lambda *words: "Operation not permitted")
    found = policy.isolation()
    assert (found.network, found.closed) == ("the machine's", False)
    assert "Operation not permitted" in found.caveat
    assert found.facts()["closed"] is False


@pytest.mark.skipif(sys.platform != "linux", reason="daemons guard themselves on Linux")
def test_storage_outside_needs_the_machine_s_network_and_daemons_that_guard_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, 0)
    monkeypatch.setattr(policy, "_tried", lambda *words: "")
    found = policy.isolation([tmp_path], "the bucket bench")
    assert (found.network, found.guarded, found.root_because) == ("the machine's", True, "")
    assert "must reach the bucket bench" in found.caveat
    assert refusal(found, permit_open=False) == ""
    assert "spark" in refusal(found, permit_open=False, unguarded=["spark"])
    assert policy.isolation([tmp_path]).closed


@pytest.mark.skipif(sys.platform != "linux", reason="accounts of their own are for Linux")
def test_root_s_daemons_stay_root_s_where_mounts_cannot_be_id_mapped_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, 0)
    monkeypatch.setattr(
        policy, "_tried", lambda what, _: "Invalid argument" if what == "mounts" else ""
    )
    found = policy.isolation([tmp_path / "not" / "there" / "yet"])
    assert found.closed and found.network == "own"
    assert f"ID-mapped mounts of {tmp_path}: Invalid argument" in found.caveat
    assert policy.confined(found, "wt-00000001", tmp_path, tmp_path, []) is found
    monkeypatch.setenv(accounts.VARIABLE, "root")
    assert "WINDTUNNEL_ACCOUNT names it" in policy.isolation([tmp_path]).caveat


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "1", "CAP_SYS_ADMIN"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="settings of Linux")
def test_the_remedy_names_the_setting_that_forbids(
    tmp_path: Path, name: str, value: str, remedy: str
) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(value + "\n")
    assert remedy in policy._remedy(tmp_path)


def test_the_probe_s_last_line_is_the_reason() -> None:
    def run(code: int, text: str) -> Any:
        return lambda argv, **_: SimpleNamespace(returncode=code, stderr=text)

    assert policy.try_out(["own"], run(0, "")) == ""
    assert policy.try_out(["own"], run(1, "warning\nNo space left\n")) == "No space left"
    assert "exit code 9" in policy.try_out(["own"], run(9, ""))


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces of Linux")
def test_the_probe_says_what_it_found() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "windtunnel.hosts.isolation.probe", "mounts", "/nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_an_account_has_an_id_that_nobody_has_and_each_deployment_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(accounts.VARIABLE, raising=False)
    taken = {1_900_000_007}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: None if uid in taken else _unknown(uid))
    one, two = accounts.account_for("wt-00000007"), accounts.account_for("wt-00000009")
    assert one is not None and two is not None
    assert (one.uid, two.uid) == (1_900_000_008, 1_900_000_009)
    assert one.name == "windtunnel" and not one.listed


def test_an_account_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(accounts.VARIABLE, "root")
    assert accounts.account_for("wt-00000007") is None
    monkeypatch.setenv(accounts.VARIABLE, "daemon")
    found = accounts.account_for("wt-00000007")
    assert found is not None and found.listed and found.name == "daemon"
    monkeypatch.setenv(accounts.VARIABLE, "no-such-account")
    with pytest.raises(SetupError, match="no such account"):
        accounts.account_for("wt-00000007")


def _unknown(*_: object) -> Any:
    raise KeyError


def test_the_user_database_has_one_line_of_the_account(tmp_path: Path) -> None:
    mine = accounts.Account("daemon", 1_900_000_001, 1_900_000_001, listed=False)
    found = accounts.user_database(mine, Path("/home/x"))
    lines = [line for line in found["/etc/passwd"].splitlines() if line.startswith("daemon:")]
    assert lines == ["daemon:x:1900000001:1900000001:Windtunnel:/home/x:/bin/sh"]
    assert found["/etc/passwd"].startswith("root:")


def test_a_place_and_a_confinement_survive_their_way_through_json() -> None:
    place = Place("w1", [Path("/g/cgroup.procs")], Path("/n/w1.net"), Path("/h/etc"))
    assert Place.from_json(place.to_json()) == place
    confinement = Confinement(
        accounts.Account("windtunnel", 7, 7, listed=False),
        Path("/home"),
        Path("/tmp/x"),
        [Shown(Path("/a"), Path("/b"), writable=True)],
        Path("/h/etc"),
    )
    assert Confinement.from_json(confinement.to_json()) == confinement


def test_a_private_folder_is_the_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_change_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "state"
    refuse_shared(folder, "WINDTUNNEL_STATE")  # not there yet
    folder.parent.mkdir()
    folder.parent.chmod(0o777)
    with pytest.raises(
        NotRealisableError, match=r"can be written by others \(mode 777\)"
    ) as caught:
        refuse_shared(folder, "WINDTUNNEL_STATE")
    assert "WINDTUNNEL_STATE" in caught.value.remedy and "chmod go-w" in caught.value.remedy
    folder.parent.chmod(0o1777)  # sticky, as /tmp is
    refuse_shared(folder, "WINDTUNNEL_STATE")
    with pytest.raises(NotRealisableError, match="can be written by others"):
        refuse_shared(folder.parent, "WINDTUNNEL_STATE")  # others could add names to it


def test_a_link_into_a_folder_that_others_can_change_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "state").mkdir(parents=True)
    theirs.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(theirs / "state")
    with pytest.raises(NotRealisableError, match=f"{theirs} can be written by others"):
        refuse_shared(link / "deeper", "WINDTUNNEL_STATE")


def test_a_folder_of_a_group_of_several_users_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def group(name: str, *members: str) -> None:
        found = SimpleNamespace(gr_name=name, gr_mem=list(members))
        monkeypatch.setattr(grp, "getgrgid", lambda gid: found)

    folder = tmp_path / "state"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, -1, 4242)
    folder.chmod(0o775)
    me = pwd.getpwuid(os.geteuid()).pw_name
    group("users", "alice", me)
    with pytest.raises(NotRealisableError, match="can be written by others"):
        refuse_shared(folder, "WINDTUNNEL_STATE")
    group(me)
    refuse_shared(folder, "WINDTUNNEL_STATE")


def test_no_link_is_followed_where_another_account_can_write(tmp_path: Path) -> None:
    root, secret = tmp_path / "scratch", tmp_path / "secret"
    (root / "host").mkdir(parents=True)
    write_below(root, root / "host" / "conf" / "core-site.xml", "ours")
    assert (root / "host" / "conf" / "core-site.xml").read_text() == "ours"
    secret.write_text("of root")
    (root / "host" / "file").symlink_to(secret)
    (root / "host" / "folder").symlink_to(tmp_path)
    for path in (root / "host" / "file", root / "host" / "folder" / "new"):
        with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
            write_below(root, path, "stolen")
    assert secret.read_text() == "of root" and not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_account_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 4242, 4242)
    with pytest.raises(NotRealisableError, match="belongs to another account"):
        refuse_shared(tmp_path / "theirs" / "state", "WINDTUNNEL_STATE")
