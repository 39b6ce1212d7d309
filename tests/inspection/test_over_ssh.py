"""The machines of hosts by SSH: what they report, and hosts that do not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.ssh_server import ssh_server
from windtunnel.hosts.ssh import SshAccess, SshHosts
from windtunnel.inspection.facts import ClusterFacts
from windtunnel.inspection.over_ssh import parse_facts, read_over_ssh

NAME, OTHER = "worker-1.example", "worker-2.example"


def test_facts_are_those_of_connected_nics() -> None:
    text = "threads 16\nMemTotal: 16384 kB\nnic eno1 10000\nnic eno2 -1\nnic lo\nnic bond0 10000\n"
    machine = parse_facts(text)
    assert machine.cpu_threads == 16 and machine.memory_bytes == 16384 * 1024
    assert machine.nics_bytes_s == (1.25e9,)
    assert parse_facts("").cpu_threads is None


def test_a_nic_of_unknown_speed_has_no_rate() -> None:
    text = "nic eno1 0\nnic eno2 65535\nnic eno3 4294967295\nnic eno4 1000\n"
    assert parse_facts(text).nics_bytes_s == (125e6,)


def test_hosts_are_added_and_those_without_an_answer_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    facts = ClusterFacts()
    for name in (NAME, OTHER):
        facts.host(name)
    with ssh_server(tmp_path, (NAME,)) as server:
        access = SshAccess(port=server.port, key=server.key, known_hosts=server.known_hosts)
        hosts = SshHosts(access, {NAME: "127.0.0.1"})
        read_over_ssh(hosts, facts)
        hosts.close()
    cores = facts.host(NAME).value("cores")
    assert isinstance(cores, int) and cores >= 1
    assert facts.host(OTHER).value("cores") is None
    assert len(facts.unread) == 1 and "the name cannot be resolved" in facts.unread[0]
    assert facts.read == [f"ssh://{NAME}/proc, ssh://{NAME}/sys/class/net"]
