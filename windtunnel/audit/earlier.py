"""Earlier audits: reading their JSON, and the differences to a new audit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.audit.audit import KIND, SCHEMA, Audit
from windtunnel.audit.result import SSH, Result, Status
from windtunnel.errors import DescriptionError


@dataclass(frozen=True)
class Differences:
    """Results by what became of them; ``scores`` are (area, earlier percent, percent now)."""

    fixed: list[dict[str, Any]]
    new: list[Result]
    remaining: int
    scores: list[tuple[str, float | None, float | None]]
    sections: list[tuple[str, str, float | None, float | None]]


def read_audit(path: Path) -> dict[str, Any]:
    """The document of an earlier audit.

    Raises
    ------
    DescriptionError
        If the file cannot be read or is no audit of this schema.
    """
    remedy = "specify a file that 'windtunnel audit ... --json > FILE' wrote."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DescriptionError(
            f"cannot be read: {error.strerror}", file=path, remedy=remedy
        ) from None
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"not JSON: {error}", file=path, remedy=remedy) from None
    good = isinstance(document, dict) and document.get("kind") == KIND
    if not good or document.get("schema") != SCHEMA:
        raise DescriptionError("this file is not an audit", file=path, key="kind", remedy=remedy)
    results = document.get("results")
    keys = ("check", "subject", "about", "status")
    if not isinstance(results, list) or not all(
        isinstance(row, dict) and all(isinstance(row.get(key), str) for key in keys)
        for row in results
    ):
        raise DescriptionError("no list of results", file=path, key="results", remedy=remedy)
    found: dict[str, Any] = document
    return found


def differences(before: dict[str, Any], now: Audit) -> Differences:
    """What was fixed, what is new and what remains."""
    old = {
        (row["check"], row["subject"], row["about"]): row
        for row in before["results"]
        if row["status"] == Status.FAIL and not row.get("exception")
    }
    failing = {one.key: one for one in now.results if one.counts}
    unknown = {one.key[:2] for one in now.results if one.status is Status.UNKNOWN}
    # a host that did not answer has the name of its target here, and its own name in the results
    silent = any(one.check == SSH for one in now.results)
    earlier = {row.get("area"): row.get("percent") for row in before.get("scores") or []}
    sections = []
    for host, rows in now.benchmarks.items():
        past = {
            str(row.get("section")): row.get("percent")
            for row in (before.get("benchmarks") or {}).get(host) or []
        }
        sections += [
            (host, str(row["section"]), past.get(str(row["section"])), row["percent"])
            for row in rows
            if past.get(str(row["section"])) != row["percent"]
        ]
    return Differences(
        # what can no longer be read is not fixed
        [
            row
            for key, row in old.items()
            if key not in failing
            and key[:2] not in unknown
            and not (silent and row["subject"] not in now.subjects)
        ],
        [one for key, one in failing.items() if key not in old],
        len(failing.keys() & old.keys()),
        [(one.area, earlier.get(one.area), one.percent) for one in now.scores],
        sections,
    )
