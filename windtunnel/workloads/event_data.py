"""The event index on a deployment: made, put, converted, and checked as a whole before use.

The records are made as CSV on the client's disk, put into HDFS, and written in the wanted format
by Spark, once for all trials of a deployment. Before a set is used Spark reads every record of it
back: by collection their number and a sum of hashes over all columns must be those that DuckDB
finds in the CSV on the client. The files' HDFS checksums are kept from then on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engines.deployment import Deployment
from windtunnel.errors import TrialInvalidError
from windtunnel.workloads import event_index
from windtunnel.workloads.answers import check_answers
from windtunnel.workloads.event_formats import EventParameters
from windtunnel.workloads.event_index import COLUMNS, PARTITION
from windtunnel.workloads.query_engines import DUCKDB, QUERY_ENGINES
from windtunnel.workloads.query_engines.base import (
    EventCluster,
    QueryEngine,
    Rows,
    Told,
    answers_in,
    cluster_of,
    ordered,
)
from windtunnel.workloads.query_engines.duckdb import ask_duckdb
from windtunnel.workloads.query_engines.spark import ask_spark, table

SAMPLE_RECORDS = 4000
_CONTENT = "content"


@dataclass(frozen=True)
class DataSet:
    """The records in one format: where they lie in HDFS and on the client.

    ``sample`` is a folder with a few of them, ``listed`` the files with their bytes, copies and
    HDFS's checksums, ``csv_bytes`` what the same records take as CSV, one copy. ``local`` is None
    where DuckDB cannot read the format.
    """

    path: str
    sample: str
    local: Path | None
    listed: Sequence[Told]
    csv_bytes: int

    def bytes_of(self, collections: Sequence[str]) -> int:
        """Bytes of some collections on disk, one copy."""
        heads = tuple(f"{PARTITION}={name}/" for name in collections)
        return sum(file["bytes"] for file in self.listed if file["path"].startswith(heads))


# every trial has a workload object of its own: what lies on which deployment is known to all
_PUT: dict[tuple[str, str], int] = {}
_READY: dict[tuple[str, str], DataSet] = {}
_ANSWERS: dict[tuple[object, ...], dict[str, Rows]] = {}


def expected(
    queries: Mapping[str, str],
    parameters: EventParameters,
    deployment: Deployment,
    deadline_s: float,
) -> dict[str, Rows]:
    """The answers of DuckDB to some queries over the CSV that was made; worked out once."""
    p = parameters
    key = (p.records, p.collections, p.seed, *queries.items())
    if key not in _ANSWERS:
        folder = _made(p, cluster_of(deployment), deadline_s)
        told = ask_duckdb("answers", folder / "*/*.csv", "csv", queries, deployment, deadline_s)
        _ANSWERS[key] = answers_in(told)
    return _ANSWERS[key]


def ensure(
    parameters: EventParameters, deployment: Deployment, shared: str, deadline_s: float
) -> DataSet:
    """The data set on this deployment, made now where it is not yet there whole.

    Raises
    ------
    TrialInvalidError
        If it cannot be made, or if what Spark reads back is not what was made.
    """
    base = f"{shared}/{_name(parameters)}-{parameters.replication}"
    folder = f"{base}/{_format(parameters)}"
    cluster = cluster_of(deployment)
    key = (cluster.id, folder)
    if key not in _READY:
        cluster.files.delete(folder)
        _READY[key] = _make(parameters, cluster, base, folder, deadline_s)
    return _READY[key]


def _make(
    parameters: EventParameters, cluster: EventCluster, base: str, folder: str, deadline_s: float
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
    run = ask_spark("convert", steps, parameters, cluster, deadline_s)
    wanted = expected({_CONTENT: _content(QUERY_ENGINES[DUCKDB])}, parameters, cluster, deadline_s)
    _refuse_other(parameters, wanted[_CONTENT], run.named(_CONTENT)["rows"])
    listed = run.named("files")["files"]
    local = made if not converted else _got(parameters, cluster, target, deadline_s)
    return DataSet(target, sample, local, listed, sum(_sizes(made)))


def _refuse_other(parameters: EventParameters, wanted: Rows, got: Rows) -> None:
    """Refuse data of which Spark reads other records than were made."""
    records = sum(row["records"] for row in wanted)
    if records != parameters.records:
        raise TrialInvalidError(f"{records} records were made instead of {parameters.records}")
    found = check_answers(_CONTENT, wanted, ordered(got))
    if not found.passed:
        raise TrialInvalidError(
            f"the {_format(parameters)} data is not what was made: "
            f"expected {found.expected}, got {found.got}"
        )


def _content(who: QueryEngine) -> str:
    """The query for the records of each collection and the digest of all their columns."""
    return (
        f"SELECT {PARTITION}, count(*) AS records, {who.digest(tuple(COLUMNS))} AS digest "
        f"FROM events GROUP BY {PARTITION}"
    )


def _write(query: str, path: str, parameters: EventParameters) -> Told:
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
    """Format and codec, with the size of row groups where there are any."""
    groups = "" if parameters.format == "csv" else f"-{int(parameters.row_group)}"
    return f"{parameters.format}-{parameters.codec}{groups}"


def _made(parameters: EventParameters, cluster: EventCluster, deadline_s: float) -> Path:
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
    parameters: EventParameters, cluster: EventCluster, base: str, made: Path, deadline_s: float
) -> str:
    """The CSV files in HDFS, put if they are not there; returns their folder."""
    folder = f"{base}/made"
    key = (cluster.id, folder)
    if key not in _PUT:
        cluster.files.delete(folder)
        sources = sorted(made.iterdir())
        cluster.put(sources, folder, replication=parameters.replication, deadline_s=deadline_s)
        _PUT[key] = len(sources)
    return folder


def _got(
    parameters: EventParameters, cluster: EventCluster, path: str, deadline_s: float
) -> Path | None:
    """The converted files on the client's disk, for DuckDB; None where it cannot read them."""
    if QUERY_ENGINES[DUCKDB].lacks(parameters.format, parameters.codec):
        return None
    name = f"{_name(parameters)}-{_format(parameters)}-{time.time_ns()}"
    cluster.get([path], cluster.client_folder / name, deadline_s=deadline_s)
    return cluster.client_folder / name / path.rpartition("/")[2]
