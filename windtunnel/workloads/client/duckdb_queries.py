"""DuckDB queries on files of the client's local disk. Runs as a program on the client's host::

    python duckdb_queries.py JOB.json

The job: ``format`` (csv or parquet), ``files`` (a pattern), ``columns`` (name -> type, only for
CSV) and ``queries`` (name -> SQL on the table ``events``; folders ``NAME=VALUE`` are columns).
The program prints a JSON object on a line for each query: ``name``, ``started`` and ``ended``
(epoch s), ``cpu_s``, ``rows``.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

UNORDERED = "SET preserve_insertion_order = false"


def table(job: dict[str, Any]) -> str:
    """The table function that reads the job's files."""
    files = job["files"].replace("'", "''")
    if job["format"] == "parquet":
        return f"read_parquet('{files}', hive_partitioning = true)"
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in job["columns"].items())
    return (
        f"read_csv('{files}', header = false, hive_partitioning = true, auto_detect = false, "
        f"delim = ',', quote = '\"', columns = {{{columns}}})"
    )


def run(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the queries one after the other, on all cores."""
    import duckdb

    results = []
    with duckdb.connect() as database:
        database.execute(UNORDERED)
        database.execute(f"CREATE VIEW events AS SELECT * FROM {table(job)}")
        for name, query in job["queries"].items():
            used, started = _cpu_s(), time.time()
            cursor = database.execute(query)
            names = [column[0] for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            ended = time.time()
            results.append(
                {
                    "name": name,
                    "started": started,
                    "ended": ended,
                    "cpu_s": _cpu_s() - used,
                    "rows": rows,
                }
            )
    return results


def _cpu_s() -> float:
    """CPU time of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    for line in run(json.loads(Path(sys.argv[1]).read_text())):
        sys.stdout.write(json.dumps(line) + "\n")
