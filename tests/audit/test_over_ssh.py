"""Audits of hosts by SSH: facts, hosts that cannot be audited, targets of another form."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ssh_server import SshServer, ssh_server
from windtunnel.audit.audit import Subject
from windtunnel.audit.audit import run as audit_of
from windtunnel.audit.earlier import differences
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
    (facts,) = ssh_facts([target]).hosts
    assert facts.host == socket.gethostname()
    assert facts.origin == target
    assert server.commands == ["python3 -"]


def test_two_ways_to_write_a_host_are_one_host(server: SshServer) -> None:
    targets = [f"ssh://127.0.0.1:{server.port}", f"ssh://127.0.0.1:0{server.port}"]
    (facts,) = ssh_facts(targets).hosts
    assert facts.host == socket.gethostname()


def test_an_audit_has_the_hosts_as_subjects(
    server: SshServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", f"ssh://127.0.0.1:{server.port}", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert socket.gethostname() in json.dumps(found)


def test_a_host_that_does_not_answer_does_not_stop_the_audit_of_the_others(
    server: SshServer, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = "ssh://127.0.0.1:1"
    assert run(["audit", silent, f"ssh://127.0.0.1:{server.port}", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert {silent, socket.gethostname()} <= set(found["subjects"])
    (failure,) = (row for row in found["results"] if row["subject"] == silent)
    assert (failure["check"], failure["status"]) == ("host-facts", "UNKNOWN")
    assert "127.0.0.1" in failure["observed"]
    assert any(row["subject"] == socket.gethostname() for row in found["results"])


def test_the_results_of_a_host_that_does_not_answer_are_not_fixed(server: SshServer) -> None:
    answers = ssh_facts(["ssh://127.0.0.1:1", f"ssh://127.0.0.1:{server.port}"])
    lost = {"check": "x", "subject": "lost", "about": "", "status": "FAIL"}
    own = lost | {"subject": socket.gethostname()}
    now = audit_of(Subject(hosts=answers.hosts), others=answers.failures)
    assert differences({"results": [lost, own]}, now).fixed == [own]


def test_a_host_without_python_is_named_with_the_remedy(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    targets = [f"ssh://127.0.0.1:{server.port}", "ssh://127.0.0.1:1"]
    with pytest.raises(ClusterAccessError, match=r"exit code 127 \(all 2 hosts failed\)") as caught:
        ssh_facts(targets)
    assert "Python 3.6" in caught.value.remedy


def test_an_answer_of_another_form_is_a_failure_of_its_host(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\necho '{}'\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(ClusterAccessError, match="no collected facts"):
        ssh_facts([f"ssh://127.0.0.1:{server.port}"])


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
