"""The path MTU between network namespaces: carried, reported by a router, dropped by a link."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.audited import host
from windtunnel import cli
from windtunnel.audit.audit import Subject, run
from windtunnel.audit.facts import with_paths
from windtunnel.audit.path_mtu import MOST_PACKETS, hosts_of, line, path_mtus
from windtunnel.audit.result import Result, Status

TAG = f"wtm{os.getpid()}"
NEAR, ROUTER, FAR = f"{TAG}a", f"{TAG}r", f"{TAG}b"
MEASURE = """
import json, sys
from windtunnel.audit.path_mtu import path_mtus
waits = []
print(json.dumps([path_mtus(sys.argv[1:], waits.append), len(waits)]))
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


@pytest.fixture
def path() -> Iterator[None]:
    """NEAR (9000) - ROUTER - FAR (1500): 10.255.1.1, 10.255.1.2 and 10.255.2.2, 10.255.2.1."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("sysctl") is None:
        pytest.skip("network namespaces need root, ip and sysctl")
    try:
        for name in (NEAR, ROUTER, FAR):
            ip("netns", "add", name)
        for name, net, mtu in ((NEAR, "1", "9000"), (FAR, "2", "1500")):
            own, other = f"own{net}", f"router{net}"
            ip("link", "add", own, "netns", name, "type", "veth", "peer", "name", other)
            ip("link", "set", other, "netns", ROUTER)
            ip("-n", name, "addr", "add", f"10.255.{net}.1/24", "dev", own)
            ip("-n", ROUTER, "addr", "add", f"10.255.{net}.2/24", "dev", other)
            ip("-n", name, "link", "set", own, "mtu", mtu, "up")
            ip("-n", ROUTER, "link", "set", other, "mtu", mtu, "up")
            ip("-n", name, "route", "add", "default", "via", f"10.255.{net}.2")
        forward = ["sysctl", "-qw", "net.ipv4.ip_forward=1"]
        ip("netns", "exec", ROUTER, *forward)
        yield
    finally:
        for name in (NEAR, ROUTER, FAR):
            words = ["ip", "netns", "del", name]
            subprocess.run(words, check=False, capture_output=True, timeout=30)


def measured(*hosts: str) -> tuple[list[dict[str, Any]], int]:
    words = ["ip", "netns", "exec", NEAR, sys.executable, "-c", MEASURE, *hosts]
    made = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
    rows, packets = json.loads(made.stdout)
    return rows, packets


def judged(*rows: dict[str, Any]) -> list[Result]:
    audit = run(Subject(hosts=[host("here", paths=list(rows))]))
    return [one for one in audit.results if one.check == "host-path-mtu"]


def test_a_path_that_carries_the_size_of_the_interface_passes(path: None) -> None:
    rows, packets = measured("10.255.1.2")
    assert (rows[0]["interface"], rows[0]["interface_mtu"], rows[0]["path_mtu"]) == (
        "own1",
        9000,
        9000,
    )
    assert packets == 2
    assert [one.status for one in judged(*rows)] == [Status.PASS]


def test_a_smaller_mtu_that_a_router_reports_is_found(path: None) -> None:
    rows, packets = measured("10.255.2.1")
    assert (rows[0]["path_mtu"], rows[0]["lost"], rows[0]["reported"]) == (1500, 9000, True)
    assert packets == 3
    (found,) = judged(*rows)
    assert (found.status, found.severity) == (Status.FAIL, "medium")
    assert "ip link set dev own1 mtu 1500" in found.remedy


def test_a_link_that_drops_large_frames_without_a_report_is_found(path: None) -> None:
    ip("-n", ROUTER, "link", "set", "router1", "mtu", "1500")  # as a switch without jumbo frames
    rows, packets = measured("10.255.1.2")
    assert (rows[0]["path_mtu"], rows[0]["lost"], rows[0]["reported"]) == (1500, 2002, False)
    assert packets <= MOST_PACKETS
    (found,) = judged(*rows)
    assert (found.status, found.severity) == (Status.FAIL, "high")
    assert "MTU 1500 bytes, but own1 has 9000 bytes (2002 bytes: no answer)" in found.observed


def test_a_host_that_does_not_answer_is_unknown(path: None) -> None:
    ip("netns", "exec", ROUTER, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1")
    rows, _ = measured("10.255.1.2")
    (found,) = judged(*rows)
    assert (found.status, found.remedy) == (Status.UNKNOWN, "")
    assert "10.255.1.2 does not answer ICMP echo" in found.observed


def test_a_socket_that_needs_no_root_measures_the_same(path: None) -> None:
    ip("netns", "exec", NEAR, "sysctl", "-qw", "net.ipv4.ping_group_range=0 0")
    rows, _ = measured("10.255.1.2", "10.255.2.1")
    assert [(row["path_mtu"], row["reported"]) for row in rows] == [(9000, False), (1500, True)]


def test_an_unreachable_host_is_unknown(path: None) -> None:
    ip("-n", NEAR, "route", "del", "default")
    rows, _ = measured("10.255.2.1", "no.such.host.invalid")
    assert {one.status for one in judged(*rows)} == {Status.UNKNOWN}
    assert "unreachable" in rows[0]["why"]


def test_without_the_right_to_send_icmp_the_path_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("windtunnel.audit.path_mtu.socket.socket", refuse)
    rows = path_mtus(["127.0.0.1"])
    (found,) = judged(*rows)
    assert found.status is Status.UNKNOWN
    assert "net.ipv4.ping_group_range" in found.observed


def test_a_path_that_was_not_probed_is_not_judged() -> None:
    results = run(Subject(hosts=[host("here", kernel="6.1")])).results
    (found,) = [one for one in results if one.check == "host-path-mtu"]
    assert (found.status, "--probe" in found.observed) == (Status.NOT_APPLICABLE, True)


def test_only_the_check_of_the_path_is_made_for_a_host_that_is_no_target() -> None:
    """With ``--probe`` alone, this machine is the start of the path and is not audited."""
    row = {"host": "w", "interface": "eth0", "interface_mtu": 1500, "path_mtu": 1500}
    (start,) = with_paths([], [row | {"lost": None, "reported": False, "why": ""}])
    results = run(Subject(hosts=[start])).results
    assert [(one.check, one.status) for one in results] == [("host-path-mtu", Status.PASS)]


def test_the_path_to_loopback_is_in_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windtunnel.audit.probes.probed", lambda hosts: ([], []))
    shown = CliRunner().invoke(cli.app, ["audit", "--probe", "127.0.0.1", "--json"])
    found = {one["check"]: one["status"] for one in json.loads(shown.stdout)["results"]}
    assert found["host-path-mtu"] in ("PASS", "UNKNOWN")  # UNKNOWN without the right to send ICMP
    assert "host-mtu" not in found


def test_a_dry_run_lists_the_packets_and_a_port_has_no_path() -> None:
    shown = CliRunner().invoke(cli.app, ["audit", "--probe", "worker-1", "--dry-run"])
    assert line("worker-1") in shown.output
    assert hosts_of(["worker-1", "worker-1", "worker-2:8088", "[fd00::7]:1"]) == ["worker-1"]
    shown = CliRunner().invoke(cli.app, ["audit", "--probe", "worker-1:8088", "--dry-run"])
    assert "ICMP" not in shown.output
