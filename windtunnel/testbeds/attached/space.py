"""The space that a study needs in HDFS, and the bytes that it writes: estimates from above."""

from __future__ import annotations

from windtunnel.cluster.stored_input import input_key
from windtunnel.testbeds.base import StudyRequest

_JOB_FILES_BYTES = 512 << 20  # jars of submitted jobs, in up to ten replicas


def space_bytes(request: StudyRequest) -> int:
    """The largest space that a study has in HDFS at a time, in bytes of all replicas.

    It is an estimate from above: a trial removes its files, shared inputs stay.
    """
    return round(_largest_trial(request) + _shared_bytes(request)) + _JOB_FILES_BYTES


def written_bytes(request: StudyRequest) -> int:
    """The bytes of all replicas that a study writes, at most (an estimate)."""
    written = request.trials * _largest_trial(request) + _shared_bytes(request)
    return round(written) + _JOB_FILES_BYTES


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
