"""Lines of JSON in which the programs of Windtunnel's own jars report their steps."""

from __future__ import annotations

import json
from typing import Any

MARK = "windtunnel "
Step = dict[str, Any]


def steps_in(text: str) -> list[Step]:
    """The steps that the last program in a log reported, one per line.

    A program's first step ``start`` separates its steps from those of earlier programs.
    """
    found = []
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                found.append(json.loads(line.removeprefix(MARK)))
            except ValueError:  # cut off by another thread's line: this step is then missing
                continue
    starts = [place for place, step in enumerate(found) if step.get("did") == "start"]
    return found[starts[-1] :] if starts else found
