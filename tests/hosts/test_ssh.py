"""Commands by SSH: outputs, keys of hosts, logins, and the remedies of errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from tests.support.ssh_server import SshServer, ssh_server
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.ssh import SshAccess, SshHosts

NAMES = ("worker-1.example", "worker-2.example")
ADDRESSES = dict.fromkeys(NAMES, "127.0.0.1")


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the account that runs the tests: no agent, no keys, no configuration."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path, NAMES) as made:
        yield made


def access(server: SshServer, **changes: object) -> SshAccess:
    given = {"port": server.port, "key": server.key, "known_hosts": server.known_hosts, **changes}
    return SshAccess(**given)  # type: ignore[arg-type]


def error_of(answer: str | ClusterAccessError) -> ClusterAccessError:
    assert isinstance(answer, ClusterAccessError)
    return answer


@pytest.fixture
def hosts(server: SshServer) -> Iterator[SshHosts]:
    made = SshHosts(access(server), ADDRESSES)
    yield made
    made.close()


def test_a_command_runs_on_each_host_over_one_connection(
    server: SshServer, hosts: SshHosts
) -> None:
    for _ in range(2):
        assert hosts.run(NAMES, "cat; echo done", text="given\n") == dict.fromkeys(
            NAMES, "given\ndone\n"
        )
    assert len(server.connections) == 2


def test_all_hosts_are_reached_through_one_login_to_each_jump_host(
    server: SshServer, tmp_path: Path
) -> None:
    server.serve_home(tmp_path)
    key = tmp_path / ".ssh" / "id_ed25519"
    jump = f"127.0.0.1:{server.port},bench@127.0.0.1:{server.port}"
    names = [f"worker-{number}.example" for number in range(1, 5)]
    known = server.known_hosts.read_text().splitlines()[0].partition(" ")[2]
    server.known_hosts.write_text("".join(f"{name} {known}\n" for name in names))
    hosts = SshHosts(access(server, key=key, jump=jump), dict.fromkeys(names, "127.0.0.1"))
    try:
        assert set(hosts.run(names, "echo done").values()) == {"done\n"}
        assert len(server.connections) == 2 + len(names)
        server.cut()
        end = time.monotonic() + 20  # the client notices it some time later
        while set(hosts.run(names, "echo done").values()) != {"done\n"}:
            assert time.monotonic() < end
        assert len(server.connections) == 2 + len(names)
    finally:
        hosts.close()


def test_a_jump_host_that_does_not_answer_is_the_error_of_each_host(server: SshServer) -> None:
    hosts = SshHosts(access(server, jump="127.0.0.1:1"), ADDRESSES)
    answers = hosts.run(NAMES, "true")
    hosts.close()
    assert {error_of(one).message for one in answers.values()} == {
        "jump host 127.0.0.1: no SSH server answers (connection refused)"
    }


def test_a_command_that_fails_is_an_error_of_its_host(hosts: SshHosts) -> None:
    error = error_of(hosts.run(NAMES[:1], "echo first >&2; echo why >&2; exit 3")[NAMES[0]])
    assert error.message == "worker-1.example: the command ended with exit code 3: why"
    assert error.reason == "command failed"


def test_a_command_is_stopped_at_its_limit(hosts: SshHosts) -> None:
    began = time.monotonic()
    error = error_of(hosts.run(NAMES[:1], "sleep 2", limit_s=0.3)[NAMES[0]])
    assert error.reason == "unreachable" and "no answer" in error.message
    assert time.monotonic() - began < 30


def test_a_host_without_a_known_key_is_refused(server: SshServer, tmp_path: Path) -> None:
    empty = tmp_path / "none"
    empty.touch()
    hosts = SshHosts(access(server, known_hosts=empty), ADDRESSES)
    error = error_of(hosts.run(NAMES[:1], "true")[NAMES[0]])
    hosts.close()
    assert error.reason == "host key not known"
    assert "compare the fingerprint" in error.remedy
    assert server.commands == []


def test_a_key_that_the_host_does_not_know_is_refused(server: SshServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(other))
    hosts = SshHosts(access(server, key=other, user="someone"), ADDRESSES)
    error = error_of(hosts.run(NAMES[:1], "true")[NAMES[0]])
    hosts.close()
    assert error.message == "worker-1.example refuses the SSH login of someone"
    assert error.reason == "login refused" and "ssh-add" in error.remedy


def test_a_file_that_is_no_key_is_named(server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no key\n")
    hosts = SshHosts(access(server, key=tmp_path / "text"), ADDRESSES)
    error = error_of(hosts.run(NAMES[:1], "true")[NAMES[0]])
    hosts.close()
    assert error.reason == "key"


def test_a_host_that_does_not_listen_is_unreachable(server: SshServer) -> None:
    hosts = SshHosts(access(server, port=1), ADDRESSES)
    error = error_of(hosts.run(NAMES[:1], "true")[NAMES[0]])
    hosts.close()
    assert error.message == "worker-1.example: no SSH server answers (connection refused)"
    assert error.reason == "unreachable"


def test_a_name_that_cannot_be_resolved_is_stated(server: SshServer) -> None:
    hosts = SshHosts(access(server))
    error = error_of(hosts.run(["no-such-host.invalid"], "true")["no-such-host.invalid"])
    hosts.close()
    assert error.reason == "unreachable" and "hosts_file" in error.remedy


def test_the_ssh_configuration_applies(server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host store\n  HostName 127.0.0.1\n  Port {server.port}\n  IdentityFile {server.key}\n"
        f"  UserKnownHostsFile {server.known_hosts}\n  HostKeyAlias worker-1.example\n"
    )
    hosts = SshHosts(SshAccess(config=config))
    answer = hosts.run(["store"], "echo here")["store"]
    hosts.close()
    assert answer == "here\n"


def test_hosts_are_reached_through_a_jump_host(server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host gate\n  HostName 127.0.0.1\n  Port {server.port}\n  HostKeyAlias worker-2.example\n"
        f"Host *\n  IdentityFile {server.key}\n  UserKnownHostsFile {server.known_hosts}\n"
        f"Host 127.0.0.1\n  Port {server.port}\n  HostKeyAlias worker-1.example\n"
    )
    hosts = SshHosts(SshAccess(config=config, jump="gate"))
    answer = hosts.run(["127.0.0.1"], "echo behind")["127.0.0.1"]
    hosts.close()
    assert answer == "behind\n"
    assert len(server.connections) == 2


def test_close_ends_the_commands_and_the_thread(server: SshServer, hosts: SshHosts) -> None:
    hosts.run(NAMES, "true")
    hosts.close()
    hosts.close()
    assert not any(thread.name == "ssh" for thread in threading.enumerate())
