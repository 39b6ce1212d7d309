"""The metrics of samples, which probes read on every host during a trial."""

from __future__ import annotations

from windtunnel.results.metrics import MetricInfo, register

CPU_STATES = ("user", "system", "iowait", "idle", "nice", "irq", "softirq", "steal")
_SYSTEM = "counters of the operating system"
_GROUPS = "control group of the virtual host"
_EITHER = f"{_SYSTEM}, or {_GROUPS}"


def _sampled(name: str, unit: str, meaning: str, source: str, label: str = "") -> MetricInfo:
    return MetricInfo(name, unit, meaning, source, label=label, level="sample")


CPU = MetricInfo(
    "cpu_{state}",
    "ratio",
    "fraction of CPU time in the state {state}; of a virtual host, of its CPU quota",
    _EITHER,
    label="CPU {state}",
    level="sample",
    choices=(("state", CPU_STATES),),
)
LOAD = _sampled("load_1min", "count", "load average over one minute", _SYSTEM)
MEMORY_USED = _sampled("memory_used", "bytes", "memory in use, without caches", _EITHER)
MEMORY_AVAILABLE = _sampled(
    "memory_available_share", "ratio", "fraction of the memory that is available", _SYSTEM
)
PAGE_CACHE = _sampled("page_cache", "bytes", "memory that caches files", _EITHER)
SWAP_IN = _sampled("swap_in", "bytes/s", "rate of reads from swap", _SYSTEM)
DISK_READ = _sampled("disk_read", "bytes/s", "rate of reads, all disks", _EITHER)
DISK_WRITE = _sampled("disk_write", "bytes/s", "rate of writes, all disks", _EITHER)
ONE_DISK_READ = _sampled("disk_read:{disk}", "bytes/s", "rate of reads of {disk}", _GROUPS)
ONE_DISK_WRITE = _sampled("disk_write:{disk}", "bytes/s", "rate of writes of {disk}", _GROUPS)
DISK_BUSY = _sampled(
    "disk_busy:{disk}",
    "ratio",
    "fraction of the time in which {disk} had work to do; a disk that serves several requests at "
    "once may have capacity left at 1",
    _SYSTEM,
)
NET_SENT = _sampled("net_sent", "bytes/s", "rate of sending, all interfaces", _EITHER)
NET_RECEIVED = _sampled("net_received", "bytes/s", "rate of receiving, all interfaces", _EITHER)
DAEMON_CPU = _sampled("daemon_cpu:{daemon}", "cores", "CPU that {daemon} used", _SYSTEM)
DAEMON_RSS = _sampled("daemon_rss:{daemon}", "bytes", "resident memory of {daemon}", _SYSTEM)
CPU_USED = _sampled("cpu_used", "cores", "CPU that the virtual host used", _GROUPS)
CPU_THROTTLED = _sampled(
    "cpu_throttled",
    "ratio",
    "fraction of the time in which the CPU quota stopped a thread, summed over CPUs",
    _GROUPS,
)
POWER = _sampled("power", "W", "electrical power", "the trial's power_source")
DOMAIN_POWER = _sampled(
    "power:{domain}", "W", "electrical power of {domain}", "RAPL, the processors' energy counters"
)

register(
    CPU,
    LOAD,
    MEMORY_USED,
    MEMORY_AVAILABLE,
    PAGE_CACHE,
    SWAP_IN,
    DISK_READ,
    DISK_WRITE,
    ONE_DISK_READ,
    ONE_DISK_WRITE,
    DISK_BUSY,
    NET_SENT,
    NET_RECEIVED,
    DAEMON_CPU,
    DAEMON_RSS,
    CPU_USED,
    CPU_THROTTLED,
    POWER,
    DOMAIN_POWER,
)
