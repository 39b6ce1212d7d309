"""The space that a study needs in HDFS, and the bytes that it writes: estimates from above."""

from __future__ import annotations

from windtunnel.cluster.stored_input import input_key
from windtunnel.testbeds.base import Load, StudyRequest

_JOB_FILES_BYTES = 512 << 20  # jars of submitted jobs, in up to ten replicas
_MOST_REPLICAS = 3  # at least, of an input whose replication the loads do not state


def space_bytes(request: StudyRequest) -> int:
    """The largest space that a study has in HDFS at a time, in bytes of all replicas.

    It is an estimate from above: a trial removes its files, shared inputs stay.
    """
    trials = [_trial_bytes(load) for one in request.treatments for load in one.loads]
    return round(max(trials, default=0.0) + _input_bytes(request)) + _JOB_FILES_BYTES


def _input_bytes(request: StudyRequest) -> float:
    """Shared inputs with all replicas: those of the description, at least three."""
    shared = {
        (input_key(one.cluster), load.workload, load.data_bytes)
        for one in request.treatments
        for load in one.loads
        if load.phases and load.phases[0].read_bytes
    }
    replicas = max((one.cluster.replication for one in request.treatments), default=0)
    return sum(data_bytes for _, _, data_bytes in shared) * max(replicas, _MOST_REPLICAS)


def written_bytes(request: StudyRequest) -> int:
    """The bytes of all replicas that a study writes, at most (an estimate)."""
    each = [_trial_bytes(load) for one in request.treatments for load in one.loads]
    written = request.trials * max(each, default=0.0) + _input_bytes(request)
    return round(written) + _JOB_FILES_BYTES


def _trial_bytes(load: Load) -> float:
    return sum(phase.write_bytes for phase in load.phases)
