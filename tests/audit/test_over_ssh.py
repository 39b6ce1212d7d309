"""Audits of hosts by SSH: facts, hosts that cannot be audited, targets of another form."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ssh_server import SshServer, ssh_server
from windtunnel.audit.over_ssh import ssh_facts
from windtunnel.cli import run
from windtunnel.errors import ClusterAccessError, UsageError


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with ssh_server(tmp_path, ("any.example",)) as made:
        made.serve_home(tmp_path)
        yield made


def test_the_script_runs_on_the_host(server: SshServer) -> None:
    target = f"ssh://someone@127.0.0.1:{server.port}"
    (facts,) = ssh_facts([target])
    assert facts.host == socket.gethostname()
    assert facts.origin == target
    assert server.commands == ["python3 -"]


def test_two_ways_to_write_a_host_are_one_host(server: SshServer) -> None:
    (facts,) = ssh_facts([f"ssh://127.0.0.1:{server.port}", f"ssh://127.0.0.1:0{server.port}"])
    assert facts.host == socket.gethostname()


def test_an_audit_has_the_hosts_as_subjects(
    server: SshServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", f"ssh://127.0.0.1:{server.port}", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert socket.gethostname() in json.dumps(found)


def test_a_host_without_python_is_named_with_the_remedy(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    targets = [f"ssh://127.0.0.1:{server.port}", "ssh://127.0.0.1:1"]
    with pytest.raises(
        ClusterAccessError, match=r"exit code 127 \(2 of 2 hosts failed\)"
    ) as caught:
        ssh_facts(targets)
    assert "Python 3.6" in caught.value.remedy


def test_text_that_a_login_prints_is_reported(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\necho Welcome\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(ClusterAccessError, match="no JSON: Welcome"):
        ssh_facts([f"ssh://127.0.0.1:{server.port}"])


@pytest.mark.parametrize(
    "target",
    [
        "ssh://",
        "ssh://a:b@host.example:x",
        "ssh://host.example/path",
        "ssh://me:word@host.example",
        "ssh://-o@h.example",
    ],
)
def test_other_forms_are_refused(target: str) -> None:
    with pytest.raises(UsageError, match="is no host"):
        ssh_facts([target])
