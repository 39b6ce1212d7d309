"""A client of Trino's protocol. Also runs as a program on the client's host::

    python query.py JOB.json

The job has the ``url`` of the coordinator and ``steps``, each with ``name``, ``schema`` and
``sql``. The program prints one JSON object per line for each step: ``name``, ``started`` and
``ended`` (epoch s, by the client's clock), ``rows`` (by column), and ``query``, the coordinator's
record of it. It first prints lines with ``name`` and ``progress``: the completed fraction of the
step, at its start and after each change that the coordinator reports.

The protocol: https://trino.io/docs/current/develop/client-protocol.html
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

CATALOG = "hive"
PROGRESS = "progress"
_USER = "windtunnel"
_TIMEOUT_S = 30.0
_FINAL_S = 5.0
_STEP_S = 0.02
# never uses a proxy that the environment names
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RefusedError(Exception):
    """The coordinator does not answer, or the query failed; the message has the reason."""


def run(
    url: str,
    sql: str,
    schema: str = "",
    opener: urllib.request.OpenerDirector = _OPENER,
    report: Callable[[float], None] = lambda _: None,
) -> tuple[list[dict[str, Any]], str]:
    """The rows of a query by column, and its id; raises RefusedError.

    ``report`` receives the completed fraction at the start and after each change.
    """
    done = 0.0
    report(done)
    headers = {"X-Trino-Catalog": CATALOG, "X-Trino-Schema": schema} if schema else {}
    page = _get(f"{url}/v1/statement", headers, sql.encode(), opener)
    rows: list[dict[str, Any]] = []
    while True:
        if "error" in page:
            raise RefusedError(f"{page['error'].get('message', 'it failed')} ({page['id']})")
        names = [column["name"] for column in page.get("columns") or ()]
        rows += [dict(zip(names, row, strict=True)) for row in page.get("data") or ()]
        if "nextUri" not in page:
            return rows, page["id"]
        if (fraction := progress(page)) > done:
            done = fraction
            report(done)
        page = _get(page["nextUri"], opener=opener)


def progress(page: dict[str, Any]) -> float:
    """Completed fraction of a query, by a page of its result; 0 if the page has none."""
    percent = page.get("stats", {}).get("progressPercentage")
    return min(1.0, percent / 100) if isinstance(percent, int | float) else 0.0


def known(url: str, query: str) -> dict[str, Any]:
    """The coordinator's record of a query that has ended.

    It has the query's id, its total statistics, and what it read of each table; it has no
    statistics if the final ones are not available in time.
    """
    limit = time.monotonic() + _FINAL_S
    while True:
        found = _get(f"{url}/v1/query/{query}")
        if found.get("finalQueryInfo"):
            break
        if time.monotonic() > limit:
            return {"queryId": found["queryId"], "queryStats": {}, "inputs": []}
        time.sleep(_STEP_S)
    stats = found.get("queryStats", {})
    return {
        "queryId": found["queryId"],
        "queryStats": {k: v for k, v in stats.items() if not isinstance(v, dict | list)},
        "inputs": [{"connectorInfo": one.get("connectorInfo")} for one in found.get("inputs", ())],
    }


def _get(
    url: str,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    opener: urllib.request.OpenerDirector = _OPENER,
) -> Any:
    request = urllib.request.Request(url, body, {"X-Trino-User": _USER, **(headers or {})})
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)
    except (OSError, HTTPException, ValueError) as error:
        raise RefusedError(f"{url} does not answer: {error}") from error


def main(job: dict[str, Any]) -> None:
    """Run the steps one after the other."""
    for step in job["steps"]:
        started = time.time()
        rows, query = run(job["url"], step["sql"], step["schema"], report=_reporter(step["name"]))
        line = {"name": step["name"], "started": started, "ended": time.time(), "rows": rows}
        line["query"] = known(job["url"], query)
        _print_line(line)


def _reporter(name: str) -> Callable[[float], None]:
    return lambda fraction: _print_line({"name": name, PROGRESS: fraction})


def _print_line(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()  # it is read while the program runs


if __name__ == "__main__":
    try:
        main(json.loads(Path(sys.argv[1]).read_text()))
    except RefusedError as refused:
        sys.exit(str(refused))
