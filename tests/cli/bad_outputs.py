"""Bad inputs of options that name files to write, and of files of facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.bad_case import Bad
from tests.cli.prepared import invalid_trials, no_trials
from windtunnel.audit import collect_facts


def facts_file(**facts: Any) -> Callable[[Path], None]:
    """Writes ``f.json`` with these facts of a host."""
    head = {"kind": collect_facts.KIND, "schema": collect_facts.SCHEMA, "host": "worker-1"}

    def write(folder: Path) -> None:
        (folder / "f.json").write_text(json.dumps({**head, "facts": facts}))

    return write


OUTPUTS = [
    # -- charts
    Bad("chart in this folder", "size --within 30min --chart .", 2, ("--chart .: it is a folder",)),
    Bad("chart of the accuracy in a folder", "accuracy --chart /", 2, ("it is a folder",)),
    Bad("chart in a named folder", "accuracy --chart {d}", 2, ("it is a folder", "chart.svg")),
    # -- results without a valid trial
    *(
        Bad(
            f"no valid trial: {command.split()[0]}",
            command,
            6,
            ("DIR/out has no valid trial (2 invalid)", "windtunnel report DIR/out"),
            prepare=invalid_trials,
        )
        for command in (
            "compare {d}/out published:cisco-2014",
            "fit {d}/out --out {d}/f.json",
            "whatif {d}/out --set hosts.worker.count=2",
            "predict --for {d}/out",
        )
    ),
    Bad(
        "no trial", "whatif {d}/out --set storage.replication=1", 6, ("no trial",), None, no_trials
    ),
    # -- facts of a host
    Bad(
        "fact that is a number",
        "audit {d}/f.json",
        3,
        ("f.json: key 'facts.cpu': must be a mapping",),
        prepare=facts_file(cpu=5),
    ),
    Bad(
        "fact that is a list",
        "audit {d}/f.json",
        3,
        ("key 'facts.jvms': must be a mapping",),
        prepare=facts_file(jvms=["a"]),
    ),
    Bad(
        "fact with a number as value",
        "audit {d}/f.json",
        3,
        ("key 'facts.cpu': its value must be a mapping",),
        prepare=facts_file(cpu={"value": 5}),
    ),
    Bad(
        "fact with texts as rows",
        "audit {d}/f.json",
        3,
        ("key 'facts.jvms': its value must be a list of mappings",),
        prepare=facts_file(jvms={"value": ["a"]}),
    ),
    Bad(
        "jars of a JVM that are no mapping",
        "audit {d}/f.json",
        3,
        ("key 'facts.jvms': 'jars' must be a mapping",),
        prepare=facts_file(jvms={"value": [{"jars": "x"}]}),
    ),
]
