"""Queries to a Prometheus server (HTTP API, version 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.errors import ClusterAccessError, UsageError

if TYPE_CHECKING:
    from windtunnel.hosts.rest import RestClient

_MOST_POINTS = 240
"""Points of a series in one query. Prometheus refuses more than 11,000, and more than 50 million
points of all series: those of the CPUs of 200 hosts with 64 threads are 25 million."""
_CHECK_ACCESS = "check the URL of Prometheus, its certificate ('ca_file'), user and password."
_REMEDIES = {
    "refused": "correct the query (PromQL).",
    "not found": "write the URL of the server without a path such as /graph.",
    "not ready": "repeat the command when Prometheus has started.",
    "timeout": "repeat the command; if it fails again, restrict the hosts with label matchers.",
}


@dataclass(frozen=True)
class Series:
    """One time series of an answer; ``points`` are pairs of epoch seconds and value."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]

    @property
    def instance(self) -> str:
        """The target that it was scraped from, ``HOST:PORT``."""
        return self.labels.get("instance", "")


class Prometheus:
    """Queries one server; the methods raise ClusterAccessError without a usable answer.

    Raises
    ------
    UsageError
        If the URL contains a password.
    """

    def __init__(self, client: RestClient, url: str) -> None:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UsageError(
                "the URL of Prometheus contains a user",
                remedy="remove it from the URL; 'user' and 'password_file' of the testbed are for "
                "servers with a password.",
            )
        self._client = client
        self.url = url.rstrip("/")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def instant(self, query: str, at_s: float | None = None) -> list[Series]:
        """The result of a query at one time (default: now).

        A query with a duration in brackets returns the points as they were scraped.
        """
        params = {"query": query} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
        return self._ask("query", params)

    def over(self, query: str, since_s: float, until_s: float, step_s: float) -> list[Series]:
        """The result of a query at each step between two times."""
        found: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        longest_s = _MOST_POINTS * step_s
        for part in range(int((until_s - since_s) / longest_s) + 1):
            begins = since_s + part * longest_s
            ends = min(until_s, begins + longest_s - step_s)
            params = {
                "query": query,
                "start": f"{begins:.3f}",
                "end": f"{ends:.3f}",
                "step": f"{step_s:.3f}",
            }
            for series in self._ask("query_range", params):
                found.setdefault(tuple(sorted(series.labels.items())), []).extend(series.points)
        return [Series(dict(labels), points) for labels, points in found.items()]

    def _ask(self, kind: str, params: Mapping[str, str]) -> list[Series]:
        try:
            answer = self._client.get_json(f"{self.url}/api/v1/{kind}", dict(params))
        except ClusterAccessError as error:
            raise ClusterAccessError(
                f"Prometheus, query {params['query']}: {error.message}",
                remedy=_REMEDIES.get(error.reason, _CHECK_ACCESS),
                reason=error.reason,
            ) from error
        try:
            if answer["status"] != "success":
                raise ValueError("no success")
            return [_series(row) for row in answer["data"]["result"] or ()]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ClusterAccessError(
                f"{self.url} does not answer as a Prometheus server does",
                remedy=_REMEDIES["not found"],
                reason="other server",
            ) from error


def _series(row: Mapping[str, Any]) -> Series:
    points = row.get("values") or [row.get("value") or (0, "NaN")]
    known = [(float(t), float(value)) for t, value in points]
    return Series(dict(row["metric"]), [(t, v) for t, v in known if math.isfinite(v)])
