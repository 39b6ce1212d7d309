"""Trino: a coordinator and workers for each phase, over external tables on the files in HDFS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from windtunnel.engines.trino.engine import Step
from windtunnel.engines.trino.engine import Trino as TrinoSoftware
from windtunnel.engines.trino.runs import job_run, partitions, rows_read
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION
from windtunnel.workloads.event_index.engines.base import (
    WARM_UPS,
    QueryEngine,
    QueryRequest,
    QueryResult,
    all_reported,
    answers_in,
    hashed,
)

_DATA, _SAMPLE = "data", "sample"
# Text with separators: the connector's CSV supports only text columns. No value of the event index
# has a comma or a quote.
_FORMAT = {
    "csv": "format = 'TEXTFILE', textfile_field_separator = ','",
    "parquet": "format = 'PARQUET'",
    "orc": "format = 'ORC'",
}
_TYPE = {"INT": "integer", "BIGINT": "bigint", "DOUBLE": "double", "STRING": "varchar"}


class Trino(QueryEngine):
    """See the module's docstring."""

    title: ClassVar[str] = "Trino with a worker on each NodeManager's host"
    whole: ClassVar[str | None] = "the only set of Trino's servers"
    engines: ClassVar[tuple[str, ...]] = ("trino",)

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        texts = ", ".join(f"CAST({value} AS varchar)" for value in hashed(columns))
        digits = f"substr(to_hex(md5(to_utf8(concat_ws('|', {texts})))), 1, 8)"
        return f"sum(from_base({digits}, 16))"

    def run(self, request: QueryRequest) -> QueryResult:
        """Run the queries; see :class:`QueryEngine`."""
        queries, data, parameters = request.queries, request.data, request.parameters
        kind, cluster = parameters.format, request.deployment
        steps = tables(_DATA, data.path, kind)
        if parameters.warm_up:
            warm = [_query(f"warm-up: {name}", _SAMPLE, sql) for name, sql in queries.items()]
            steps = [*tables(_SAMPLE, data.sample, kind), *warm * WARM_UPS, *steps]
        timed = [_query(name, _DATA, sql) for name, sql in queries.items()]
        engine = cluster.engine(TrinoSoftware)
        run = engine.run(request.phase, [*steps, *timed], request.deadline_s, len(timed))
        reported = run.steps[-len(timed) :]
        return QueryResult(
            job_run(request.phase, run, reported),
            answers_in(reported),
            files=cluster.files.checksums(data.path),
            opened=all_reported(map(partitions, reported)),
            # a line of text is always read
            records_read=None if kind == "csv" else all_reported(map(rows_read, reported)),
        )


def tables(schema: str, path: str, kind: str) -> list[Step]:
    """The steps that create the table ``events`` of the event index in a schema."""
    columns = {name: _TYPE[column.spark] for name, column in COLUMNS.items()}
    listed = ", ".join(
        f"{name} {type_}" for name, type_ in {**columns, PARTITION: "varchar"}.items()
    )
    made = (
        f"CREATE TABLE events ({listed}) WITH ({_FORMAT[kind]}, "
        f"partitioned_by = ARRAY['{PARTITION}'], external_location = 'hdfs://{path}')"
    )
    known = f"CALL system.sync_partition_metadata('{schema}', 'events', 'ADD')"
    steps = {"schema": f"CREATE SCHEMA {schema}", "table": made, "partitions": known}
    return [_query(f"{schema}: {name}", schema, sql) for name, sql in steps.items()]


def _query(name: str, schema: str, sql: str) -> Step:
    return {"name": name, "schema": schema, "sql": sql}
