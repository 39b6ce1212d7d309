"""DuckDB alone: over copies of the files on the client's own disk, on all its cores."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.hadoop.client import numbered
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Metric, Phase
from windtunnel.workloads import duck
from windtunnel.workloads.event_index import COLUMNS
from windtunnel.workloads.query_engines.base import (
    Asked,
    QueryEngine,
    Question,
    Told,
    answers_in,
    cluster_of,
    hashed,
)


class DuckDB(QueryEngine):
    """See the module's docstring."""

    title: ClassVar[str] = "DuckDB alone, on the client's disk"

    def lacks(self, kind: str, codec: str) -> str | None:
        """ORC, and CSV compressed with snappy."""
        if kind == "orc":
            return "DuckDB reads no ORC"
        if (kind, codec) == ("csv", "snappy"):
            return "DuckDB reads no CSV that is compressed with snappy"
        return None

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        digits = f"substr(md5(concat_ws('|', {', '.join(hashed(columns))})), 1, 8)"
        return f"CAST(sum(CAST('0x' || {digits} AS BIGINT)) AS BIGINT)"

    def ask(self, question: Question) -> Asked:
        """Answer it; see :class:`QueryEngine`."""
        local, kind = question.data.local, question.parameters.format
        assert local is not None
        pattern = local / ("*/*.parquet" if kind == "parquet" else "*/*.csv*")
        began = time.monotonic()
        told = ask_duckdb(
            question.phase,
            pattern,
            kind,
            question.queries,
            question.deployment,
            question.deadline_s,
        )
        wall_s = time.monotonic() - began
        started, finished = told[0]["started"], told[-1]["ended"]
        cpu_s = sum(line["cpu_s"] for line in told)
        record = Phase(
            name=question.phase,
            started_at=started,
            finished_at=finished,
            elapsed_s=finished - started,
            wall_s=wall_s,
            metrics={"cpu_time": Metric(value=cpu_s, unit="s")},
        )
        return Asked(JobRun(record, {}), answers_in(told))


def ask_duckdb(
    name: str,
    files: Path,
    kind: str,
    queries: Mapping[str, str],
    deployment: Deployment,
    deadline_s: float,
) -> list[Told]:
    """Run queries over files of the client by a program there; what it told of each."""
    cluster = cluster_of(deployment)
    columns = {column: facts.duckdb for column, facts in COLUMNS.items()}
    job = {"format": kind, "files": str(files), "columns": columns, "queries": dict(queries)}
    path = cluster.client.root / "duckdb" / f"{numbered(name)}.json"
    cluster.client.write_text(path, json.dumps(job, indent=1))
    argv = [sys.executable, "-P", duck.__file__, str(path)]
    text = cluster.run_on_client(name, argv, deadline_s=deadline_s)
    told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if [line["name"] for line in told] != list(queries):
        raise TrialInvalidError(f"DuckDB did not answer all that {name} asked")
    return told
