"""The event index on a deployment: generated, copied to HDFS, converted, and verified before use.

The records are generated as CSV on the client's disk and copied to HDFS. Spark converts them to the
format, once for all trials of a deployment. Before a data set is used, Spark reads all its records:
for each collection, their number and a sum of hashes over all columns must equal those that DuckDB
computes from the CSV on the client. From then on the HDFS checksums of the files are compared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.errors import TrialInvalidError
from windtunnel.workloads.client import event_index
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION
from windtunnel.workloads.event_index.data_set import DataSet
from windtunnel.workloads.event_index.engines import DUCKDB, QUERY_ENGINES
from windtunnel.workloads.event_index.engines.base import (
    QueryEngine,
    Rows,
    StepReport,
    answers_in,
    ordered,
)
from windtunnel.workloads.event_index.engines.duckdb import query_duckdb
from windtunnel.workloads.event_index.engines.spark import query_spark, table
from windtunnel.workloads.event_index.formats import EventParameters
from windtunnel.workloads.expected import check_answers

SAMPLE_RECORDS = 4000
_CONTENT = "content"


def expected(
    queries: Mapping[str, str],
    parameters: EventParameters,
    deployment: Deployment,
    deadline_s: float,
) -> dict[str, Rows]:
    """The results of DuckDB for queries over the generated CSV; computed once."""
    p = parameters

    def answered() -> dict[str, Rows]:
        files = _made(p, deployment, deadline_s) / "*/*.csv"
        return answers_in(query_duckdb("answers", files, "csv", queries, deployment, deadline_s))

    key = ("answers of the event index", p.records, p.collections, p.seed, *queries.items())
    return deployment.once(key, answered)


def ensure(
    parameters: EventParameters, deployment: Deployment, shared: str, deadline_s: float
) -> DataSet:
    """The data set on this deployment; it is generated if it is not complete yet.

    Raises
    ------
    TrialInvalidError
        If it cannot be generated, or if Spark reads other records than were generated.
    """
    base = f"{shared}/{_name(parameters)}-{parameters.replication}"
    folder = f"{base}/{_format(parameters)}"

    def made() -> DataSet:
        deployment.files.delete(folder)
        return _make(parameters, deployment, base, folder, deadline_s)

    return deployment.once(("event index", folder), made)


def _make(
    parameters: EventParameters, cluster: Deployment, base: str, folder: str, deadline_s: float
) -> DataSet:
    made = _made(parameters, cluster, deadline_s)
    source = _put(parameters, cluster, base, made, deadline_s)
    converted = (parameters.format, parameters.codec) != ("csv", "none")
    target = f"{folder}/data" if converted else source
    sample = f"{folder}/sample"
    steps = [table(source, "csv")]
    if converted:
        steps.append(_write("SELECT * FROM events", target, parameters))
    few = f"SELECT * FROM events LIMIT {SAMPLE_RECORDS}"
    steps += [_write(few, sample, parameters), table(target, parameters.format)]
    content = _content(QUERY_ENGINES["spark"])
    steps.append({"do": "query", "name": _CONTENT, "sql": content})
    steps.append({"do": "files", "name": "files", "path": target})
    run = query_spark("convert", steps, parameters, cluster, deadline_s)
    wanted = expected({_CONTENT: _content(QUERY_ENGINES[DUCKDB])}, parameters, cluster, deadline_s)
    _refuse_other(parameters, wanted[_CONTENT], run.named(_CONTENT)["rows"])
    listed = run.named("files")["files"]
    local = made if not converted else _got(parameters, cluster, target, deadline_s)
    return DataSet(target, sample, local, listed, sum(_sizes(made)))


def _refuse_other(parameters: EventParameters, wanted: Rows, got: Rows) -> None:
    """Reject data of which Spark reads other records than were generated."""
    records = sum(row["records"] for row in wanted)
    if records != parameters.records:
        raise TrialInvalidError(f"{records} records were generated instead of {parameters.records}")
    found = check_answers(_CONTENT, wanted, ordered(got))
    if not found.passed:
        raise TrialInvalidError(
            f"the {_format(parameters)} data differs from the generated data: "
            f"expected {found.expected}, got {found.got}"
        )


def _content(who: QueryEngine) -> str:
    """The query for the records of each collection and the digest of all their columns."""
    return (
        f"SELECT {PARTITION}, count(*) AS records, {who.digest(tuple(COLUMNS))} AS digest "
        f"FROM events GROUP BY {PARTITION}"
    )


def _write(query: str, path: str, parameters: EventParameters) -> StepReport:
    options: dict[str, str] = {"compression": parameters.codec}
    if parameters.format == "csv" and parameters.codec == "none":
        options = {}
    if parameters.format == "parquet":
        options["parquet.block.size"] = str(int(parameters.row_group))
    if parameters.format == "orc":
        options["orc.stripe.size"] = str(int(parameters.row_group))
    step = {"do": "write", "sql": query, "path": path, "format": parameters.format}
    return {**step, "options": options, "partition": PARTITION}


def _name(parameters: EventParameters) -> str:
    return f"events-{parameters.records}-{parameters.collections}-{parameters.seed}"


def _format(parameters: EventParameters) -> str:
    """Format and codec, with the size of row groups if the format has them."""
    groups = "" if parameters.format == "csv" else f"-{int(parameters.row_group)}"
    return f"{parameters.format}-{parameters.codec}{groups}"


def _made(parameters: EventParameters, cluster: Deployment, deadline_s: float) -> Path:
    """The CSV files on the client's disk, made if they are not there."""
    folder = cluster.client_folder / _name(parameters)
    if not folder.is_dir():
        numbers = (parameters.records, parameters.collections, parameters.seed)
        argv = [sys.executable, "-P", event_index.__file__, "make", str(folder)]
        cluster.run_on_client("make", [*argv, *map(str, numbers)], deadline_s=deadline_s)
    return folder


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.glob("*/*")]


def _put(
    parameters: EventParameters, cluster: Deployment, base: str, made: Path, deadline_s: float
) -> str:
    """The folder of the CSV files in HDFS; they are copied if they do not exist."""
    folder = f"{base}/made"

    def put() -> JobRun:
        cluster.files.delete(folder)
        replication = parameters.replication
        sources = sorted(made.iterdir())
        return cluster.put(sources, folder, replication=replication, deadline_s=deadline_s)

    cluster.once(("event index as CSV", folder), put)
    return folder


def _got(
    parameters: EventParameters, cluster: Deployment, path: str, deadline_s: float
) -> Path | None:
    """The converted files on the client's disk for DuckDB; None if it cannot read them."""
    if QUERY_ENGINES[DUCKDB].lacks(parameters.format, parameters.codec):
        return None
    name = f"{_name(parameters)}-{_format(parameters)}-{time.time_ns()}"
    cluster.get([path], cluster.client_folder / name, deadline_s=deadline_s)
    return cluster.client_folder / name / path.rpartition("/")[2]
