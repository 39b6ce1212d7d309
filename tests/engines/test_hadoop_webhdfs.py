"""WebHDFS: listings, reads over a DataNode known only by its name, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from tests.support.hosts import host
from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.errors import DeploymentError

NAMENODE = ("127.1.2.1", 20001)
LISTING = {
    "FileStatuses": {
        "FileStatus": [
            {"pathSuffix": "part-r-00000", "length": 100, "replication": 3, "type": "FILE"},
            {"pathSuffix": "_logs", "length": 0, "replication": 0, "type": "DIRECTORY"},
        ]
    }
}

Answer = Callable[[httpx.Request], httpx.Response]


def client(answer: Answer) -> WebHdfs:
    made = WebHdfs(lambda: f"http://{NAMENODE[0]}:{NAMENODE[1]}", {"worker-1": "127.1.2.2"}, host())
    made.close()
    made._http = httpx.Client(transport=httpx.MockTransport(answer))
    return made


def fixed(code: int, **body: object) -> Answer:
    return lambda request: httpx.Response(code, **body)  # type: ignore[arg-type]


def test_a_listing_tells_files_from_folders() -> None:
    files = client(fixed(200, json=LISTING))

    assert files.list_files("/out") == [FileStatus("/out/part-r-00000", 100, 3)]
    assert files.folders("/out") == ["/out/_logs"]


def test_what_is_absent_is_empty() -> None:
    files = client(fixed(404))

    assert files.list_files("/nowhere") == []
    assert files.folders("/nowhere") == []
    files.delete("/nowhere")


def test_a_read_follows_the_redirect_to_a_datanode_by_its_address() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.url.host}:{request.url.port}{request.url.path}")
        if request.url.host == NAMENODE[0]:
            to = "http://worker-1:20005/webhdfs/v1/a?op=OPEN&offset=0"
            return httpx.Response(307, headers={"location": to})
        return httpx.Response(200, content=b"checksum\t1f\n")

    assert client(answer).read("/a") == b"checksum\t1f\n"
    assert asked == ["127.1.2.1:20001/webhdfs/v1/a", "127.1.2.2:20005/webhdfs/v1/a"]


def test_a_read_asks_for_no_more_than_wanted_and_a_name_is_quoted() -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, content=b"")

    client(answer).read("/a b/100%", limit_bytes=7)
    assert asked[0].params["length"] == "7"
    assert b"/a%20b/100%25" in asked[0].raw_path


def test_files_below_a_folder_are_told_with_hadoop_s_own_checksums() -> None:
    def entry(name: str, kind: str) -> dict[str, object]:
        return {"pathSuffix": name, "length": 7, "replication": 2, "type": kind}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "127.1.2.2":
            digits = "00" * 12 + "ab" * 16 + "00" * 4
            sums = {"algorithm": "MD5-of-0MD5-of-512CRC32C", "bytes": digits}
            return httpx.Response(200, json={"FileChecksum": sums})
        if request.url.params["op"] == "GETFILECHECKSUM":
            return httpx.Response(307, headers={"location": "http://worker-1:20005/x"})
        below = request.url.path.endswith("/data")
        found = [entry("c=1", "DIRECTORY")] if below else [entry("part.csv", "FILE")]
        return httpx.Response(200, json={"FileStatuses": {"FileStatus": found}})

    assert client(answer).checksums("/data") == [
        {
            "path": "c=1/part.csv",
            "bytes": 7,
            "replication": 2,
            "checksum": f"MD5-of-0MD5-of-512CRC32C:{'ab' * 16}",
        }
    ]


def test_reading_what_is_absent_names_it() -> None:
    with pytest.raises(DeploymentError, match="/gone is not on the cluster"):
        client(fixed(404)).read("/gone")


def test_a_delete_takes_all_that_is_in_a_folder() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"boolean": True})

    client(answer).delete("/trial")
    assert asked[0].method == "DELETE"
    assert asked[0].url.params["recursive"] == "true"


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused")


def dead_datanode(request: httpx.Request) -> httpx.Response:
    if request.url.host != NAMENODE[0]:
        raise httpx.ConnectError("Connection refused")
    return httpx.Response(307, headers={"location": "http://worker-1:20005/x"})


def failing_datanode(request: httpx.Request) -> httpx.Response:
    if request.url.host != NAMENODE[0]:
        return httpx.Response(500, text="missing block")
    return httpx.Response(307, headers={"location": "http://worker-1:20005/x"})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refused, "the file system's web server does not answer"),
        (fixed(403, text="safe mode"), "safe mode"),
        (dead_datanode, "Connection refused"),
        (failing_datanode, "missing block"),
    ],
)
def test_a_cluster_that_fails_is_a_deployment_error(answer: Answer, says: str) -> None:
    with pytest.raises(DeploymentError, match=says):
        client(answer).read("/a")


def test_a_file_with_an_erasure_code_has_its_policy() -> None:
    entry = {"pathSuffix": "a", "length": 9, "replication": 1, "type": "FILE"}
    coded = {**entry, "ecPolicy": "RS-3-2-1024k"}
    files = client(fixed(200, json={"FileStatuses": {"FileStatus": [coded]}}))
    (found,) = files.list_files("/out")
    assert found.copies == "erasure code RS-3-2-1024k"
    assert FileStatus("/out/b", 9, 2).copies == "replication 2"


def test_a_policy_is_enabled_before_a_folder_gets_it() -> None:
    sent: list[tuple[str, str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        query = request.url.params
        sent.append((request.method, request.url.path, query["op"]))
        assert query.get("ecpolicy", "XOR-2-1-1024k") == "XOR-2-1-1024k"
        return httpx.Response(200)

    files = client(answer)
    files.make_folder("/data")
    files.set_erasure_code("/data", "XOR-2-1-1024k")
    assert sent == [
        ("PUT", "/webhdfs/v1/data", "MKDIRS"),
        ("PUT", "/webhdfs/v1/", "ENABLEECPOLICY"),
        ("PUT", "/webhdfs/v1/data", "SETECPOLICY"),
    ]


def test_stored_bytes_are_those_of_the_content_summary() -> None:
    files = client(fixed(200, json={"ContentSummary": {"length": 10, "spaceConsumed": 15}}))
    assert files.stored("/out") == (10, 15)
    assert client(fixed(404)).stored("/out") == (0, 0)
