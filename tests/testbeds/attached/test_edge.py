"""Clients on an edge node, with the program ``ssh``: command lines, copied jars, refusals."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.ssh_server import SshServer, ssh_server
from windtunnel.errors import ClusterAccessError, SetupError
from windtunnel.testbeds.attached.edge import Edge, footprint
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.source_options import EdgeOptions

HOST = "edge.example"
needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="not installed: ssh")


def options(tmp_path: Path, **edge: Any) -> AttachedOptions:
    return AttachedOptions.model_validate(
        {"conf": str(tmp_path), "user": "ann", "edge": {"host": HOST, **edge}}
    )


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with ssh_server(tmp_path, (HOST,)) as made:
        yield made


def edge(server: SshServer, run: str = "wt-12345678", **changes: Any) -> Edge:
    given = {
        "host": HOST,
        "port": server.port,
        "key": str(server.key),
        "known_hosts": str(server.known_hosts),
        "config": "/dev/null",
        "hadoop": "sh",
        **changes,
    }
    return Edge(EdgeOptions.model_validate(given), {HOST: "127.0.0.1"}, run)


@needs_ssh
def test_jars_are_copied_and_removed(server: SshServer, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    content = bytes(range(256)) * 5000
    (jars / "examples.jar").write_bytes(content)
    (jars / "notes.txt").write_text("no jar")
    here = edge(server, run=f"test-{tmp_path.name}")
    here.check()
    folder = Path(here.folder)
    try:
        here.prepare(jars)
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [file.name for file in folder.iterdir()] == ["examples.jar"]
        assert (folder / "examples.jar").read_bytes() == content
        with pytest.raises(ClusterAccessError, match="cannot create"):
            here.prepare(jars)
        here.remove()
        assert not folder.exists()
        here.remove()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@needs_ssh
def test_clients_that_outlive_their_connection_are_ended(server: SshServer, tmp_path: Path) -> None:
    here = edge(server, run=f"test-{tmp_path.name}", hadoop="sleep")
    here.end_clients()
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "a.jar").write_text("a")
    here.prepare(tmp_path / "jars")
    try:
        # as a program 'hadoop' does: its own class path, then the one that is given
        program = tmp_path / "hadoop"
        program.write_text('#!/bin/sh\nHADOOP_CLASSPATH="/own:$HADOOP_CLASSPATH" exec sleep "$@"\n')
        program.chmod(0o755)
        client = subprocess.Popen(
            edge(server, run=here.run, hadoop=str(program)).command("300", [], options(tmp_path))
        )
        pids = Path(here.folder) / "clients"
        until(pids.exists)
        pid = int(pids.read_text())
        until(lambda: "sleep" in psutil.Process(pid).name())
        client.kill()
        client.wait()
        # an id that another process has meanwhile
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        assert psutil.pid_exists(pid)
        here.end_clients()
        until(lambda: not psutil.pid_exists(pid))
    finally:
        here.remove()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@needs_ssh
def test_what_cannot_be_used_is_named(server: SshServer, tmp_path: Path) -> None:
    with pytest.raises(ClusterAccessError, match=f"edge node {HOST} has no program no-hadoop"):
        edge(server, hadoop="no-hadoop").check()
    unknown = tmp_path / "unknown_hosts"
    unknown.write_text("")
    with pytest.raises(ClusterAccessError, match=r"login failed .*[Hh]ost key") as caught:
        edge(server, known_hosts=str(unknown)).check()
    assert caught.value.reason == "login" and "without a password" in caught.value.remedy


def test_without_ssh_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="ssh is not installed"):
        Edge(EdgeOptions(host=HOST), {}, "").check()


def test_the_command_of_a_client(tmp_path: Path) -> None:
    given = options(tmp_path, user="bench", jump="gate.example", hadoop="/opt/my hadoop/bin/hadoop")
    assert given.edge is not None
    here = Edge(given.edge, {}, "wt-12345678")
    words = here.command("org.example.Main", ["-Da=b c", "/in"], given)
    assert words[0] == "ssh" and words[-3:-1] == ["--", HOST]
    assert " -J gate.example -l bench " in " ".join(words)
    assert words[-1] == (
        """sh -c 'echo $$ >> "$0/clients"; exec "$@"' /tmp/windtunnel-wt-12345678 env """
        "'HADOOP_CLASSPATH=/tmp/windtunnel-wt-12345678/*' WINDTUNNEL_RUN=wt-12345678 "
        "HADOOP_USER_NAME=ann "
        "'/opt/my hadoop/bin/hadoop' org.example.Main '-Da=b c' /in"
    )
    assert given.to_record()["edge"] == {"hadoop": "/opt/my hadoop/bin/hadoop"}
    assert f"edge node {HOST}" in footprint(given)[0]
    assert footprint(AttachedOptions.model_validate({"conf": "c"})) == []


def test_clients_and_requests_have_the_same_user(tmp_path: Path) -> None:
    given = AttachedOptions.model_validate({"conf": "c", "edge": {"host": HOST, "user": "bench"}})
    assert given.account == "bench" and given.edge is not None
    words = Edge(given.edge, {}, "wt-12345678").command("org.example.Main", [], given)
    assert " HADOOP_USER_NAME=bench " in words[-1]


def test_files_are_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    found = AttachedOptions.model_validate(
        {
            "conf": "c",
            "ca_file": "~/ca.pem",
            "edge": {"host": HOST, "key": "k"},
            "ssh": {"key": "s"},
        }
    ).with_absolute_paths()
    assert (found.conf, found.ca_file) == (f"{tmp_path}/c", "/home/ann/ca.pem")
    assert found.edge is not None and found.edge.key == f"{tmp_path}/k"
    assert found.ssh is not None and found.ssh.key == f"{tmp_path}/s"
    assert (found.keytab, found.hadoop) == (None, None)
    for given, absolute in (("bin/hadoop", f"{tmp_path}/bin/hadoop"), ("hadoop", "hadoop")):
        one = AttachedOptions.model_validate({"conf": "c", "hadoop": given}).with_absolute_paths()
        assert one.hadoop == absolute


@pytest.mark.parametrize("other", [{"hadoop": "hadoop"}, {"principal": "p", "keytab": "k"}])
def test_other_clients_exclude_an_edge_node(tmp_path: Path, other: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="'edge' does not work with"):
        AttachedOptions.model_validate({"conf": "c", "edge": {"host": HOST}, **other})
