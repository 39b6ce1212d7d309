"""Answers as those of the HTTP API of Prometheus, for hosts that are given."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.webserver import Reply, Request

GIB = float(1 << 30)
HOSTS = {"master.example": False, "worker-1.example": True, "worker-2.example": True}
"""A cluster: the name of each host, and whether it is a worker."""
ADDRESSES = {"worker-2.example": "10.0.0.12"}
INSTANCES = {
    "master.example:9100": "m",
    "gateway:9100": "worker-1",  # behind a proxy: only the host knows its name
    "10.0.0.12:9100": "localhost",
    "database:9100": "database",
}
"""The targets of a server that monitors this cluster and another host."""


@dataclass
class PrometheusWeb:
    """``instances`` maps ``HOST:PORT`` to the name that the host reports (``nodename``).

    ``meters`` are the watts of power meters by their own instance. ``silent`` are instances that
    are scraped no more.

    The targets are scraped every ``interval_s`` seconds, at multiples of it. Each metric has the
    value of a function of the time of the scrape.
    """

    instances: dict[str, str]
    interval_s: float = 1.0
    duplicates: int = 1
    ahead_s: float = 0.0
    meters: dict[str, float] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    queries: list[str] = field(default_factory=list)

    def values(self, query: str) -> list[tuple[dict[str, str], Callable[[float], float]]]:
        """Labels and value of each series that a query has for one instance."""
        if "node_cpu_seconds_total" in query and "irate" in query:
            states = {"user": 0.25, "idle": 0.7, "iowait": 0.05, "guest": 0.0}
            return [({"mode": mode}, _always(value)) for mode, value in states.items()]
        if "io_time" in query:
            return [({"device": "sda"}, lambda t: 0.5), ({"device": "sdb"}, lambda t: 0.1)]
        known: dict[str, Callable[[float], float]] = {
            "node_load1": lambda t: 1.5,
            "MemAvailable": lambda t: 4 * GIB,
            "Cached": lambda t: 2 * GIB,
            "disk_read_bytes": lambda t: 1e6,
            "disk_written_bytes": lambda t: 2e6,
            "receive_bytes": lambda t: t % 1000,  # differs from scrape to scrape
            "transmit_bytes": lambda t: 4e6,
            'mode="idle"': lambda t: 8.0,
            "MemTotal": lambda t: 16 * GIB,
            "speed_bytes": lambda t: 1.25e9,
        }
        found = next((value for name, value in known.items() if name in query), None)
        return [] if found is None else [({}, found)]

    def scrapes(self, since_s: float, until_s: float) -> list[float]:
        """The times of the scrapes after ``since_s``, up to ``until_s``."""
        first = int(since_s // self.interval_s) + 1
        last = int(until_s // self.interval_s)
        return [number * self.interval_s for number in range(first, last + 1)]

    def __call__(self, request: Request) -> Reply:
        """The answer to a request of ``tests.support.webserver``."""
        found = self._answer(request.path, request.query)
        return Reply("<title>Error 404</title>", 404) if found is None else Reply(found)

    def _answer(self, path: str, given: dict[str, str]) -> dict[str, Any] | None:
        query = given.get("query", "")
        self.queries.append(query)
        if not path.startswith("/api/v1/query"):
            return None
        if query == "vector(time())":
            now = time.time() + self.ahead_s
            return _success("vector", [{"metric": {}, "value": [now, str(now)]}])
        if "watts" in query:
            return self._power(given)
        if "process_" in query:
            return self._daemons(query, given)
        if "node_uname_info" in query:
            rows = [
                {"metric": {"instance": instance, "nodename": name}, "value": [0, "1"]}
                for instance, name in self.instances.items()
            ]
            return _success("vector", rows)
        if path == "/api/v1/query":
            return self._instant(query, float(given.get("time", time.time())))
        if path == "/api/v1/query_range":
            start, end, step = (float(given[name]) for name in ("start", "end", "step"))
            return self._range(query, start, end, step)
        return None

    def _power(self, given: dict[str, str]) -> dict[str, Any]:
        """Each host has two power supplies of equal power."""
        start, end, step = (float(given.get(name, 1)) for name in ("start", "end", "step"))
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        return _success(
            "matrix",
            [
                {
                    "metric": {"instance": instance, "supply": supply},
                    "values": [[t, str(watts / 2)] for t in times],
                }
                for instance, watts in self.meters.items()
                for supply in "ab"
            ],
        )

    def _daemons(self, query: str, given: dict[str, str]) -> dict[str, Any]:
        """A DataNode on two hosts, each with two processes."""
        start, end, step = (float(given.get(name, 1)) for name in ("start", "end", "step"))
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        value = 0.25 if "cpu" in query else GIB / 2
        instances = ("worker-1.example:7001", "10.0.0.12:7001", "database:7001")
        rows = [
            {
                "metric": {"instance": instance, "process": process},
                "value": [1, "1"],
                "values": [[t, str(value)] for t in times],
            }
            for instance in instances
            for process in "ab"
            if 'job="dn"' in query
        ]
        return _success("matrix", rows)

    def _instant(self, query: str, at_s: float) -> dict[str, Any]:
        window = re.search(r"\[(\d+)s\]$", query)
        rows: list[dict[str, Any]] = []
        for instance in list(self.instances) * self.duplicates:
            if instance in self.silent:
                continue
            for labels, value in self.values(query):
                metric = {"instance": instance, **labels}
                if window:
                    times = self.scrapes(at_s - int(window[1]), at_s)
                    rows.append({"metric": metric, "values": [[t, str(value(t))] for t in times]})
                else:
                    rows.append({"metric": metric, "value": [at_s, str(value(at_s))]})
        return _success("matrix" if window else "vector", rows)

    def _range(self, query: str, start: float, end: float, step: float) -> dict[str, Any]:
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        rows: list[dict[str, Any]] = []
        for instance in self.instances:
            for labels, value in self.values(query):
                points = [[t, str(value(self.scrapes(t - 10, t)[-1]))] for t in times]
                rows.append({"metric": {"instance": instance, **labels}, "values": points})
        return _success("matrix", rows)


def _always(value: float) -> Callable[[float], float]:
    return lambda _: value


def _success(kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": rows}}
