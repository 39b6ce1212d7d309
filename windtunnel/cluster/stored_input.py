"""Which clusters can share stored input: those on which the same files are stored alike."""

from __future__ import annotations

import hashlib
import json
import re

from windtunnel.cluster.description import Cluster

# What a host class has that does not affect the files which are stored on it.
_WITHOUT_EFFECT = ("model", "cpu", "memory", "nics", "price", "price_parts", "power")
# Properties of jobs and of YARN, except those that determine which files a job writes, and where.
# The number of reduce tasks is no exception: no shared input is written by reduce tasks.
_OF_JOBS = re.compile(r"(mapreduce|mapred|yarn)\..*")
_OF_FILES = re.compile(
    r"mapred(uce)?\.(job\.(maps|queuename|queue\.name)|output\..*|map\.tasks"
    r"|(job|map|reduce)\.node-label-expression)"
)


def input_key(cluster: Cluster) -> str:
    """A key that is equal for clusters that store generated data in the same way.

    Storage, software, disks, number of hosts, roles and the settings of the file system affect
    stored data. CPUs, memory, NICs and the settings of jobs do not.
    """
    facts = cluster.plain()
    hosts = {
        name: {key: value for key, value in one.items() if key not in _WITHOUT_EFFECT}
        for name, one in facts.pop("hosts").items()
    }
    settings = {
        name: value
        for name, value in facts.pop("settings", {}).items()
        if not _OF_JOBS.fullmatch(name) or _OF_FILES.fullmatch(name)
    }
    facts.pop("name", None)
    facts.pop("note", None)
    text = json.dumps([facts, hosts, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
