"""Lines of JSON by which the programs of our own jars tell what they did."""

from __future__ import annotations

import json
from typing import Any

MARK = "windtunnel "
Step = dict[str, Any]


def told_in(text: str) -> list[Step]:
    """What the last such program told, line by line, out of all that a log holds.

    A program that does a step ``start`` first is told apart from earlier ones by it.
    """
    found = []
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                found.append(json.loads(line.removeprefix(MARK)))
            except ValueError:  # cut off by another thread's line: what it says is missing then
                continue
    starts = [place for place, step in enumerate(found) if step.get("did") == "start"]
    return found[starts[-1] :] if starts else found
