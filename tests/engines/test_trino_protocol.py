"""Trino's protocol, when it is ready, and what it told of queries."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.engines.test_trino import QUERY, STEPS, site
from windtunnel.engines.trino import query
from windtunnel.engines.trino.engine import TrinoRun
from windtunnel.engines.trino.runs import amount, job_run, partitions, rows_read
from windtunnel.engines.trino.site import Site
from windtunnel.engines.trino.status import Status


class Coordinator:
    """A web server with answers by path; what was asked is kept."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, dict(self.headers)))
                body = json.dumps(outer.pages.get(self.path)).encode()
                self.send_response(200 if self.path in outer.pages else 404)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def coordinator() -> Iterator[Coordinator]:
    made = Coordinator()
    yield made
    made.close()


def test_a_query_s_pages_are_followed_to_the_last(coordinator: Coordinator) -> None:
    column = [{"name": "n"}]
    coordinator.pages = {
        "/v1/statement": {"id": "q1", "nextUri": f"{coordinator.url}/1"},
        "/1": {"id": "q1", "columns": column, "data": [[1]], "nextUri": f"{coordinator.url}/2"},
        "/2": {"id": "q1", "columns": column, "data": [[2]]},
    }
    assert query.run(coordinator.url, "SELECT n", "data") == ([{"n": 1}, {"n": 2}], "q1")
    headers = {name.lower(): value for name, value in coordinator.asked[0][1].items()}
    assert headers["x-trino-schema"] == "data" and headers["x-trino-catalog"] == "hive"


def test_a_query_s_progress_is_reported_as_it_grows(coordinator: Coordinator) -> None:
    def page(percent: object, following: str | None) -> dict[str, Any]:
        uri = {"nextUri": f"{coordinator.url}{following}"} if following else {}
        return {"id": "q1", "stats": {"progressPercentage": percent}, **uri}

    coordinator.pages = {
        "/v1/statement": {"id": "q1", "nextUri": f"{coordinator.url}/1"},
        "/1": page(None, "/2"),
        "/2": page(25.0, "/3"),
        "/3": page(25.0, "/4"),
        "/4": page(100.5, "/5"),
        "/5": page(100.0, None),
    }
    reported: list[float] = []
    query.run(coordinator.url, "SELECT n", report=reported.append)
    assert reported == [0.0, 0.25, 1.0]


def test_a_query_that_fails_says_why(coordinator: Coordinator) -> None:
    coordinator.pages = {"/v1/statement": {"id": "q1", "error": {"message": "no such table"}}}
    with pytest.raises(query.RefusedError, match=r"no such table \(q1\)"):
        query.run(coordinator.url, "SELECT 1")


def test_nobody_who_answers_is_said_so(coordinator: Coordinator) -> None:
    with pytest.raises(query.RefusedError, match="does not answer"):
        query.run(coordinator.url, "SELECT 1")


def test_the_program_tells_a_line_for_each_step(
    coordinator: Coordinator, capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator.pages = {
        "/v1/statement": {"id": "q1", "columns": [{"name": "n"}], "data": [[1]]},
        "/v1/query/q1": QUERY,
    }
    query.main({"url": coordinator.url, "steps": STEPS})
    begun, told = map(json.loads, capsys.readouterr().out.splitlines())
    assert begun == {"name": "q", "progress": 0.0}
    assert told["name"] == "q" and told["rows"] == [{"n": 1}]
    assert told["query"]["queryId"] == QUERY["queryId"] and told["started"] <= told["ended"]


def test_it_is_ready_when_all_servers_have_started_and_are_counted_on(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "url", lambda *_: coordinator.url)
    status = Status(site())
    coordinator.pages = {"/v1/info": {"starting": True}}
    assert status.missing() == [
        "the trino-coordinator on master",
        "the trino-worker on w1",
        "the trino-worker on w2",
    ]
    coordinator.pages["/v1/info"] = {"starting": False}
    assert status.missing() == ["the coordinator"]
    columns = [{"name": "node_id"}]
    for rows, missing in (([["a"]], ["1 workers"]), ([["a"], ["b"]], [])):
        page = {"id": "q", "columns": columns, "data": rows}
        coordinator.pages["/v1/statement"] = page
        assert status.missing() == missing
    status.close()


# -- what it told --


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("1.50s", 1.5), ("2.00m", 120.0), ("12.5ms", 0.0125), ("3kB", 3072.0), ("7B", 7.0), (4, 4.0)],
)
def test_quantities_are_read_in_seconds_and_bytes(given: object, wanted: float) -> None:
    assert amount(given) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="'much' is not a quantity"):
        amount("much")


def test_a_phase_is_its_queries_and_no_more() -> None:
    steps = [
        {"name": "data: table", "started": 105.0, "ended": 106.0, "query": {"queryId": "a"}},
        {"name": "one", "started": 110.0, "ended": 112.0, "query": QUERY},
        {"name": "two", "started": 112.5, "ended": 113.0, "query": QUERY},
    ]
    run = TrinoRun(steps, 100.0, 104.0, 20.0, Path("log"))
    phase = job_run("report", run, steps[1:]).phase
    assert (phase.started_at, phase.finished_at, phase.elapsed_s) == (110.0, 113.0, 3.0)
    values = {name: metric.value for name, metric in phase.metrics.items()}
    assert values["cpu_time"] == 3.0 and values["hdfs_bytes_read"] == 4096
    assert values["records_read"] == 1000 and values["shuffle_bytes"] == 20
    assert values["trino_start"] == 4.0 and values["start_to_first_result"] == 12.0
    assert values["client_overhead"] == 17.0
    assert phase.job_id == QUERY["queryId"]


def test_partitions_are_told_where_trino_tells_them() -> None:
    assert partitions({"query": QUERY}) == 1 and rows_read({"query": QUERY}) == 500
    assert partitions({"query": {}}) is None
    cut = {"inputs": [{"connectorInfo": {"partitionIds": ["a"], "truncated": True}}]}
    assert partitions({"query": cut}) is None
