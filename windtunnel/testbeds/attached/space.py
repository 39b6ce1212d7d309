"""The space that a study needs in HDFS, and the bytes that it writes: estimates from above.

HDFS counts each open block with its full size and the replicas that its file requests, also if
the cluster has fewer DataNodes (HDFS Quotas Guide; ``FSDirWriteFileOp.addBlock``).
"""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.cluster import format_bytes
from windtunnel.cluster.setting_values import whole
from windtunnel.cluster.settings import hadoop_bytes, text_of
from windtunnel.cluster.stored_input import input_key
from windtunnel.testbeds.attached.site import Site
from windtunnel.testbeds.base import PlannedTreatment, StudyRequest

_JOB_FILES_BYTES = 512 << 20  # jars of submitted jobs, in up to ten replicas
_SUBMIT_REPLICATION = "mapreduce.client.submit.file.replication"
# of the list of partitions that TeraSort's client writes, whatever is configured (TeraInputFormat)
_LEAST_CLIENT_REPLICAS = 10


@dataclass(frozen=True)
class Space:
    """The largest space that a study has in HDFS at a time, in bytes of all replicas.

    A trial removes its files, shared inputs stay. ``data`` are the files of trials, ``job_files``
    those that clients write to submit jobs, ``open_blocks`` the blocks that containers write.
    """

    data: int
    job_files: int
    open_blocks: int
    words: str

    @property
    def total(self) -> int:
        """The sum."""
        return self.data + self.job_files + self.open_blocks


def space_of(request: StudyRequest, site: Site, containers: int) -> Space:
    """The space of a study that has at most ``containers`` containers at a time."""
    data = round(_largest_trial(request) + _shared_bytes(request))
    found = (_reserved(one, data, site, containers) for one in request.treatments)
    return max(found, key=lambda space: space.total)


def written_bytes(request: StudyRequest) -> int:
    """The bytes of all replicas that a study writes, at most (an estimate)."""
    written = request.trials * _largest_trial(request) + _shared_bytes(request)
    return round(written) + _JOB_FILES_BYTES


def _reserved(treatment: PlannedTreatment, data: int, site: Site, containers: int) -> Space:
    """The space with the blocks that HDFS reserves at a treatment."""

    def value(name: str) -> str:
        given = treatment.cluster.settings.get(name)
        return site.conf.expand(text_of(given)) if given is not None else site.conf.get(name) or ""

    loads = treatment.loads
    block = int(hadoop_bytes(value("dfs.blocksize")) or 128 << 20)
    # of files of data, and of the history that the application master writes
    copies = max([whole(value("dfs.replication")) or 3, *(load.replication for load in loads)])
    clients = max((load.clients for load in loads), default=1)
    of_client = max(whole(value(_SUBMIT_REPLICATION)) or 0, _LEAST_CLIENT_REPLICAS, copies)
    job_files = max(_JOB_FILES_BYTES, clients * of_client * block)
    open_blocks = containers * copies * block
    size = format_bytes(block)
    words = (
        f"data {format_bytes(data, 3)}; files of submitted jobs {format_bytes(job_files, 3)}, for "
        f"{clients} x {of_client} replicas of a block of {size}; open blocks "
        f"{format_bytes(open_blocks, 3)}, for {containers} containers x {copies} replicas of {size}"
    )
    return Space(data, job_files, open_blocks, words)


def _largest_trial(request: StudyRequest) -> float:
    each = (load.trial_bytes for one in request.treatments for load in one.loads)
    return max(each, default=0.0)


def _shared_bytes(request: StudyRequest) -> float:
    """Shared inputs with all replicas; each folder is counted once."""
    found = {
        (input_key(one.cluster), name): size_bytes
        for one in request.treatments
        for load in one.loads
        for name, size_bytes in load.shared_bytes.items()
    }
    return sum(found.values())
