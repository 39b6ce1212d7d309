"""What a cluster tells of itself, by made-up answers of its web pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.support.hosts import host
from windtunnel.engines.hadoop.status import Masters

PORTS = {
    "dfs.namenode.http-address": 1,
    "dfs.datanode.http.address": 2,
    "yarn.resourcemanager.webapp.address": 3,
    "mapreduce.jobhistory.webapp.address": 4,
}
WORKER = host("w1", "127.0.0.2")
LAYOUT: Any = SimpleNamespace(
    placements=[SimpleNamespace(host=WORKER)],
    address=lambda prop, host=None: (host.address if host else "127.0.0.1", PORTS[prop]),
)


def masters(answer: Callable[[httpx.Request], httpx.Response]) -> Masters:
    made = Masters(lambda: LAYOUT)
    made.__dict__["_http"] = httpx.Client(transport=httpx.MockTransport(answer))
    return made


def beans(**values: Any) -> httpx.Response:
    return httpx.Response(200, json={"beans": [values]})


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


@pytest.mark.parametrize(
    "answer",
    [
        refuse,
        lambda _: httpx.Response(503),
        lambda _: httpx.Response(200, text="<html>starting</html>"),
        lambda _: httpx.Response(200, json={}),
    ],
)
def test_who_does_not_answer_tells_nothing(
    answer: Callable[[httpx.Request], httpx.Response],
) -> None:
    found = masters(answer)
    assert found.namenode_bean("FSNamesystemState") == {}
    assert found.live_datanodes() == (0, True)
    assert found.pending_deletions() == 0
    assert found.active_nodemanagers() == 0
    assert found.yarn_nodes() == []
    assert found.application_progress(0.0) is None
    assert not found.history_answers()
    assert not found.serves("datanode@w1", 0.0)
    assert not found.serves("nodemanager@w1", 0.0)
    found.close()


def test_each_daemon_is_asked_at_its_own_address() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.url.host}:{request.url.port}{request.url.path}")
        return httpx.Response(200, text="Status: HEALTHY")

    found = masters(answer)
    assert found.file_check() == "Status: HEALTHY"
    found.yarn_nodes()
    found.history_answers()
    found.serves("datanode@w1", 0.0)
    assert asked == [
        "127.0.0.1:1/fsck",
        "127.0.0.1:3/ws/v1/cluster/nodes",
        "127.0.0.1:4/ws/v1/history/info",
        "127.0.0.2:2/jmx",
    ]


@pytest.mark.parametrize(("safe", "expected"), [("", (3, False)), ("Safe mode is ON.", (3, True))])
def test_safe_mode_and_the_number_of_datanodes(safe: str, expected: tuple[int, bool]) -> None:
    found = masters(lambda _: beans(NumLiveDataNodes=3, Safemode=safe))
    assert found.live_datanodes() == expected


@pytest.mark.parametrize(
    ("states", "serves"), [([], False), (["RUNNING"], True), (["RUNNING", "INIT_FAILED"], False)]
)
def test_a_datanode_serves_when_all_its_masters_know_it(states: list[str], serves: bool) -> None:
    actors = json.dumps([{"ActorState": state} for state in states])
    found = masters(lambda _: beans(BPServiceActorInfo=actors))
    assert found.serves("datanode@w1", 0.0) is serves
    assert found.serves("namenode@master", 0.0), "a master needs no other"


@pytest.mark.parametrize(
    ("host", "state", "seen_at", "serves"),
    [
        ("w1", "RUNNING", 11.0, True),
        ("w1", "RUNNING", 9.0, False),  # the one before it
        ("w1", "LOST", 11.0, False),
        ("w2", "RUNNING", 11.0, False),
    ],
)
def test_a_nodemanager_serves_when_it_was_heard_after_its_start(
    host: str, state: str, seen_at: float, serves: bool
) -> None:
    node = {"nodeHostName": host, "state": state, "lastHealthUpdate": seen_at * 1e3}
    found = masters(lambda _: httpx.Response(200, json={"nodes": {"node": [node]}}))
    assert found.serves("nodemanager@w1", 10.0) is serves


def test_a_nodemanager_that_ignores_a_disk_says_so() -> None:
    full = "1/2 local-dirs usable space is below configured utilization percentage"
    reports = {"w1": "", "w2": f"{full}/no more usable space [ /d1 : used space above 99.5% ]"}
    nodes = [{"nodeHostName": host, "healthReport": text} for host, text in reports.items()]
    nodes += [{"nodeHostName": "w3", "healthReport": "Healthy"}, {"nodeHostName": "w4"}]
    found = masters(lambda _: httpx.Response(200, json={"nodes": {"node": nodes}}))
    assert found.hosts_with_unused_disks() == ["w2"]


def test_progress_is_that_of_the_application_that_runs() -> None:
    apps = {"apps": {"app": [{"id": "application_1", "progress": 42.5}]}}
    assert masters(lambda _: httpx.Response(200, json=apps)).application_progress(1.0) == 0.425
    none: dict[str, Any] = {"apps": None}
    assert masters(lambda _: httpx.Response(200, json=none)).application_progress(1.0) is None


def test_connections_that_were_never_made_need_no_closing() -> None:
    made = Masters(lambda: LAYOUT)
    made.close()
    assert "_http" not in made.__dict__


def test_deleted_blocks_are_counted_until_they_are_gone() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "FSNamesystem" in str(request.url)
        return beans(PendingDeletionBlocks=12)

    assert masters(answer).pending_deletions() == 12
