"""Metrics of all trials, for every workload and testbed: times, harness, data, faults."""

from __future__ import annotations

from windtunnel.results.metrics import MetricInfo, register

_HARNESS = "Windtunnel's clock"
_SAMPLER = "samples of the machine"
_SYSTEM = "samples of the daemons"
_ATTACHED = "the ResourceManager and the NameNode of an attached cluster, at an interval"
_WATCH = "the state of the replicas that the storage's master reports, watched after the fault"

ELAPSED = MetricInfo(
    "elapsed",
    "s",
    "time from the start of the phase's job to its end; of a trial, the sum over its phases",
    "the job history, or the client if there is no job",
    better="less",
)
TRIAL_WALL = MetricInfo(
    "trial_wall",
    "s",
    "wall time of the whole trial, with preparation and verification",
    _HARNESS,
    better="less",
    label="trial wall time",
    level="trial",
)
HARNESS_OVERHEAD = MetricInfo(
    "harness_overhead",
    "s",
    "wall time of the trial outside its phases",
    _HARNESS,
    better="less",
    level="trial",
)
SAMPLER_CPU_SHARE = MetricInfo(
    "sampler_cpu_share",
    "ratio",
    "CPU time that sampling took, as a fraction of one core",
    _HARNESS,
    better="less",
    label="sampler CPU fraction",
    level="trial",
)
CPU_IDLE_SHARE = MetricInfo(
    "cpu_idle_share",
    "ratio",
    "mean fraction of the machine's CPU time that was idle",
    _SAMPLER,
    label="CPU idle fraction",
    level="trial",
)
CPU_STEAL_SHARE = MetricInfo(
    "cpu_steal_share",
    "ratio",
    "mean fraction of the CPU time that other virtual machines on the physical host used, if the "
    "system reports it",
    _SAMPLER,
    better="less",
    label="CPU steal fraction",
    level="trial",
)
STORAGE_CPU_TIME = MetricInfo(
    "storage_cpu_time",
    "s",
    "CPU time of the daemons of the storage (HDFS, Ceph or Ozone) during the phases",
    _SYSTEM,
    better="less",
    label="CPU time of the storage daemons",
    level="trial",
)
DATA_BYTES = MetricInfo(
    "data_bytes",
    "bytes",
    "size of the workload's data set, one replica",
    "the workload's parameters",
    level="trial",
)
FAULT_NOTICED = MetricInfo(
    "fault_noticed",
    "s",
    "time from a fault until the storage's master noticed it; the longest of several faults",
    _WATCH,
    better="less",
    level="trial",
)
REPLICATION_WHOLE = MetricInfo(
    "replication_whole",
    "s",
    "time from a fault until every block was fully replicated; the longest of several faults",
    _WATCH,
    better="less",
    label="fully replicated",
    level="trial",
)
DATA_MOVED_BACK = MetricInfo(
    "data_moved_back",
    "s",
    "time until the storage had moved data to a host that was put into service again; the longest "
    "of several faults",
    "the placement groups that Ceph's monitors report, watched after the fault",
    better="less",
    label="data moved back",
    level="trial",
)

OTHER_CONTAINERS = MetricInfo(
    "other_containers",
    "count",
    "mean number of running containers of other tenants during the trial",
    _ATTACHED,
    label="containers of other tenants",
    level="trial",
)
OTHER_PENDING = MetricInfo(
    "other_pending_containers",
    "count",
    "largest number of containers for which other tenants waited during the trial",
    _ATTACHED,
    label="pending containers of other tenants",
    level="trial",
)
OTHER_APPLICATIONS = MetricInfo(
    "other_applications",
    "count",
    "applications of other tenants that were unfinished during the trial",
    _ATTACHED,
    label="applications of other tenants",
    level="trial",
)
FREE_SPACE = MetricInfo(
    "hdfs_free_share",
    "ratio",
    "smallest free fraction of the capacity of HDFS during the trial",
    _ATTACHED,
    label="free fraction of HDFS",
    level="trial",
)
register(
    ELAPSED,
    TRIAL_WALL,
    HARNESS_OVERHEAD,
    SAMPLER_CPU_SHARE,
    CPU_IDLE_SHARE,
    CPU_STEAL_SHARE,
    STORAGE_CPU_TIME,
    DATA_BYTES,
    FAULT_NOTICED,
    REPLICATION_WHOLE,
    DATA_MOVED_BACK,
    OTHER_CONTAINERS,
    OTHER_PENDING,
    OTHER_APPLICATIONS,
    FREE_SPACE,
)
