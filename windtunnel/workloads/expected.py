"""Comparison of query results and of lists of files with the expected ones."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.results.record import Check

TOLERANCE = 1e-9
"""Relative difference that may result from the order of floating-point additions. The error of a
sum of n terms is at most n * 1.1e-16, so this allows ten million records per group."""
_SHOWN = 160

Row = Mapping[str, Any]


def check_answers(name: str, expected: Sequence[Row], got: Sequence[Row]) -> Check:
    """A check that two results have the same rows in the same order; has the first difference."""
    different = next(
        (pair for pair in _pairs(expected, got) if not _same_row(*pair)),
        None,
    )
    if different is None:
        said = f"{len(expected)} rows, {_digest(expected)}"
        return Check(name=name, passed=True, expected=said, got=said)
    return Check(name=name, passed=False, expected=_shown(different[0]), got=_shown(different[1]))


def check_files(name: str, expected: Sequence[Row], got: Sequence[Row]) -> Check:
    """A check that the files exist with the same sizes, replication and checksums."""
    wanted, found = ({file["path"]: dict(file) for file in files} for files in (expected, got))
    for path in sorted({*wanted, *found}):
        if wanted.get(path) != found.get(path):
            says = [_shown(files.get(path)) for files in (wanted, found)]
            return Check(name=name, passed=False, expected=f"{path}: {says[0]}", got=says[1])
    said = f"{len(wanted)} files, {_digest([wanted[path] for path in sorted(wanted)])}"
    return Check(name=name, passed=True, expected=said, got=said)


def _pairs(expected: Sequence[Row], got: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    count = max(len(expected), len(got))
    return [
        (
            expected[place] if place < len(expected) else None,
            got[place] if place < len(got) else None,
        )
        for place in range(count)
    ]


def _same_row(expected: Row | None, got: Row | None) -> bool:
    if expected is None or got is None or set(expected) != set(got):
        return False
    return all(_same(value, got[name]) for name, value in expected.items())


def _same(expected: object, got: object) -> bool:
    """Whether two values are equal; floating-point numbers within the tolerance."""
    if isinstance(expected, float) or isinstance(got, float):
        numbers = [value for value in (expected, got) if isinstance(value, int | float)]
        return len(numbers) == 2 and math.isclose(*numbers, rel_tol=TOLERANCE)
    return expected == got


def _shown(row: Row | None) -> str:
    if row is None:
        return "none"
    text = ", ".join(f"{name} {value}" for name, value in row.items() if name != "path")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


def _digest(rows: Sequence[Row]) -> str:
    text = json.dumps([dict(row) for row in rows], sort_keys=True)
    return f"SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"
