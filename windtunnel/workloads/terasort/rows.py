"""Common parts of the workloads on TeraGen's rows. Rows are 100 bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize
from windtunnel.engines.deployment import Deployment, FileStatus, JobRun, found_copies
from windtunnel.engines.engine import HadoopCluster
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Check, Metric
from windtunnel.workloads.base import Parameters
from windtunnel.workloads.plain_text import plain_text
from windtunnel.workloads.verdicts import check

ROW_BYTES = 100
PACKAGE = "org.apache.hadoop.examples.terasort"
TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_CHECKSUM = f"{PACKAGE}.TeraGen$Counters:CHECKSUM"
_LOW_64_BITS = (1 << 64) - 1
_MOST_FILES = 200
_BLOCKS = f"the NameNode's list of replicas, with at most {_MOST_FILES} files"
MACHINES_PER_BLOCK = MetricInfo(
    "machines_per_block",
    "count",
    "mean number of physical hosts that hold replicas of a block",
    _BLOCKS,
    better="more",
    additive=False,
)
BLOCKS_ON_ONE_MACHINE = MetricInfo(
    "blocks_on_one_machine",
    "ratio",
    "fraction of blocks that have all replicas on one physical host",
    _BLOCKS,
    better="less",
)

REPLICA_IMBALANCE = MetricInfo(
    "replica_imbalance",
    "ratio",
    "replicas on the host with most of them, divided by the mean over the hosts with data",
    _BLOCKS,
    better="less",
    additive=False,
)

PLACEMENT = (MACHINES_PER_BLOCK, BLOCKS_ON_ONE_MACHINE, REPLICA_IMBALANCE)
"""The metrics of :func:`placement`."""


class RowParameters(Parameters):
    """The number of rows, given in bytes or in rows."""

    amounts: ClassVar[tuple[str, ...]] = ("size", "rows")
    task_counts: ClassVar[tuple[str, ...]] = ("maps",)

    size: ByteSize | None = Field(None, description="Data set, rounded down to rows of 100 bytes.")
    rows: PositiveInt | None = Field(None, description="Data set in rows; instead of size.")
    maps: PositiveInt | None = Field(
        None, description="Map tasks of TeraGen. Default: mapreduce.job.maps."
    )

    @model_validator(mode="after")
    def _one_size(self) -> RowParameters:
        if (self.size is None) == (self.rows is None):
            raise ValueError("give either size or rows, and only one of them")
        if self.row_count < 1:
            raise ValueError("size must be at least one row of 100 bytes")
        return self

    @property
    def row_count(self) -> int:
        """The number of rows of the data set."""
        return self.rows if self.rows is not None else int(self.size or 0) // ROW_BYTES


def written_with(replication: int) -> dict[str, str]:
    """The settings of TeraGen's tasks, which write this number of replicas."""
    return {"dfs.replication": str(replication)}


def generate(
    parameters: RowParameters,
    replication: int,
    folder: str,
    deployment: Deployment,
    deadline_s: float,
) -> JobRun:
    """Run TeraGen into a folder; raises TrialInvalidError if its job fails."""
    settings = written_with(replication)
    if parameters.maps:
        settings["mapreduce.job.maps"] = str(parameters.maps)
    argv = [f"{PACKAGE}.TeraGen", str(parameters.row_count), folder]
    return deployment.run_job("teragen", argv, settings, deadline_s=deadline_s)


def placement(deployment: Deployment, folder: str) -> dict[str, Metric]:
    """The placement of the replicas of a folder's files, from the NameNode's list.

    ``machines_per_block`` is the mean number of physical hosts that hold replicas of a block,
    ``blocks_on_one_machine`` the fraction of blocks that have all replicas on one physical host.
    ``replica_imbalance``: NameNodes place replicas by chance, so that with few blocks some hosts
    receive more than others. Empty with many files, each of which needs a request.
    """
    machines = {host.name: host.machine for host in deployment.hosts}
    files = [file for file in deployment.files.list_files(folder) if file.is_data]
    if len(files) > _MOST_FILES:
        return {}
    blocks = [block for file in files for block in deployment.files.replicas(file.path)]
    held = [{machines.get(name, name) for name in block} for block in blocks]
    if not held:
        return {}
    alone = sum(len(block) == 1 for block in held) / len(held)
    described = deployment.cluster.holders if isinstance(deployment, HadoopCluster) else 0
    return numbers(
        {
            MACHINES_PER_BLOCK: fmean(map(len, held)),
            BLOCKS_ON_ONE_MACHINE: alone,
            REPLICA_IMBALANCE: imbalance(blocks, described),
        }
    )


def imbalance(blocks: Sequence[Sequence[str]], hosts: int) -> float | None:
    """Replicas on the host with most of them, divided by the mean; None without replicas.

    Parameters
    ----------
    blocks:
        The hosts with replicas of each block.
    hosts:
        The number of hosts with data; at least the hosts with replicas count.
    """
    on_host = Counter(name for block in blocks for name in block)
    if not on_host or "localhost" in on_host:  # object stores and mounts do not know the hosts
        return None
    return max(on_host.values()) * max(hosts, len(on_host)) / on_host.total()


def read_all(deployment: Deployment, folder: str) -> str:
    """The text of all data files in a folder, each of at most 1 MiB.

    Raises the errors of :func:`plain_text`.
    """
    return "".join(
        plain_text(file.path, deployment.files.read(file.path)).decode(errors="replace")
        for file in deployment.files.list_files(folder)
        if file.is_data
    )


def check_rows(phase: str, run: JobRun, counter: str, rows: int) -> Check:
    """A check that a job's counter of records equals the number of rows."""
    got = run.counters.get(f"{TASK}:{counter}", 0)
    return check(f"rows of {phase}", str(rows), str(got))


def check_files(which: str, files: list[FileStatus], size_bytes: int, copies: str) -> Check:
    """A check of the total size of the part files, and of how they are kept.

    Parameters
    ----------
    copies:
        How they are to be kept, in words; see ``Deployment.expected_copies``.
    """
    parts = [file for file in files if "/part-" in file.path]
    total = sum(file.length_bytes for file in parts)
    return check(
        f"stored {which}",
        f"{size_bytes} bytes with {copies}",
        f"{total} bytes with {found_copies(file for file in parts if file.length_bytes)}",
    )


def check_checksum(which: str, found: list[str], generated: JobRun) -> Check:
    """A check that the checksum equals TeraGen's: the low 64 bits of the 128-bit sum.

    Parameters
    ----------
    found:
        The checksums that were read, in hexadecimal digits; there must be exactly one.
    generated:
        TeraGen's run, whose counters have its own checksum.
    """
    counted = generated.counters.get(_CHECKSUM)
    got = "none"
    if len(found) == 1:
        try:
            got = f"{int(found[0], 16) & _LOW_64_BITS:x}"
        except ValueError:
            got = f"no number: {found[0][:40]}"
    wanted = "unknown" if counted is None else f"{counted & _LOW_64_BITS:x}"
    made = check(f"checksum of {which} against TeraGen's", wanted, got)
    return made if counted is not None else made.model_copy(update={"passed": False})
