"""A client of Trino's protocol. Also runs as a program on the client's host::

    python ask.py JOB.json

The job: ``url`` of the coordinator and ``steps``, each with ``name``, ``schema`` and ``sql``.
Prints a JSON object a line for each step: ``name``, ``started`` and ``ended`` (epoch s, as the
client sees it), ``rows`` (by column), and ``query``, what the coordinator knows of it.

The protocol: https://trino.io/docs/current/develop/client-protocol.html
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

CATALOG = "hive"
_USER = "windtunnel"
_TIMEOUT_S = 30.0
_FINAL_S = 5.0
_STEP_S = 0.02
# never by a proxy that the environment names
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RefusedError(Exception):
    """The coordinator does not answer, or the query failed; the message says why."""


def run(
    url: str, sql: str, schema: str = "", opener: urllib.request.OpenerDirector = _OPENER
) -> tuple[list[dict[str, Any]], str]:
    """The rows of a query by column, and its id; raises RefusedError."""
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
        page = _get(page["nextUri"], opener=opener)


def known(url: str, query: str) -> dict[str, Any]:
    """What the coordinator knows of a query that has ended.

    Its id, its statistics as a whole, and what it read of each table; no statistics where they are
    not the last ones in time.
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
        rows, query = run(job["url"], step["sql"], step["schema"])
        told = {"name": step["name"], "started": started, "ended": time.time(), "rows": rows}
        told["query"] = known(job["url"], query)
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    try:
        main(json.loads(Path(sys.argv[1]).read_text()))
    except RefusedError as refused:
        sys.exit(str(refused))
