"""A described cluster of which everything is known that a model shapes."""

from __future__ import annotations

from windtunnel.cluster import Cluster, load_text, validate

TEXT = """\
name: known
hosts:
  master:
    count: 1
    roles: [namenode, resourcemanager, historyserver]
    nics: [{rate: 10 Gb/s}]
  worker:
    count: 4
    roles: [datanode, nodemanager]
    cpu: {sockets: 1, cores_per_socket: 4, threads_per_core: 2}
    memory: 64 GiB
    disks:
      - {count: 4, size: 2 TB, read_rate: 160 MB/s, write_rate: 120 MB/s, iops: 200.0}
      - {count: 1, use: os, size: 100 GB}
    nics: [{rate: 10 Gb/s}]
storage: {replication: 3, block_size: 128 MiB}
settings:
  yarn.nodemanager.resource.memory-mb: 8192
  mapreduce.map.memory.mb: 1024
  mapreduce.reduce.memory.mb: 1024
  mapreduce.task.io.sort.mb: 256
  mapreduce.job.reduces: 8
"""


def known(*edits: tuple[str, str]) -> Cluster:
    """The cluster with changes of its text."""
    text = TEXT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return validate(Cluster, load_text(text, "known.yaml"))
