"""The security results of an audit as SARIF 2.1.0 (OASIS), for code scanning of pipelines."""

from __future__ import annotations

from typing import Any

from windtunnel import __version__
from windtunnel.audit.audit import Audit
from windtunnel.audit.result import Result

SECURITY = ("security", "surface", "openscap")
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
# security-severity of GitHub code scanning: the middle of the classes of CVSS
NUMBERS = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(audit: Audit) -> dict[str, Any]:
    """The FAILs of the security areas; declared exceptions are suppressed results."""
    found = [r for r in audit.results if r.area in SECURITY and r.status == "FAIL"]
    rules = {one.check: one for one in found}
    order = list(rules)
    driver = {
        "name": "windtunnel audit",
        "version": __version__,
        "rules": [_rule(one) for one in rules.values()],
    }
    results = [_result(one, order.index(one.check)) for one in found]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _rule(one: Result) -> dict[str, Any]:
    return {
        "id": one.check,
        "shortDescription": {"text": one.question},
        "fullDescription": {"text": f"{one.reason} Source: {one.source}."},
        "help": {"text": one.remedy},
        "defaultConfiguration": {"level": LEVELS[one.severity]},
        "properties": {"security-severity": NUMBERS[one.severity], "tags": ["security"]},
    }


def _result(one: Result, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": one.check,
        "ruleIndex": index,
        "level": LEVELS[one.severity],
        "message": {"text": f"{one.observed}. What to do: {one.remedy}"},
        "locations": [_location(one)],
        "partialFingerprints": {"windtunnel/v1": "/".join(one.key)},
    }
    if one.exception:
        found["suppressions"] = [{"kind": "external", "justification": one.exception}]
    return found


def _location(one: Result) -> dict[str, Any]:
    file, _, line = one.place.rpartition(":")
    if file and line.isdigit():
        region = {"startLine": max(1, int(line))}
        artifact = {"uri": file.lstrip("/")}
        return {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    name = f"{one.subject}/{one.about}" if one.about else one.subject
    return {"logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}]}
