"""Requests to HDFS during a failover of the NameNode, and refusals."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.webserver import Reply, certificate, serving
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.errors import ClusterAccessError, DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.hosts.rest import RestClient
from windtunnel.testbeds.attached.access import ActiveNameNode
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.web import _Http, rest_client


class Pair:
    """Two NameNodes; one that is missing in ``states`` does not answer."""

    def __init__(self, **states: str) -> None:
        self.states = states
        self.requests = 0

    def get_json(self, url: str, query: dict[str, str]) -> dict[str, Any]:
        self.requests += 1
        state = self.states.get(url.removeprefix("http://").partition(":")[0])
        if state is None:
            raise ClusterAccessError("no answer")
        return {"beans": [{"State": state}]}


URLS = ["http://one:9870", "http://two:9870"]


def test_the_address_follows_a_failover() -> None:
    pair = Pair(one="active", two="standby")
    address = ActiveNameNode(cast(RestClient, pair), URLS, URLS[0])

    assert address() == URLS[0]
    pair.states = {"two": "standby"}
    assert address() == URLS[0], "none is active: the last one"
    pair.states = {"two": "active"}
    assert address() == URLS[1]
    pair.states = {"one": "standby", "two": "active"}
    assert address() == URLS[1]


def test_a_single_namenode_is_not_queried() -> None:
    pair = Pair()

    assert ActiveNameNode(cast(RestClient, pair), URLS[:1], URLS[0])() == URLS[0]
    assert pair.requests == 0


def test_names_of_a_hosts_file_are_reached_with_the_trusted_certificates(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "web.example")
    (tmp_path / "hosts").write_text("127.0.0.1 web.example\n")
    given = {"conf": str(tmp_path), "hosts_file": str(tmp_path / "hosts")}
    with serving(lambda _: Reply({"a": 1}), pem) as url:
        port = url.rpartition(":")[2]
        with rest_client(AttachedOptions.model_validate({**given, "ca_file": str(pem)})) as client:
            assert client.get_json(f"https://web.example:{port}/") == {"a": 1}
        with (
            rest_client(AttachedOptions.model_validate(given)) as client,
            pytest.raises(ClusterAccessError, match="not trusted"),
        ):
            client.get_json(f"https://web.example:{port}/")


class Server:
    """Refuses with the reasons in order, then answers."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = list(reasons)
        self.requests: list[str] = []
        self.limits: list[int] = []

    def send(self, method: str, url: str, query: dict[str, str], **more: Any) -> SimpleNamespace:
        self.requests.append(f"{method} {query['op']}")
        self.limits.append(more["limit_bytes"])
        if self.reasons:
            raise ClusterAccessError("no", reason=self.reasons.pop(0))
        return SimpleNamespace(status=200, body=b"{}", content_type="application/json")


def files(server: Server) -> WebHdfs:
    http: Any = _Http(cast(RestClient, server), secure=False)
    host = cast(Host, SimpleNamespace(open_socket=None, account="me"))
    return WebHdfs(lambda: URLS[0], {}, host, 60.0, http=http)


@pytest.mark.parametrize(
    "reason", ["forbidden", "refused", "too long", "redirect", "certificate", "certificate name"]
)
def test_a_refusal_is_not_repeated(reason: str) -> None:
    server = Server(reason)
    with pytest.raises(DeploymentError, match="PUT /folder: no"):
        files(server).set_space_quota("/folder", 1)
    assert len(server.requests) == 1


def test_a_request_is_repeated_until_a_namenode_is_active() -> None:
    server = Server("standby", "unreachable")
    files(server).set_storage_policy("/folder", "ALL_SSD")
    files(server).set_storage_policy("/folder", None)
    assert server.requests == [*["PUT SETSTORAGEPOLICY"] * 3, "POST UNSETSTORAGEPOLICY"]


def test_a_large_file_is_read_to_the_limit_of_its_reader() -> None:
    server = Server()
    files(server).read("/large", limit_bytes=1 << 30)
    files(server).read("/small", limit_bytes=100)
    assert server.limits == [1 << 30, 256 << 20], "an error is longer than some limits"
